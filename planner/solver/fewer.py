"""A known plan of a day with fewer pools."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from planner.schema.fleet import FleetChoice, FleetProblem, Placement
from planner.schema.limit_rows import DayRow
from planner.solver.work import Timer


def fewer_pools(
    question: FleetProblem,
    choice: FleetChoice,
    more: Fraction,
    rows: Sequence[DayRow],
    timer: Timer,
    seed: int,
) -> list[dict[Placement, int]] | None:
    """By period, the replicas of the plan with fewer pools; None where a row is not kept for so much.

    Args:
        question: what is asked.
        choice: a plan of it, or of one with the same options.
        more: that the plan may cost, over all periods.
        rows: limits on the day that it has to keep, too.
        timer: what it may take.
        seed: of the solver.
    """
    if not hours_stand_alone(question):
        return None
    # Imported here: the large engine takes a while to load.
    from planner.solver.mip.hours.fewer_pools import FewerPools

    fewer = FewerPools(question, choice, [*question.limits.day, *rows], seed)

    def over() -> bool:
        return timer.left_s <= 0

    hours = max((row.most for row in rows if row.counts == "hours"), default=0)
    if hours:
        # What costs nothing first: of few layouts few live too briefly.
        fewer.drop(0.0, 0, over)
        if not fewer.lengthen(hours, float(more), over):
            return None
    fewer.drop(float(more), hours, over)
    return fewer.counts


def fewer_changes(
    question: FleetProblem,
    choice: FleetChoice,
    more: Fraction,
    rows: Sequence[DayRow],
    timer: Timer,
    seed: int,
) -> list[dict[Placement, int]]:
    """By period, the replicas of the plan with days that change less often; as `fewer_pools` takes it."""
    from planner.solver.mip.hours.fewer_pools import FewerPools

    fewer = FewerPools(question, choice, [*question.limits.day, *rows], seed)
    fewer.calm(float(more), lambda: timer.left_s <= 0)
    return fewer.counts


def hours_stand_alone(question: FleetProblem) -> bool:
    """Nothing but starts and purchases ties the hours of a workload, and it takes GPUs alone."""
    return not question.apis and all(demand.mix and demand.deferrable is None for demand in question.demands)
