"""Small fleets of one period: the whole model twice at once, the first proof wins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.solver.mip.crew import Crew
from planner.solver.mip.jobs import Solved
from planner.solver.mip.mip import Floats
from planner.solver.mip.prepared import Prepared
from planner.solver.mip.tasks import Piece

RACE_COUNTS = 160
"""Replica counts up to which one of the two usually proves its plan within ten seconds."""
RACE_PART, RACE_S = 0.6, 40.0
"""Of the time that is left, and at most."""


def races(prepared: Prepared) -> bool:
    """The problem is of the size for which the whole model is worth it."""
    counts = sum(len(pool.places) for work in prepared.works for pool in work.pools)
    return prepared.periods == 1 and counts <= RACE_COUNTS


def race(crew: Crew, prices: Floats, least: Sequence[float], left_s: float) -> Iterator[Solved]:
    """Answers as they come: with and without the rows of the prices, which help one model and hinder another.

    Args:
        crew: with two processes both run at once.
        prices: by resource.
        least: by block, the proved least of ``sum price * use``.
        left_s: wall time.
    """
    limit_s = min(RACE_S, RACE_PART * left_s)
    rows = [({r: float(p) for r, p in enumerate(prices) if p}, list(least))] if least else []
    pieces: list[Piece] = [
        ("whole", {"limit_s": limit_s, "gap": 0.0, "start": None, "least": taken}) for taken in (rows, [])
    ]
    for _, solved in crew.each(iter(pieces)):
        if solved is not None:
            yield solved
