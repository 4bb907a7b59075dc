"""Replicas that are paid when they start: both engines agree with a program written a second time."""

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from fleet_direct import Direct
from fleet_random import small_fleet
from more import seeds
from test_day_programs import longer

from planner.constraints.fleet_check import bill, broken
from planner.schema.choice import Option
from planner.schema.fleet import FleetDemand, FleetProblem, Host, Line, PeriodChoice, Site
from planner.solver.cp.solve import solve_cp
from planner.solver.cp.supports import supports
from planner.solver.mip.solve import solve_mip

F = Fraction
NEAR = 1e-5
RENTED = Site("p", "r", lot="on_demand")


def paid_starts(r, problem):
    """The fleet with starts that cost something, and rented lines apart from those of their place."""
    options = tuple(
        replace(o, start_h=F(r.choice([0, 1, 3, 9]), 12), drain_h=F(r.choice([0, 1]), 30))
        for o in problem.options
    )
    apart = {}
    lines = []
    for line in problem.lines:
        rented = line.term in ("on_demand", "spot")
        site = replace(line.site, lot=line.id) if rented and r.random() < 0.6 else line.site
        apart.setdefault(line.site, {line.site}).add(site)
        lines.append(replace(line, site=site))
    demands = tuple(
        d
        if d.sites is None
        else replace(d, sites=tuple(sorted(site for at in d.sites for site in apart.get(at, {at}))))
        for d in problem.demands
    )
    return replace(problem, options=options, lines=tuple(lines), demands=demands)


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(30))
def test_the_best_day_equals_a_program_written_a_second_time(seed):
    r = random.Random(90_000 + seed)
    problem = paid_starts(r, longer(r, small_fleet(90_000 + seed)))
    best = Direct(problem).value()
    found = [solve_mip(problem, time_limit_s=60)]
    found += [solve_cp(problem, goal="value")] if supports(problem) else []
    for choice in found:
        assert broken(problem, choice) == []
        if best is None:
            assert choice.status == "infeasible"
        else:
            assert choice.status == "optimal"
            assert float(choice.value) == pytest.approx(best, rel=NEAR, abs=NEAR)


def toy(start_h, *terms):
    """Four hours that ask for 1, 3, 1 and 1 replica of two GPUs."""
    sites = {"reserved": Site("p", "r"), "on_demand": RENTED}
    prices = {"reserved": F(1), "on_demand": F(2)}
    lines = [Line(f"g/{term}", "g", "g", term, prices[term], site=sites[term]) for term in terms]
    return FleetProblem(
        4,
        (Option("o", "chat", "serve", "g", "g", 2, (F(1),), start_h=start_h, drain_h=F(1, 60)),),
        (Host("g", "g"),),
        tuple(lines),
        (FleetDemand("chat", "serve", tuple((F(n),) for n in (1, 3, 1, 1))),),
    )


@pytest.mark.parametrize("solve", [solve_cp, solve_mip])
def test_a_start_costs_its_time_on_rented_gpus(solve):
    # One replica on reserved GPUs all day (8), two on demand for an hour (8), their start (3/60 h x 4 x 2).
    choice = solve(toy(F(2, 60), "reserved", "on_demand"))
    assert choice.cost_usd == 8 + 8 + F(3, 60) * 4 * 2
    assert bill(toy(F(2, 60), "reserved", "on_demand"), choice.periods).periods[1].start_usd == F(3, 60) * 8


@pytest.mark.parametrize("solve", [solve_cp, solve_mip])
def test_starts_on_gpus_that_are_paid_anyway_are_free(solve):
    assert solve(toy(F(1, 2), "reserved")).cost_usd == 6 * 4


def test_a_layout_that_takes_the_place_of_another_starts():
    question = toy(F(9, 60), "on_demand")
    question = replace(question, options=(*question.options, replace(question.options[0], id="other")))
    day = [PeriodChoice({(name, RENTED): 3}, {"g/on_demand": 6}) for name in ("o", "o", "other", "other")]
    starts = [period.start_usd for period in bill(question, day).periods]
    # Three replicas of two GPUs for ten minutes at 2 USD, once into the other layout and once back.
    assert starts == [2, 0, 2, 0]
