"""Hours planned by kinds of GPU, bought from several lines of one kind; and tables too long to lay out."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from planner.schema.choice import Option
from planner.schema.fleet import FleetDemand, FleetProblem, Host, Line, Site
from planner.solver.mip.finish import finish
from planner.solver.mip.hours import pool_frontier
from planner.solver.mip.hours.by_hours import by_hours
from planner.solver.mip.hours.work_frontier import WorkFrontier
from planner.solver.mip.prepared import prepare
from planner.solver.mip.run import Run
from planner.solver.mip.solve import solve_mip
from planner.solver.mip.state import State

F = Fraction


def fleet(rates, names=("a", "b")):
    """Workloads whose replicas of one GPU carry 1 request/s; a cheap line of five GPUs beside a dear one."""
    lines = (
        Line("spot", "g", "g", "spot", F(1), max_gpus=5, site=Site("p", "r", "", "spot")),
        Line("dear", "g", "g", "on_demand", F(3), site=Site("p", "r", "", "on_demand")),
    )
    demands = tuple(FleetDemand(name, "serve", tuple((F(rate),) for rate in rates)) for name in names)
    options = tuple(Option(f"o-{name}", name, "serve", "g", "g", 1, (F(1),)) for name in names)
    return FleetProblem(len(rates), options, (Host("g", "g"),), lines, demands)


@pytest.mark.parametrize(
    ("rates", "usd"),
    [([4], 5 + 3 * 3), ([4, 2, 1], 5 + 3 * 3 + 4 + 2), ([9, 3, 9], 2 * (5 + 13 * 3) + 5 + 3)],
)
def test_workloads_share_what_a_line_sells(rates, usd):
    problem = fleet(rates)
    prepared, run = prepare(problem), Run(None)
    run.enough = -1.0
    assert by_hours(State(prepared, 0), run, solve_mip)
    assert run.bound == pytest.approx(usd)
    assert finish(problem, prepared, run.blocks, run.units).value == usd


def test_a_workload_that_stays_keeps_the_cheap_line():
    """It needs five GPUs in all hours: none of its replicas moves when those of another one come."""
    problem = fleet([5, 5, 5], names=("stays", "comes"))
    comes = replace(problem.demands[1], demand_rps=((F(1),), (F(4),), (F(1),)))
    problem = replace(problem, demands=(problem.demands[0], comes))
    prepared, run = prepare(problem), Run(None)
    run.enough = -1.0
    by_hours(State(prepared, 0), run, solve_mip)
    done = finish(problem, prepared, run.blocks, run.units)
    assert done.value == 3 * 5 + (1 + 4 + 1) * 3
    assert [hour.counts for hour in done.periods] == [
        {("o-stays", problem.lines[0].site): 5, ("o-comes", problem.lines[1].site): rate}
        for rate in (1, 4, 1)
    ]


def test_long_tables_lose_no_plan(monkeypatch):
    """Whatever carries the demand has a point that is nowhere above it, also where units are taken as one."""
    rng = np.random.default_rng(7)
    gpus = ("g", "h", "i")
    options = tuple(
        Option(f"{gpu}{size}", "w", "serve", gpu, gpu, size, (F(int(rate), 100),))
        for gpu in gpus
        for size, rate in zip((1, 2, 3), np.sort(rng.integers(60, 400, 3)), strict=True)
    )
    lines = tuple(Line(gpu, gpu, gpu, "on_demand", F(1)) for gpu in gpus)
    demand = FleetDemand("w", "serve", ((F(60),),))
    problem = FleetProblem(1, options, tuple(Host(gpu, gpu) for gpu in gpus), lines, (demand,))
    kinds = tuple((gpu, "") for gpu in gpus)
    monkeypatch.setattr(pool_frontier, "MANY", 60)
    points = WorkFrontier(prepare(problem).works[0], kinds, {}, 1).at(0)
    best = {gpu: carried([one for one in options if one.gpu == gpu], 400) for gpu in gpus}
    for first, second in itertools.product(range(0, 60, 7), range(0, 60, 3)):
        rest = 60 - best["g"][first] - best["h"][second]
        third = int(np.searchsorted(best["i"], rest)) if rest > 0 else 0
        assert (points <= [first, second, third]).all(axis=1).any()


def carried(options, most):
    """[GPUs]: the most that so many carry."""
    found = np.zeros(most)
    for gpus in range(1, most):
        more = [found[gpus - one.gpus] + float(one.rates_rps[0]) for one in options if one.gpus <= gpus]
        found[gpus] = max(found[gpus - 1], *more)
    return found
