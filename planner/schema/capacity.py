"""What a given fleet carries at most."""

from __future__ import annotations

from planner.schema.base import Noun


class Capacity(Noun):
    """The largest load that a given fleet carries within all limits, and what stops it."""

    rps: dict[str, float]
    """Requests per second by workload, at the busiest hour, headroom aside; 0 where nothing is carried."""
    stopped_by: dict[str, str | None]
    """By workload whose demand was raised: the limit that stops it, its own before those of the fleet; null
    where no single limit does, or the time did not suffice to tell."""
    helps: dict[str, tuple[str, ...]] = {}
    """By the same workloads, every limit of which each alone, taken away, would let 2 % more through."""
    of_demand: float = 0.0
    """The same over the demand that the problem states."""
    breaks_rps: dict[str, float] = {}
    """A load that is proved to be too large; empty where none is."""
    tolerance: float
    """Between the load and the one that is too large, relative, where the answer is proved."""
