"""What a diagnosis knows about metrics: numbers within bounds, flags and names."""

from __future__ import annotations

from collections.abc import Mapping

from planner.schema.readings import Reading

Value = Reading | bool | str
"""A number (with the interval that surely holds it; infinite means unlimited), a flag or a name."""
Known = Mapping[str, Value]
"""Metric -> value; a metric that was not observed is absent."""
