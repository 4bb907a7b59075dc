"""All limits of a plan, in the order in which they are told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction

from planner.constraints.plan.budget import Budget
from planner.constraints.plan.changes import ChangesLimit
from planner.constraints.plan.day_limit import DayLimit
from planner.constraints.plan.fixed_layouts import FixedLayouts
from planner.constraints.plan.limit import LinearLimit, PlanLimit, Stated
from planner.constraints.plan.max_changes_per_day import MaxChangesPerDay
from planner.constraints.plan.max_co2 import MaxCo2
from planner.constraints.plan.max_gpus import MaxGpus
from planner.constraints.plan.max_layouts import MaxLayouts
from planner.constraints.plan.max_replicas import MaxReplicas
from planner.constraints.plan.min_layout_hours import MinLayoutHours
from planner.constraints.plan.of_line import LineLimit
from planner.constraints.plan.places import Places
from planner.constraints.plan.power import Power
from planner.constraints.plan.quota import Quota
from planner.constraints.plan.share import Share
from planner.constraints.plan.stock import Stock
from planner.constraints.plan.supply import Supply
from planner.schema.fleet import FleetProblem
from planner.schema.hardware import Fleet
from planner.schema.limit_rows import DayRow, LimitRow
from planner.schema.problem import Problem

LINEAR_LIMITS: tuple[LinearLimit, ...] = (
    Stock(),
    Quota(),
    Budget(),
    MaxGpus(),
    Power(),
    MaxReplicas(),
    MaxCo2(),
    Supply(),
    Share(),
)
CHANGES = ChangesLimit()
DAY_LIMITS: tuple[DayLimit, ...] = (
    MaxLayouts(),
    MaxChangesPerDay(),
    FixedLayouts(),
    Places(),
    MinLayoutHours(),
)
PLAN_LIMITS: tuple[PlanLimit, ...] = (*LINEAR_LIMITS, CHANGES, *DAY_LIMITS)
BY_KIND = {limit.kind: limit for limit in PLAN_LIMITS}
BY_POWER = frozenset(limit.kind for limit in PLAN_LIMITS if limit.by_power)
_RANK = {limit.kind: rank for rank, limit in enumerate(PLAN_LIMITS)}


def stated_rows(stated: Stated) -> tuple[LimitRow, ...]:
    """The rows that a problem asks for."""
    return tuple(row for limit in LINEAR_LIMITS for row in limit.rows(stated))


def stated_day(stated: Stated) -> tuple[DayRow, ...]:
    """The limits on the whole day that a problem asks for."""
    return tuple(row for limit in DAY_LIMITS for row in limit.rows(stated))


def plan_rows(question: FleetProblem) -> tuple[LimitRow, ...]:
    """Every linear limit of a question: those of the problem, then those of its lines."""
    return (
        *question.limits.rows,
        *(row for limit in LINEAR_LIMITS for row in limit.of_lines(question.lines)),
    )


def in_order(rows: Iterable[LimitRow]) -> tuple[LimitRow, ...]:
    """Sorted by kind and name, whatever the order of the input."""
    return tuple(sorted(rows, key=lambda row: (_RANK[row.kind], row.id)))


def line_paths(fleet: Fleet) -> dict[str, str]:
    """Where the file states limits of lines: the n-th line of its GPU and term is ``GPU/TERM#n``."""
    seen: Counter[str] = Counter()
    paths = {f"{Supply.kind}:{gpu}/owned": f"fleet.owned.{gpu}" for gpu in fleet.owned}
    for place, line in enumerate(fleet.supply or ()):
        name = f"{line.gpu}/{line.term}"
        seen[name] += 1
        name = name if seen[name] == 1 else f"{name}#{seen[name]}"
        for limit in LINEAR_LIMITS:
            if isinstance(limit, LineLimit):
                paths[f"{limit.kind}:{name}"] = limit.path.replace("{}", str(place))
    return paths


def lifted(problem: Problem, changes: Mapping[str, Fraction | None]) -> Problem:
    """The problem without those limits on rated power that changes take away."""
    for limit in PLAN_LIMITS:
        if limit.by_power and limit.kind in changes and changes[limit.kind] is None:
            problem = limit.lifted(problem)
    return problem


def counts_power(problem: Problem) -> bool:
    """The problem states a limit that counts rated power."""
    return any(limit.by_power and limit.is_stated(problem) for limit in PLAN_LIMITS)
