"""The exact engine's plan of a small fleet equals exhaustive enumeration, boundaries included."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from fleet_enumeration import best_value, effort
from fleet_problems import random_fleet
from more import seeds

from planner.constraints.fleet_check import bill, broken
from planner.constraints.plan.max_co2 import KgPerDay, MaxCo2
from planner.schema.choice import Spares
from planner.solver.cp.solve import solve_cp
from planner.solver.mip.solve import solve_mip
from planner.solver.solve import solve_large

FLEETS = 600


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(FLEETS))
def test_the_optimum_equals_enumeration(seed):
    problem = random_fleet(random.Random(seed))
    expected = best_value(problem)
    choice = solve_cp(problem, goal="value")
    if expected is None:
        assert choice.status == "infeasible"
        return
    assert choice.status == "optimal"
    assert choice.value == choice.lower_bound == expected
    assert broken(problem, choice) == []
    assert bill(problem, choice.periods).value(problem.limits.objective) == expected


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(60))
def test_any_plan_and_the_settled_plan_agree_with_the_optimum(seed):
    """Any plan keeps every limit on the right side of the optimum; ties do not hang on the input's order."""
    rng = random.Random(10_000 + seed)
    problem = random_fleet(rng)
    expected = best_value(problem)
    rough, settled = solve_cp(problem, goal="any"), solve_cp(problem)
    if expected is None:
        assert rough.status == settled.status == "infeasible"
        return
    assert rough.lower_bound <= expected <= rough.value
    assert settled.status == "optimal"
    assert settled.value == expected
    other = replace(
        problem,
        **{name: tuple(rng.sample(getattr(problem, name), len(getattr(problem, name)))) for name in PARTS},
    )
    assert replace(solve_cp(other), trace=()) == replace(settled, trace=())


PARTS = ("options", "hosts", "lines", "demands", "couplings", "starts")


@pytest.mark.parametrize("seed", range(60))
def test_one_layout_for_the_day_is_the_best_of_all_layouts(seed):
    """Without mixing the hours share options and way; both engines find the cheapest such day."""
    rng = random.Random(20_000 + seed)
    problem = random_fleet(rng)
    while problem.periods == 1:
        problem = random_fleet(rng)
    demands = tuple(replace(demand, mix=rng.random() < 0.2) for demand in problem.demands)
    problem = replace(problem, demands=demands)
    expected = best_value(problem)
    for choice in (solve_cp(problem, goal="value"), solve_mip(problem, time_limit_s=20)):
        assert (choice.status, choice.value) == ("infeasible" if expected is None else "optimal", expected)
        assert broken(problem, choice) == []


@pytest.mark.parametrize("seed", range(30))
def test_lost_servers_take_whatever_fits_into_them(seed):
    rng = random.Random(30_000 + seed)
    problem = on_servers(rng, random_fleet(rng))
    while effort(problem)[0] > 1000 or effort(problem)[1] > 200:
        problem = on_servers(rng, random_fleet(rng))
    expected = best_value(problem)
    choice = solve_cp(problem, goal="value")
    assert (choice.status, choice.value) == ("infeasible" if expected is None else "optimal", expected)
    assert broken(problem, choice) == []


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(40))
def test_replicas_of_sizes_that_do_not_divide_a_server_are_packed(seed):
    """Both engines: CP-SAT packs exactly, HiGHS proves what it proves and never claims too much."""
    rng = random.Random(40_000 + seed)
    problem = odd_sizes(rng, random_fleet(rng))
    while effort(problem)[0] > 400 or effort(problem)[1] > 100:
        problem = odd_sizes(rng, random_fleet(rng))
    expected = best_value(problem)
    choice = solve_cp(problem, goal="value")
    assert (choice.status, choice.value) == ("infeasible" if expected is None else "optimal", expected)
    assert broken(problem, choice) == []
    large = solve_large(problem, time_limit_s=20)
    assert broken(problem, large) == []
    if expected is None:
        assert large.value is None
    else:
        assert large.lower_bound is None or large.lower_bound <= expected
        assert large.value is None or large.value >= expected
        assert large.status != "infeasible"


def odd_sizes(rng, problem):
    """The same on servers that replicas do not fill, without spares."""
    hosts = {host.id: replace(host, server_gpus=rng.choice([5, 6, 8])) for host in problem.hosts}
    sizes = {name: host.server_gpus for name, host in hosts.items()}
    return replace(
        problem,
        hosts=tuple(hosts.values()),
        options=tuple(replace(o, slices=1, gpus=rng.choice([1, 2, 3, 4, 5])) for o in problem.options),
        lines=tuple(
            replace(line, unit_gpus=sizes[line.host], max_gpus=sizes[line.host] * rng.randint(1, 3))
            for line in problem.lines
        ),
        demands=tuple(replace(demand, spares=Spares()) for demand in problem.demands),
    )


def on_servers(rng, problem):
    """The same with whole servers bought, any of which may be lost."""
    hosts = {host.id: replace(host, server_gpus=rng.choice([2, 4])) for host in problem.hosts}
    sizes = {name: host.server_gpus for name, host in hosts.items()}
    return replace(
        problem,
        hosts=tuple(hosts.values()),
        options=tuple(replace(option, slices=1) for option in problem.options),
        lines=tuple(
            replace(line, unit_gpus=sizes[line.host], max_gpus=sizes[line.host] * rng.randint(1, 5))
            for line in problem.lines
        ),
        demands=tuple(
            replace(demand, spares=Spares("servers", rng.choice([0, 1, 1, 2]))) for demand in problem.demands
        ),
    )


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(40))
def test_a_limit_that_tells_sites_apart_is_exact_too(seed):
    """Carbon dioxide: a replica counts three times as much in one region as in the other."""
    rng = random.Random(20_000 + seed)
    problem = random_fleet(rng)
    while problem.periods > 1 or len({line.site for line in problem.lines}) < 2:
        problem = random_fleet(rng)
    grams = (("r1", Fraction(300)), ("r2", Fraction(100)))
    row = MaxCo2().row(rng.randint(1, 9), replicas=KgPerDay(Fraction(5, 4), grams), every_period=False)
    problem = replace(problem, limits=replace(problem.limits, rows=(*problem.limits.rows, row)))
    expected = best_value(problem)
    for choice in (solve_cp(problem, goal="value"), solve_mip(problem, time_limit_s=20)):
        if expected is None:
            assert choice.status == "infeasible"
        elif choice.status == "optimal":
            assert choice.value == pytest.approx(expected, rel=1e-6)
            assert broken(problem, choice) == []
