"""From a choice problem to a proved choice."""

from __future__ import annotations

import time

from planner.schema.choice import Choice, ChoiceProblem
from planner.schema.reasons import Goal
from planner.solver.ways import servable


def solve(
    problem: ChoiceProblem,
    *,
    goal: Goal = "plan",
    time_limit_s: float | None = None,
    seed: int = 0,
    workers: int = 1,
) -> Choice:
    """The cheapest replicas that carry every demand within all limits, each workload in its best way.

    Status ``optimal`` is proved; ``feasible`` was cut by the time limit and carries its bound and gap;
    ``unknown`` was cut before any answer; ``infeasible`` is confirmed by a second search without presolve.

    Args:
        problem: what is asked.
        goal: ``plan`` settles ties among optimal choices; ``value`` proves the optimal value only; ``any``
            minimizes nothing and ends at the first choice, with status ``feasible`` and no bound.
        time_limit_s: wall time for everything.
        seed: of the search.
        workers: threads of the search.

    Raises:
        InputError: a form of spares or packing that cannot be sized exactly.
    """
    deadline_s = deadline(time_limit_s)
    question, unserved = servable(problem)
    if unserved:
        return Choice("infeasible", in_the_way=unserved)
    # Imported here: the solver takes a while to load, which commands without a search need not pay.
    from planner.solver.prepared import Prepared
    from planner.solver.reach import within_reach

    return Prepared(within_reach(question), deadline_s=deadline_s, seed=seed, workers=workers).best(goal)


def deadline(time_limit_s: float | None) -> float | None:
    """A limit as a moment on the clock of `time.monotonic`."""
    return None if time_limit_s is None else time.monotonic() + time_limit_s
