"""Small fleets of one period: the whole model twice at once, and again with more work until one is proved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.solver.mip.crew import Crew
from planner.solver.mip.jobs import Solved
from planner.solver.mip.mip import Floats
from planner.solver.mip.prepared import Prepared
from planner.solver.mip.run import Run
from planner.solver.mip.tasks import Piece

RACE_COUNTS = 160
"""Replica counts up to which one of the two usually proves its plan within ten seconds."""
RACE_PART, RACES_S = 0.6, (5.0, 40.0)
"""Of the time that is left, and at most: first so much, then more. Of two proofs the first in order is taken,
not the first in time."""


def races(prepared: Prepared) -> bool:
    """The problem is of the size for which the whole model is worth it."""
    counts = sum(len(pool.places) for work in prepared.works for pool in work.pools)
    return prepared.periods == 1 and counts <= RACE_COUNTS


def race(crew: Crew, prices: Floats, least: Sequence[float], run: Run) -> Iterator[Solved]:
    """Answers: with and without the rows of the prices, which help one model and hinder another.

    Args:
        crew: with two processes both run at once.
        prices: by resource.
        least: by block, the proved least of ``sum price * use``.
        run: with what is left of its time.
    """
    rows = [({r: float(p) for r, p in enumerate(prices) if p}, list(least))] if least else []
    for most_s in RACES_S[-1:] if run.limited else RACES_S:
        limit = run.limit(min(most_s, RACE_PART * run.left_s))
        pieces: list[Piece] = [
            ("whole", {"limit": limit, "gap": 0.0, "start": None, "least": taken}) for taken in (rows, [])
        ]
        for _, solved in crew.each(iter(pieces)):
            if solved is not None:
                yield solved
