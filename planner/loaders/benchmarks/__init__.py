"""Readers of benchmark files: one small module a tool, told apart by the content."""

from __future__ import annotations

from planner.loaders.benchmarks.observed import read_run
from planner.loaders.benchmarks.reader import read_benchmarks

__all__ = ["read_benchmarks", "read_run"]
