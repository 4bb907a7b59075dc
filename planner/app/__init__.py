"""Use cases: the only place where the order of steps is written."""

from __future__ import annotations

from planner.app.plan import plan

__all__ = ["plan"]
