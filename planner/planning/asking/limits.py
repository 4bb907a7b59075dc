"""The limits of a fleet by name: what the market and money allow, what is given, and where each stands."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from planner.constraints.plan.registry import CHANGES, plan_rows
from planner.schema.fleet import FleetDemand, FleetProblem, Line
from planner.schema.limit_rows import DayRow, LimitRow
from planner.schema.problem import Problem
from planner.schema.reasons import LimitKind, NamedLimit
from planner.solver.serving_modes import barred_modes

_ONE = Fraction(1)
OWNED = "fleet.owned."


def fleet_limits(
    question: FleetProblem,
    problem: Problem | None,
    paths: Mapping[str, str],
    widest: FleetProblem | None = None,
) -> tuple[NamedLimit, ...]:
    """The limits that stand in the question itself; those of what a replica carries are named elsewhere.

    Those of the plan stand in `planner.constraints.plan.registry`; somebody could also not serve a bucket
    (``unservable:W/B``). Given are what the market has of a line, demand, headroom, spares, replicas at least
    and load.

    Args:
        question: what is asked today.
        problem: tells which workloads state headroom, spares and replicas of their own, and how much
            headroom; without it every workload counts as stating its own, and no headroom is named.
        paths: where the problem states a limit that does not say so itself, in the form of ``--set``.
        widest: the question without limits on what a replica carries: what nothing serves even there is
            unservable; default: today's.
    """
    found = [
        *(_service(name) for name in barred_modes(question if widest is None else widest)[1]),
        *_of_plan(question),
        *_given(question, problem),
    ]
    return tuple(replace(limit, path=limit.path or paths.get(limit.id)) for limit in found)


def given_name(limit: NamedLimit) -> str:
    """The id of a limit among given facts: what is owned is told as such, not as a line of the market."""
    path = limit.path or ""
    gpu = path.removeprefix(OWNED)
    return f"owned:{gpu}" if path.startswith(OWNED) else limit.id


def _service(name: str) -> NamedLimit:
    return NamedLimit(name, "service", "a bucket that no option can serve")


# -- market -------------------------------------------------------------------------------------------------


def _of_plan(question: FleetProblem) -> Iterator[NamedLimit]:
    """Limits of the plan: those that somebody could grant, then what the market has."""
    named = [_named(question, row) for row in plan_rows(question)]
    yield from (limit for limit in named if limit.grantable)
    changes = question.limits.changes
    if changes is not None:
        step = _next_unit(question.lines, changes.most)
        yield NamedLimit(CHANGES.kind, CHANGES.kind, CHANGES.title, CHANGES.unit, Fraction(changes.most),
                         whole=True, step=step, path=CHANGES.path)  # fmt: skip
    # With one period there is nothing that could change or end.
    day = [_of_day(row) for row in question.limits.day if question.periods > 1 or not row.in_order]
    yield from (limit for limit in day if limit.grantable)
    yield from (limit for limit in (*named, *day) if not limit.grantable)


def _of_day(row: DayRow) -> NamedLimit:
    return NamedLimit(
        row.id,
        row.kind,
        row.title,
        row.unit,
        None if row.switch else Fraction(row.most),
        grantable=row.grantable,
        falls=row.falls,
        whole=not row.switch,
        most=_ONE if row.falls else None,
        path=row.path,
    )


def _named(question: FleetProblem, row: LimitRow) -> NamedLimit:
    step = row.step
    if step is None and row.whole and row.gpus is not None:
        step = _next_unit([line for line in question.lines if row.gpus(line)], int(row.most))
    return NamedLimit(
        row.id,
        row.kind,
        row.title,
        row.unit,
        row.most,
        grantable=row.grantable,
        whole=row.whole,
        most=None if row.part_of is None else _ONE,
        path=row.path,
        per_period=row.every_period and question.periods > 1,
        step=step,
        row=row,
    )


def _next_unit(lines: Iterable[Line], count: int) -> Fraction:
    """A step that reaches the next number at which one more server fits."""
    unit = math.gcd(*(line.unit_gpus for line in lines)) or 1
    return Fraction(unit - count % unit)


# -- given --------------------------------------------------------------------------------------------------


def _given(question: FleetProblem, problem: Problem | None) -> Iterator[NamedLimit]:
    workloads = list(dict.fromkeys(demand.workload for demand in question.demands))
    first = {name: next(d for d in question.demands if d.workload == name) for name in workloads}
    headroom = {name: _headroom(problem, name) for name in workloads}
    for name, demand in first.items():
        value = _rate(demand) / (1 + headroom[name])
        if value > 0:
            yield NamedLimit(f"demand:{name}", "demand", f"demand of {name}", "requests/s", value,
                             grantable=False, falls=True)  # fmt: skip
    yield from _owned("headroom", "headroom", "capacity kept free", headroom, problem, 0)
    spares = {name: Fraction(demand.spares.count) for name, demand in first.items()}
    yield from _owned("redundancy", "redundancy", "replicas that may be lost", spares, problem, 0)
    least = {name: Fraction(demand.min_replicas) for name, demand in first.items()}
    yield from _owned("min_replicas", "replicas", "replicas at least", least, problem, 1)
    load = min((demand.max_utilization for demand in question.demands), default=_ONE)
    if load < 1:
        yield NamedLimit("max_utilization", "utilization", "load of a replica over its capacity", "fraction",
                         load, grantable=False, most=_ONE)  # fmt: skip


def _headroom(problem: Problem | None, workload: str) -> Fraction:
    if problem is None:
        return Fraction(0)
    found = next(w for w in problem.workloads if w.name == workload)
    return Fraction(problem.fleet.headroom_of(found).capacity)


def _rate(demand: FleetDemand) -> Fraction:
    """Of the busiest period; of work that may wait, on average."""
    if demand.deferrable is not None:
        level = sum(demand.deferrable.arrivals, Fraction(0)) / len(demand.demand_rps)
        return level * max(sum(rates, Fraction(0)) for rates in demand.demand_rps)
    return max(sum(rates, Fraction(0)) for rates in demand.demand_rps)


def _owned(
    name: str,
    kind: LimitKind,
    title: str,
    values: Mapping[str, Fraction],
    problem: Problem | None,
    least: int,
) -> Iterator[NamedLimit]:
    """One limit of the fleet for the workloads that state none, and one for each that does."""
    shared = tuple(workload for workload in values if not _states(problem, workload, name))
    rows: list[tuple[str, Fraction, tuple[str, ...]]] = [
        (f"{name}:{one}", value, (one,)) for one, value in values.items() if one not in shared
    ]
    if shared:
        rows.insert(0, (name, max(values[workload] for workload in shared), shared))
    for limit_id, value, concerns in rows:
        if value > least:
            yield NamedLimit(
                id=limit_id,
                kind=kind,
                title=title,
                unit="fraction" if kind == "headroom" else "replicas",
                value=value,
                grantable=False,
                falls=True,
                whole=kind != "headroom",
                most=Fraction(least),
                concerns=concerns,
            )


def _states(problem: Problem | None, workload: str, key: str) -> bool:
    """The workload states a value of its own."""
    if problem is None:
        return True
    own = "own_capacity_headroom" if key == "headroom" else key
    return any(w.name == workload and getattr(w, own) is not None for w in problem.workloads)
