"""Hours of many kinds of GPUs, each a program over all of its workloads."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from planner.constraints.fleet_check import broken
from planner.constraints.plan.min_layout_hours import MinLayoutHours
from planner.schema.choice import Option
from planner.schema.fleet import FleetDemand, FleetLimits, FleetProblem, Host, Line
from planner.solver.cp.solve import solve_cp
from planner.solver.mip.finish import finish
from planner.solver.mip.hourly_bound import untied
from planner.solver.mip.hours.by_hours import by_hours
from planner.solver.mip.hours.frontiers import frontiers_of
from planner.solver.mip.hours.planned_hours import tied
from planner.solver.mip.hours.whole_hours import WholeHours
from planner.solver.mip.prepared import prepare
from planner.solver.mip.run import Run
from planner.solver.mip.solve import solve_mip
from planner.solver.mip.state import State

F = Fraction
KINDS = {"a": (3, 2), "b": (5, 3), "c": (7, 4), "d": (11, 6), "e": (13, 7)}
"""GPU -> rate of a replica, USD an hour on demand."""
NEEDS = (2, 4, 25, 27, 24, 3)
RESERVED_USD = F(5)
"""Of e, all day."""


def day(start_h=0):
    options = tuple(
        Option(f"{name}1", "w", "serve", name, name, 1, (F(rate),), start_h=F(start_h))
        for name, (rate, _) in KINDS.items()
    )
    hosts = tuple(Host(name, name) for name in KINDS)
    lines = tuple(Line(name, name, name, "on_demand", F(usd)) for name, (_, usd) in KINDS.items())
    reserved = Line("held", "e", "e", "reserved", RESERVED_USD)
    demands = (FleetDemand("w", "serve", tuple((F(need),) for need in NEEDS)),)
    return FleetProblem(len(NEEDS), options, hosts, (*lines, reserved), demands)


def hour_usd(need, held):
    """By enumeration: the cheapest replicas beside so many of e that are there anyway."""
    found = [
        sum(n * usd for n, (_, usd) in zip(counts, KINDS.values(), strict=True)) - 7 * min(counts[-1], held)
        for counts in product(range(5), repeat=len(KINDS))
        if sum(n * rate for n, (rate, _) in zip(counts, KINDS.values(), strict=True)) >= need
    ]
    return min(found)


def best_usd():
    return min(
        held * len(NEEDS) * RESERVED_USD + sum(hour_usd(need, held) for need in NEEDS) for held in range(3)
    )


def whole(problem):
    return WholeHours(State(prepare(untied(problem)), 0), problem)


def test_there_are_too_many_kinds_for_points():
    assert frontiers_of(prepare(untied(day()))) is None


def test_what_is_reserved_is_priced_by_the_hours_that_need_it():
    """At one price for every hour e seems cheap in three of six; the bound is that of the best prices."""
    problem, hours = day(), whole(day())
    best = best_usd()
    assert hours.all_small
    bound = hours.prove(lambda: False)
    assert 0.97 * float(best) <= bound <= float(best) + 1e-6
    even = WholeHours(State(prepare(untied(problem)), 0), problem).prove(lambda: True)
    assert even < bound


def test_the_hours_make_a_day():
    problem, hours = day(), whole(day())
    hours.prove(lambda: False)
    prepared = prepare(problem)
    plans = tied(prepared, hours.prepared, hours.plan(lambda: False))
    found = finish(problem, prepared, plans)
    assert float(best_usd()) <= found.value <= 1.1 * float(best_usd())


@pytest.mark.parametrize("start_h", [0, 1, 3])
def test_starts_are_looked_at_beside_the_hours_around(start_h):
    """A replica that stays on spares a start; hours on their own know nothing of that."""
    problem = day(start_h)
    prepared = prepare(problem)

    def value(sweeps):
        hours = whole(problem)
        hours.prove(lambda: False)
        plans = tied(prepared, hours.prepared, hours.plan(lambda: not sweeps))
        return finish(problem, prepared, plans).value

    assert value(sweeps=True) <= value(sweeps=False)
    if start_h == 3:
        assert value(sweeps=True) < value(sweeps=False)


def test_a_day_of_many_kinds_is_proved_by_its_hours():
    found = solve_mip(day())
    assert found.status == "optimal"
    assert found.value == best_usd()


def lived(hours, **more):
    row = MinLayoutHours().row(hours)
    return replace(day(**more), limits=FleetLimits(day=(row,)))


@pytest.mark.parametrize("hours", [2, 3, 6])
def test_limits_on_layouts_are_planned_with_those_of_the_day_without_them(hours):
    problem = lived(hours)
    best = solve_cp(problem)
    prepared, run = prepare(problem), Run(None)
    by_hours(State(prepared, 0), run, solve_mip)
    found = finish(problem, prepared, run.blocks, run.units)
    assert broken(problem, found) == []
    assert run.bound <= float(best.value) + 1e-6
    assert best.value <= found.value <= 1.1 * best.value


def test_the_day_of_few_layouts_is_searched_without_another_free_day():
    asked = []

    def solve(question, **how):
        asked.append((len(question.options), bool(question.limits.day), sorted(how)))
        return solve_mip(question, goal="value", **how)

    problem = lived(3)
    by_hours(State(prepare(problem), 0), Run(None), solve)
    (free, few) = asked
    assert free == (5, False, ["work_s"])
    assert few[0] < 5
    assert few[1:] == (True, ["few", "work_s"])
    by_hours(State(prepare(problem), 0), Run(None), None)
    assert len(asked) == 2


def test_who_ends_a_search_amid_the_free_day_keeps_what_it_found():
    problem = lived(3)
    run = Run(None)

    def solve(question, **how):
        return replace(solve_mip(question, goal="value"), interrupted=True)

    with pytest.raises(KeyboardInterrupt):
        by_hours(State(prepare(problem), 0), run, solve)
    assert run.bound > 0
