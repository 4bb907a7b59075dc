"""The limits of a fleet by name: what the market and money allow, what is given, and where each stands."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from planner.schema.fleet import Budget, FleetDemand, FleetProblem, Line
from planner.schema.problem import Problem
from planner.schema.reasons import LimitKind, NamedLimit
from planner.solver.fleet_ways import barred_ways

_ONE = Fraction(1)


def fleet_limits(
    question: FleetProblem,
    problem: Problem | None,
    paths: Mapping[str, str],
    widest: FleetProblem | None = None,
) -> tuple[NamedLimit, ...]:
    """The limits that stand in the question itself; those of what a replica carries are named elsewhere.

    Somebody could grant those of the market (``stock:GPU``, ``quota:NAME``, budgets, ``max-gpus``, ``power``,
    ``changes``) and not serve a bucket (``unservable:W/B``). Given are what the market has of a line
    (``supply:GPU/TERM``, ``share:GPU/TERM``), demand, headroom, spares, replicas at least and load.

    Args:
        question: what is asked today.
        problem: tells which workloads state headroom, spares and replicas of their own, and how much
            headroom; without it every workload counts as stating its own, and no headroom is named.
        paths: where the problem states a limit, by id, in the form of ``--set``.
        widest: the question without limits on what a replica carries: what nothing serves even there is
            unservable; default: today's.
    """
    found = [
        *(_service(name) for name in barred_ways(question if widest is None else widest)[1]),
        *_market(question),
        *_supply(question.lines),
        *_given(question, problem),
    ]
    return tuple(replace(limit, path=paths.get(limit.id)) for limit in found)


def _service(name: str) -> NamedLimit:
    return NamedLimit(name, "service", "a bucket that no option can serve")


# -- market -------------------------------------------------------------------------------------------------


def _market(question: FleetProblem) -> Iterator[NamedLimit]:
    limits, several = question.limits, question.periods > 1
    for gpu, count in limits.stock_gpus.items():
        units = [line.unit_gpus for line in question.lines if line.gpu == gpu]
        yield _gpus(f"stock:{gpu}", "stock", f"stock of {gpu}", count, units)
    for quota in limits.quotas:
        units = [line.unit_gpus for line in question.lines if line.id in quota.lines]
        yield _gpus(quota.id, "quota", f"quota of {quota.id.partition(':')[2]}", quota.gpus, units)
    for budget in limits.budgets:
        yield NamedLimit(budget.id, "budget", _budget_title(budget), "USD/h", budget.usd_per_h,
                         per_period=budget.every_period and several, step=_ONE)  # fmt: skip
    units = [line.unit_gpus for line in question.lines]
    if limits.max_gpus is not None:
        row = _gpus("max-gpus", "max-gpus", "number of GPUs", limits.max_gpus, units)
        yield replace(row, per_period=several)
    if limits.power_w is not None:
        yield NamedLimit("power", "power", "power of all replicas", "W", limits.power_w, per_period=several)
    if limits.changes is not None:
        yield _gpus("changes", "changes", "GPUs added or removed", limits.changes.most, units)


def _budget_title(budget: Budget) -> str:
    return "budget" if budget.every_period else "budget on average"


def _gpus(name: str, kind: LimitKind, title: str, count: int, units: Iterable[int]) -> NamedLimit:
    """A cap on GPUs; a step reaches the next number at which one more server fits."""
    unit = math.gcd(*units) or 1
    step = Fraction(unit - count % unit)
    return NamedLimit(name, kind, title, "GPUs", Fraction(count), whole=True, step=step)


def _supply(lines: Iterable[Line]) -> Iterator[NamedLimit]:
    """What the market has: nobody grants it, but more of it is a way out and has a price."""
    for line in lines:
        if line.max_gpus is not None:
            row = _gpus(
                f"supply:{line.id}", "supply", f"supply of {line.id}", line.max_gpus, [line.unit_gpus]
            )
            yield replace(row, grantable=False)
        if line.max_share is not None and line.max_share < 1:
            yield NamedLimit(f"share:{line.id}", "share", f"share of {line.id}", "fraction",
                             line.max_share, grantable=False, most=_ONE)  # fmt: skip


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
