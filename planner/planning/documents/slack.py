"""The limits of a fleet with their values: what binds in some hour, and how much room is left."""

from __future__ import annotations

from fractions import Fraction

from planner.constraints.fleet_check import FleetBill, bill
from planner.constraints.plan.changes import changed_gpus
from planner.constraints.plan.day_usage import day_usage
from planner.constraints.plan.registry import CHANGES, plan_rows
from planner.constraints.plan.usage import Usage
from planner.planning.documents.service_slack import limit_state
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.limit_rows import LimitRow
from planner.schema.limits_told import ConstraintState


def fleet_states(problem: FleetProblem, choice: FleetChoice) -> list[ConstraintState]:
    """Every limit of the plan in its fullest period, or on average; what the market has, where it is used."""
    paid = bill(problem, choice.periods)
    usage = Usage(problem, choice.periods, (period.usd for period in paid.periods))
    states = []
    for row in plan_rows(problem):
        value = usage.of(row)
        if row.grantable or value:
            states.append(limit_state(row.id, value, row.most, row.unit, _step(problem, row, usage)))
    return [*states, *_changes(problem, paid), *_day(problem, choice)]


def _step(problem: FleetProblem, row: LimitRow, usage: Usage) -> Fraction | int:
    """What one more counts: the cheapest unit sold, a replica like those that run, a GPU, a line's unit."""
    if row.money:
        return min((line.usd_per_gpu_h * line.unit_gpus for line in problem.lines), default=Fraction(0))
    if row.replicas is not None:
        return usage.of(row) / max(usage.replicas(row), 1)
    if row.part_of is not None:
        return Fraction(1, 100)
    if row.grantable:
        return 1
    assert row.gpus is not None
    return min(line.unit_gpus for line in problem.lines if row.gpus(line))


def _changes(problem: FleetProblem, paid: FleetBill) -> list[ConstraintState]:
    changes = problem.limits.changes
    if changes is None:
        return []
    moved = max(changed_gpus(changes.today_gpus, period.gpus) for period in paid.periods)
    return [limit_state(CHANGES.kind, Fraction(moved), Fraction(changes.most), CHANGES.unit, 1)]


def _day(problem: FleetProblem, choice: FleetChoice) -> list[ConstraintState]:
    """Limits on the layouts of the day; lives count down from the hours of the day."""
    used = day_usage(problem, choice.periods)
    states = []
    for row in problem.limits.day:
        if problem.periods > 1 or not row.in_order:
            state = limit_state(row.id, Fraction(used[row.id]), Fraction(row.most), row.unit, 1)
            if row.falls:
                slack = used[row.id] - row.most
                state = state.model_copy(update={"slack": float(slack), "binding": slack <= 0})
            states.append(state)
    return states
