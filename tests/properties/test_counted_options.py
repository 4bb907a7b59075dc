"""Options whose rates hold for some numbers of replicas only: the optimum equals exhaustive enumeration."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from fractions import Fraction

import pytest
from enumeration import most, pool_fine, pool_rows, purchase
from more import seeds
from one_hour import broken, solve

from planner.schema.choice import ChoiceProblem, Limits, Option, PoolDemand, Spares, Supply

PROBLEMS = 250
MOST_PLANS, MOST_REPLICAS = 1500, 14


def tables(rng, supply, name, buckets, falling, workload="w"):
    """One kind of replica as a table over the number of replicas: consecutive ranges, rates fall or rise."""
    starts = sorted({1, *(rng.randint(2, 7) for _ in range(rng.randint(0, 2)))})
    gpus, rate = rng.choice([1, 2, 3, 4]), rng.randint(2, 9)
    power, usd = Fraction(rng.randint(1, 4) * 100), Fraction(rng.randint(2, 9) * gpus, 2)
    for place, start in enumerate(starts):
        factor = Fraction(len(starts) - place if falling else place + 1, rng.choice([2, 3]))
        rates = tuple(max(rate * factor - b, Fraction(1, 2)) for b in range(buckets))
        yield Option(
            f"{name}-{start}", workload, "serve", supply.id, supply.gpu, gpus, rates,
            usd_per_h=usd, power_w=power,
            replicas_from=start, replicas_to=starts[place + 1] - 1 if place + 1 < len(starts) else None,
        )  # fmt: skip


def any_problem(rng):
    purchase_ = rng.choice(["gpu", "unit", "option"])
    supplies = [
        Supply(f"s{i}", f"g{i}", purchase_, rng.choice([4, 6, 8]), Fraction(rng.randint(2, 12)))
        for i in range(rng.randint(1, 2))
    ]
    options, demands = [], []
    for workload in ("v", "w")[: rng.choice([1, 1, 2])]:
        buckets = rng.choice([1, 1, 1, 2])
        for k in range(rng.randint(1, 2)):
            name = f"{workload}{k}"
            options += tables(rng, rng.choice(supplies), name, buckets, rng.random() < 0.6, workload)
        if rng.random() < 0.4:
            plain = next(tables(rng, rng.choice(supplies), f"{workload}-plain", buckets, False, workload))
            options.append(dataclasses.replace(plain, replicas_from=1, replicas_to=None))
        demands.append(
            PoolDemand(
                workload, "serve", tuple(Fraction(rng.randint(1, 30), 2) for _ in range(buckets)),
                tuple(f"b{b}" for b in range(buckets)), min_replicas=rng.choice([1, 1, 2]),
                spares=Spares(rng.choice(["replicas", "per_option"]), rng.choice([0, 0, 1])),
                mix=rng.random() < 0.8,
            )
        )  # fmt: skip
    limits = Limits(
        {"g0": rng.randint(4, 30)} if rng.random() < 0.2 else {},
        budget_usd_per_h=Fraction(rng.randint(20, 150)) if rng.random() < 0.2 else None,
        max_gpus=rng.randint(6, 40) if rng.random() < 0.2 else None,
        objective=rng.choice(["cost", "cost", "gpus", "power"]),
    )
    return ChoiceProblem(tuple(options), tuple(supplies), tuple(demands), limits)


def mine(problem, demand):
    return [option for option in problem.options if option.pool == demand.pool]


def tops(demand, options):
    """More replicas than this never help, but for reaching the number from which some rate holds."""
    reached = max(option.replicas_from for option in options)
    return [max(top, reached) + 1 for top in most(demand, options)]


def random_problem(rng):
    while True:
        problem = any_problem(rng)
        counts = [top for demand in problem.demands for top in tops(demand, mine(problem, demand))]
        if math.prod(top + 1 for top in counts) <= MOST_PLANS and max(counts) <= MOST_REPLICAS:
            return problem


def fine_rows(problem, demand):
    """Counts that carry one workload, each option within the numbers for which it holds."""
    options = mine(problem, demand)
    decisive = pool_rows(demand, options)
    for row in itertools.product(*(range(top + 1) for top in tops(demand, options))):
        total = sum(row)
        holds = all(
            total >= o.replicas_from and (o.replicas_to is None or total <= o.replicas_to)
            for o, n in zip(options, row, strict=True)
            if n
        )
        if holds and pool_fine(demand, decisive, row):
            yield {option.id: n for option, n in zip(options, row, strict=True)}


def best_value(problem):
    limits, best = problem.limits, None
    for parts in itertools.product(*(list(fine_rows(problem, demand)) for demand in problem.demands)):
        counts = {name: n for part in parts for name, n in part.items()}
        cost, gpus = purchase(problem, counts)
        if limits.max_gpus is not None and sum(gpus.values()) > limits.max_gpus:
            continue
        if limits.budget_usd_per_h is not None and cost > limits.budget_usd_per_h:
            continue
        if any(gpus.get(gpu, 0) > stock for gpu, stock in limits.stock_gpus.items()):
            continue
        power = sum(option.power_w * counts[option.id] for option in problem.options)
        value = {"cost": cost, "gpus": Fraction(sum(gpus.values())), "power": power}[limits.objective]
        best = value if best is None else min(best, value)
    return best


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(PROBLEMS))
def test_optimum_equals_enumeration(seed):
    problem = random_problem(random.Random(seed))
    expected = best_value(problem)
    choice = solve(problem)
    if expected is None:
        assert choice.status == "infeasible"
        return
    assert choice.status == "optimal"
    assert choice.value == choice.lower_bound == expected
    assert broken(problem, choice) == []


def test_the_smallest_number_that_carries_the_demand_at_its_own_rate():
    """Round-robin by hand: rates 10, 7, 6, 5 for 1, 2, 3 and more replicas; 16 needs three of six."""
    supply = Supply("s", "g", "gpu", 1, Fraction(3))
    table = {(1, 1): 10, (2, 2): 7, (3, 3): 6, (4, None): 5}
    options = tuple(
        Option(f"o{a}", "w", "serve", "s", "g", 1, (Fraction(rate),), replicas_from=a, replicas_to=b)
        for (a, b), rate in table.items()
    )
    for need, counts in ((10, {"o1": 1}), (14, {"o2": 2}), (16, {"o3": 3}), (19, {"o4": 4})):
        choice = solve(ChoiceProblem(options, (supply,), (PoolDemand("w", "serve", (Fraction(need),)),)))
        assert choice.counts == counts


def test_replicas_are_added_until_a_better_rate_holds():
    """One replica alone carries 1, two or more carry 10 each: five needs two."""
    supply = Supply("s", "g", "gpu", 1, Fraction(3))
    cold = Option("cold", "w", "serve", "s", "g", 1, (Fraction(1),), replicas_to=1)
    warm = Option("warm", "w", "serve", "s", "g", 1, (Fraction(10),), replicas_from=2)
    for mix in (True, False):
        demand = PoolDemand("w", "serve", (Fraction(5),), mix=mix)
        assert solve(ChoiceProblem((cold, warm), (supply,), (demand,))).counts == {"warm": 2}


def test_the_check_finds_rates_that_do_not_hold():
    supply = Supply("s", "g", "gpu", 1, Fraction(3))
    alone = Option("alone", "w", "serve", "s", "g", 1, (Fraction(10),), replicas_to=1)
    problem = ChoiceProblem((alone,), (supply,), (PoolDemand("w", "serve", (Fraction(5),)),))
    choice = solve(problem)
    (period,) = choice.fleet.periods
    two = dataclasses.replace(period, counts=dict.fromkeys(period.counts, 2), bought={"g/on_demand": 2})
    fleet = dataclasses.replace(choice.fleet, periods=(two,))
    assert broken(problem, choice) == []
    faults = broken(problem, dataclasses.replace(choice, fleet=fleet))
    assert any("the rates of alone hold for other numbers" in fault for fault in faults)
