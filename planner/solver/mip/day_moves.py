"""Better days from the first plan: one workload or two are chosen anew over all of their hours.

The others stay as they are and the purchases are free, so a move is a small program. Its layouts are those
of simple days that cost little more than the cheapest at the present prices; where no move helps any more,
of days that cost more. Two workloads together can change places on GPUs that one alone finds taken.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.solver.mip.crew import Crew
from planner.solver.mip.day_search import SimpleDay
from planner.solver.mip.large import PENALTY
from planner.solver.mip.plan import BlockPlan
from planner.solver.mip.run import Run
from planner.solver.mip.search import Search
from planner.solver.mip.state import State

STEPS = ((0.02, 1), (0.05, 1), (0.02, 2), (0.05, 2), (0.1, 2))
"""So much more than the cheapest may cost days whose layouts are tried; and workloads chosen together."""
MOVE_S, ROUNDS = 4.0, 6
"""For one move, and rounds of one distance at most."""
GAIN = 5e-4
"""A round that gains less than this part is the last of its distance."""


def move_days(
    state: State, crew: Crew, run: Run, day: SimpleDay, first: Sequence[BlockPlan], part: float
) -> bool:
    """Improve a first plan with ``day``'s layouts for a part of the work left; whether that was enough."""
    prepared = state.prepared
    until = run.seconds + part * run.left_s
    penalties = np.full(prepared.resources, PENALTY * max(float(day.prices.max(initial=1.0)), 1.0))
    search = Search(prepared, run, day.columns, penalties, state.seed)
    search.take(first)
    tried = None
    for search.near, most in STEPS:
        free = min(most, len(prepared.works))
        for _ in range(ROUNDS):
            before = search.value
            mine = [search.places(number, day.prices) for number in range(len(prepared.blocks))]
            if (before, free, mine) == tried:
                break
            tried = (before, free, mine)
            if run.done or run.seconds > until:
                return run.done
            search.day_moves(crew, day.prices, until, free, MOVE_S)
            if search.value > before * (1 - GAIN):
                break
    return True
