"""Better days from the first plan: one workload after the other is chosen anew over all of its hours.

The others stay as they are and the purchases are free, so a move is a small program. Its layouts are those
of simple days that cost little more than the cheapest at the present prices; where no move helps any more,
of days that cost more.
"""

from __future__ import annotations

import numpy as np

from planner.solver.mip.crew import Crew
from planner.solver.mip.day_search import SimpleDay
from planner.solver.mip.large import PENALTY
from planner.solver.mip.run import Run
from planner.solver.mip.search import Search
from planner.solver.mip.state import State

NEARS = (0.02, 0.05, 0.1)
"""So much more than the cheapest may cost days whose layouts are tried."""
MOVE_S, ROUNDS = 4.0, 6
"""For one move, and rounds of one distance at most."""
GAIN = 5e-4
"""A round that gains less than this part is the last of its distance."""


def move_days(state: State, crew: Crew, run: Run, day: SimpleDay, part: float) -> None:
    """Improve the plan in ``run`` for a part of the work that is left, from a first plan."""
    prepared = state.prepared
    until = run.seconds + part * run.left_s
    penalties = np.full(prepared.resources, PENALTY * max(float(day.prices.max(initial=1.0)), 1.0))
    search = Search(prepared, run, day.columns, penalties, state.seed)
    search.take(day.plan.blocks)
    for search.near in NEARS:
        for _ in range(ROUNDS):
            before = search.value
            if run.done or run.seconds > until:
                return
            search.day_moves(crew, day.prices, until, 1, MOVE_S)
            if search.value > before * (1 - GAIN):
                break
