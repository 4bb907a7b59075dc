"""What changed between a time before and now."""

from __future__ import annotations

from planner.schema.base import Noun


class Changed(Noun):
    """One value that is another one now."""

    metric: str
    before: bool | float | str | None
    """null: it was not observed."""
    now: bool | float | str | None
    """null: it is not observed any more."""
    change_ratio: float | None = None
    """Now over before, of numbers; null where before was zero."""


class Baseline(Noun):
    """Now held against a time before."""

    before: str
    """Where the values before come from."""
    now: str
    changed: tuple[Changed, ...]
    """The largest changes first; settings and names before numbers."""
    same: int
    """Values that are as they were."""
