"""Break-even prices and speeds equal enumeration of every plan."""

from __future__ import annotations

import dataclasses
import random
from fractions import Fraction

import pytest
from enumeration import every_plan, purchase
from more import seeds
from one_hour import one_period
from test_optimum import random_problem

from planner.explain import break_even as asked
from planner.explain.threshold import Threshold
from planner.schema.choice import ChoiceProblem, Limits, Option, PoolDemand, Supply

F = Fraction
PROBLEMS = 150
STEP = F(201, 200)
END = F(1024)


def break_even(problem, gpu):
    """Of the question of one hour as a fleet of one period."""
    return asked.break_even(one_period(problem), gpu)


def with_limits(problem, **changes):
    return dataclasses.replace(problem, limits=dataclasses.replace(problem.limits, **changes))


def own_cost(problem, plan, gpu):
    """Cost of the GPUs of one type alone."""
    counts = {o.id: plan.counts.get(o.id, 0) if o.gpu == gpu else 0 for o in problem.options}
    return purchase(problem, counts)[0]


def is_used(problem, plan, gpu):
    return any(o.gpu == gpu and o.id in plan.counts for o in problem.options)


def per_gpu(problem, gpu):
    supplies = {supply.id: supply for supply in problem.supplies}
    for option in problem.options:
        supply = supplies[option.supply]
        if option.gpu != gpu:
            continue
        if supply.purchase == "option":
            yield option.usd_per_h / option.gpus
        else:
            yield supply.usd_per_unit_h / (supply.unit_gpus if supply.purchase == "unit" else 1)


def price_by_enumeration(problem, gpu):
    plans = list(every_plan(with_limits(problem, budget_usd_per_h=None)))
    without = [plan.cost for plan in plans if not is_used(problem, plan, gpu)]
    budget = problem.limits.budget_usd_per_h
    worth = min([*without, *([] if budget is None else [budget])], default=None)
    using = [(plan.cost, own_cost(problem, plan, gpu)) for plan in plans if is_used(problem, plan, gpu)]
    if worth is None:
        return Threshold("always")
    ratios = [(worth - (cost - own)) / own for cost, own in using]
    if not ratios or max(ratios) < 0:
        return Threshold("never")
    return Threshold("at", max(ratios) * min(per_gpu(problem, gpu)))


def pays(problem, gpu, factor):
    """Some plan uses the faster GPU and is as good as the best without it."""
    options = tuple(
        dataclasses.replace(o, rates_rps=tuple(rate * factor for rate in o.rates_rps)) if o.gpu == gpu else o
        for o in problem.options
    )
    faster = dataclasses.replace(problem, options=options)
    values = {True: [], False: []}
    for plan in every_plan(faster):
        values[is_used(problem, plan, gpu)].append(plan.key(problem.limits.objective)[0])
    return bool(values[True]) and (not values[False] or min(values[True]) <= min(values[False]))


def gpus_of(problem):
    return sorted({option.gpu for option in problem.options})


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(PROBLEMS))
def test_price_equals_enumeration(seed):
    problem = with_limits(random_problem(random.Random(seed), both_ways=0.2), objective="cost", must_use=())
    for gpu in gpus_of(problem):
        found = break_even(problem, gpu)
        assert found.usd_per_gpu_h == min(per_gpu(problem, gpu))
        assert found.price == price_by_enumeration(problem, gpu)


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(PROBLEMS // 3))
def test_speed_equals_enumeration(seed):
    problem = with_limits(random_problem(random.Random(seed)), must_use=())
    gpu = gpus_of(problem)[-1]
    speed = break_even(problem, gpu).speed
    if speed.verdict == "at":
        assert pays(problem, gpu, speed.value)
        assert not pays(problem, gpu, speed.value / STEP)
    else:
        assert pays(problem, gpu, END) == (speed.verdict == "always")
        # The other end tells the two verdicts apart, but a slow GPU has too many plans to enumerate.
        if speed.verdict == "always":
            assert pays(problem, gpu, F(1, 4))


def two_gpus(**limits):
    """Ten requests a second: four of the old GPU (3/s, 2 USD) or three of the new one (4/s, 3 USD)."""
    supplies = (Supply("old", "old", "gpu", 1, F(2)), Supply("new", "new", "gpu", 1, F(3)))
    options = (
        Option("old", "w", "serve", "old", "old", 1, (F(3),)),
        Option("new", "w", "serve", "new", "new", 1, (F(4),)),
    )
    return ChoiceProblem(options, supplies, (PoolDemand("w", "serve", (F(10),)),), Limits(**limits))


def test_by_hand():
    """Four old GPUs cost 8. One new and two old (4 + 6 = 10 requests) break even at p + 4 = 8; two new and
    one old at 2 p + 2, three new at 3 p: less. Two new and one old cost 8 today and carry 10 once the new
    one carries 3.5."""
    found = break_even(two_gpus(), "new")
    assert (found.usd_per_gpu_h, found.price) == (F(3), Threshold("at", F(4)))
    assert found.speed.verdict == "at"
    assert F(7, 8) <= found.speed.value <= F(7, 8) * STEP


def test_nothing_else_serves():
    found = break_even(two_gpus(stock_gpus={"old": 2}), "new")
    assert found.price == Threshold("always")
    found = break_even(two_gpus(stock_gpus={"old": 2}, budget_usd_per_h=F(20)), "new")
    assert found.price == Threshold("at", F(16))  # 20 less two old ones buys one new GPU


def test_a_gpu_that_cannot_be_bought_never_pays():
    found = break_even(two_gpus(stock_gpus={"new": 0}), "new")
    assert (found.price, found.speed) == (Threshold("never"), Threshold("never"))


def test_free_gpus_are_told_by_one_price():
    problem = two_gpus()
    supplies = (problem.supplies[0], dataclasses.replace(problem.supplies[1], usd_per_unit_h=F(0)))
    found = break_even(dataclasses.replace(problem, supplies=supplies), "new")
    assert (found.usd_per_gpu_h, found.price) == (F(0), Threshold("at", F(4)))


def test_a_speed_beyond_any_range_is_found():
    """A GPU that carries 1/5000 of the demand wins once one replica carries all of it: 3 USD against 8."""
    problem = two_gpus()
    slow = dataclasses.replace(problem.options[1], rates_rps=(F(1, 500),))
    found = break_even(dataclasses.replace(problem, options=(problem.options[0], slow)), "new")
    assert found.speed.verdict == "at"
    assert 1024 < found.speed.value <= 5000
    assert pays(dataclasses.replace(problem, options=(problem.options[0], slow)), "new", found.speed.value)


@pytest.mark.parametrize("seed", range(PROBLEMS // 6))
def test_no_speed_pays_where_none_is_said_to(seed):
    """A factor with which one replica carries a million times the demand is as good as any."""
    rng = random.Random(seed)
    problem = with_limits(random_problem(rng), must_use=())
    gpu = gpus_of(problem)[rng.randrange(len(gpus_of(problem)))]
    slower = tuple(
        dataclasses.replace(o, rates_rps=tuple(rate / 10**4 for rate in o.rates_rps)) if o.gpu == gpu else o
        for o in problem.options
    )
    problem = dataclasses.replace(problem, options=slower)
    speed = break_even(problem, gpu).speed
    assert (speed.verdict == "never") == (not pays(problem, gpu, F(10**12)))


def test_price_decides_nothing_where_cost_is_not_minimized():
    assert break_even(two_gpus(objective="gpus"), "new").price is None


def test_no_option_no_answer():
    assert break_even(two_gpus(), "other") is None
