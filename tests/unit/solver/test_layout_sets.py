"""Few layouts of a workload, ranked by what they cost at prices for every hour: against every count."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from test_limited_days import served_by_turns

from planner.constraints.plan.day_usage import layout
from planner.schema.choice import Option
from planner.schema.fleet import FleetDemand, FleetProblem, Host, Line, Site
from planner.solver.mip.hourly_bound import untied
from planner.solver.mip.hours.frontiers import Frontiers
from planner.solver.mip.hours.layout_sets import costs_at, layout_sets
from planner.solver.mip.prepared import prepare

F = Fraction
AT = Site("p", "r")


def ranked(problem, usd, most, top=12):
    """Sets as ids of options, at prices by hour and GPU."""
    fronts = Frontiers(prepare(untied(problem), dominance=False))
    prices = np.array([[usd[t][gpu] for gpu, _ in fronts.kinds] for t in range(problem.periods)], dtype=float)
    names = {layout(option): option.id for option in problem.options}
    work, costs = fronts.prepared.works[0], costs_at(fronts, 0, prices, most)
    return [frozenset(names[one] for one in few) for few in layout_sets(work, costs, most, top)]


def whole_replicas(r):
    """Three layouts on two kinds of GPU over five hours."""
    options = tuple(
        Option(f"o{n}", "chat", "serve", gpu, gpu, r.choice([1, 2]), (F(r.randint(2, 7)),))
        for n, gpu in enumerate(("g", "g", "h"))
    )
    lines = tuple(Line(f"{gpu}/on_demand", gpu, gpu, "on_demand", F(1), site=AT) for gpu in "gh")
    hours = tuple((F(r.randint(0, 20)),) for _ in range(5))
    return FleetProblem(
        5, options, (Host("g", "g"), Host("h", "h")), lines, (FleetDemand("chat", "serve", hours),)
    )


def cost_usd(problem, usd, few):
    """Of the cheapest counts of these layouts, every one of them tried."""
    options = [option for option in problem.options if option.id in few]
    total = 0.0
    for t, (need,) in enumerate(problem.demands[0].demand_rps):
        counts = itertools.product(range(12), repeat=len(options))
        total += min(
            sum(n * option.gpus * usd[t][option.gpu] for n, option in zip(mine, options, strict=True))
            for mine in counts
            if sum(n * option.rates_rps[0] for n, option in zip(mine, options, strict=True)) >= need
        )
    return total


@pytest.mark.parametrize("seed", range(20))
def test_sets_are_ranked_by_what_they_cost(seed):
    r = random.Random(seed)
    problem = whole_replicas(r)
    usd = [{gpu: r.randint(1, 9) for gpu in "gh"} for _ in range(5)]
    names = [option.id for option in problem.options]
    every = [frozenset(few) for size in (1, 2) for few in itertools.combinations(names, size)]
    found = ranked(problem, usd, 2)
    assert set(found) == set(every)
    costs = [cost_usd(problem, usd, few) for few in found]
    assert costs == pytest.approx(sorted(costs))
    assert {len(few) for few in ranked(problem, usd, 1)} == {1}


def test_prefill_and_decode_count_once_and_fit_each_other():
    """Whole replicas beside prefill and decode of the same KV format come first: 16 USD instead of 24."""
    problem = served_by_turns()
    usd = [{"g": 1.0}] * problem.periods
    assert ranked(problem, usd, 2)[0] == {"whole", "prefill", "decode"}
    assert ranked(problem, usd, 1)[0] == {"prefill", "decode"}
    assert not any({"prefill", "other"} <= few for few in ranked(problem, usd, 2))
