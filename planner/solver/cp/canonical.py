"""One order for every part of a problem, and equal periods seen once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from planner.constraints.plan.registry import in_order as rows_in_order
from planner.schema.fleet import FleetProblem

T = TypeVar("T")


def in_order(problem: FleetProblem) -> FleetProblem:
    """The same problem with everything sorted by its name, so that no order of input shows in a plan."""
    limits = problem.limits
    return replace(
        problem,
        options=tuple(sorted(problem.options, key=lambda one: one.id)),
        hosts=tuple(sorted(problem.hosts, key=lambda one: one.id)),
        lines=tuple(sorted(problem.lines, key=lambda one: one.id)),
        demands=tuple(sorted(problem.demands, key=lambda one: one.pool)),
        couplings=tuple(sorted(problem.couplings, key=lambda one: one.workload)),
        apis=tuple(sorted(problem.apis, key=lambda one: one.id)),
        starts=tuple(sorted(problem.starts, key=lambda one: (one.lines, one.usd_per_gpu))),
        limits=replace(
            limits,
            rows=rows_in_order(limits.rows),
            must_use=tuple(sorted(limits.must_use)),
            day=tuple(sorted(limits.day, key=lambda row: row.id)),
        ),
    )


@dataclass(frozen=True)
class Distinct:
    """The periods that differ in their demand, and how many periods each stands for.

    Equal periods have an equal best plan wherever nothing ties them to their neighbours or asks for
    something only once a day: no start charge, no ``must_use``, no limit on changes or lives of layouts, and
    a limit on the mean only where it is one on money and the cost is minimized anyway.
    """

    first: tuple[int, ...]
    """One period of each kind, in the order of the day."""
    weights: tuple[int, ...]
    kinds: tuple[int, ...]
    """For every period, the place of its kind."""

    @property
    def count(self) -> int:
        """Number of kinds."""
        return len(self.first)

    def spread(self, plans: Sequence[T]) -> tuple[T, ...]:
        """One plan of each kind, laid out over the day."""
        return tuple(plans[kind] for kind in self.kinds)


def distinct_periods(problem: FleetProblem) -> Distinct:
    """Equal periods taken together, where that is exact."""
    every = range(problem.periods)
    limits = problem.limits
    means = [row for row in limits.rows if not row.every_period]
    tied = any(not row.of_money for row in means) or (means and limits.objective != "cost")
    ordered = any(row.in_order for row in limits.day)
    if charged(problem) or limits.must_use or tied or ordered:
        return Distinct(tuple(every), (1,) * problem.periods, tuple(every))
    needs = [tuple(demand.demand_rps[t] for demand in problem.demands) for t in every]
    places: dict[tuple[tuple[Fraction, ...], ...], int] = {}
    for need in needs:
        places.setdefault(need, len(places))
    kinds = tuple(places[need] for need in needs)
    first = tuple(kinds.index(place) for place in range(len(places)))
    return Distinct(first, tuple(kinds.count(place) for place in range(len(places))), kinds)


def charged(problem: FleetProblem) -> bool:
    """Some GPU or replica costs money when it is added, which ties each period to the one before."""
    if problem.periods > 1 and any(start.usd_per_gpu > 0 for start in problem.starts):
        return True
    return bool(problem.pays_starts)


def separable(problem: FleetProblem) -> bool:
    """Each period is a problem of its own."""
    reserved = any(line.term == "reserved" for line in problem.lines)
    mean = any(not row.every_period for row in problem.limits.rows)
    layouts = any(problem.one_layout(demand.workload) for demand in problem.demands)
    layouts = layouts or bool(problem.limits.day)
    return not (reserved or mean or layouts or charged(problem) or problem.limits.must_use)


def only(problem: FleetProblem, period: int) -> FleetProblem:
    """The problem of one period on its own."""
    demands = tuple(replace(d, demand_rps=(d.demand_rps[period],)) for d in problem.demands)
    return replace(problem, periods=1, demands=demands, starts=())
