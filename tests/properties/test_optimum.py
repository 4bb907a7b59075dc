"""The solver's optimum equals exhaustive enumeration, ties and boundaries included."""

from __future__ import annotations

import dataclasses
import random
from dataclasses import replace
from fractions import Fraction

import pytest
from enumeration import best_keys, plans
from more import seeds
from one_hour import broken, solve

from planner.schema.choice import ChoiceProblem, Coupling, Limits, Option, PoolDemand, Spares, Supply

PROBLEMS = 600


MOST_PLANS = 6000


def random_problem(rng: random.Random, both_ways: float = 0.0) -> ChoiceProblem:
    """The next problem that enumeration can finish quickly."""
    while True:
        problem = any_problem(rng, both_ways)
        if plans(problem) <= MOST_PLANS:
            return problem


def any_problem(rng: random.Random, both_ways: float = 0.0) -> ChoiceProblem:
    """Workloads of one serving mode, or with this probability of both."""
    purchase = rng.choice(["gpu", "unit", "option"])
    supplies = tuple(
        Supply(
            f"s{i}", f"g{rng.randint(0, 1)}", purchase, rng.choice([3, 4, 6, 8]), Fraction(rng.randint(2, 12))
        )
        for i in range(rng.randint(1, 3))
    )
    workloads = rng.choice([1, 1, 1, 2])
    formats = rng.choice([[None, None, "bf16", "fp8"], ["bf16", "fp8"]])
    options, demands, couplings = [], [], []
    for w in range(workloads):
        buckets = rng.choice([1, 1, 2, 3])
        needs = tuple(Fraction(rng.randint(1, 16), rng.choice([1, 2])) for _ in range(buckets))
        roles = ["serve"]
        if workloads == 1 and rng.random() < 0.15:
            roles = ["prefill", "decode"]
        if rng.random() < both_ways:
            roles = ["serve", "prefill", "decode"]
        if "decode" in roles:
            couplings.append(Coupling(f"w{w}", Fraction(rng.randint(4, 9))))
        for role in roles:
            for k in range(rng.randint(1, 3 if workloads == 1 and len(roles) == 1 else 2)):
                options.append(
                    random_option(
                        rng, f"w{w}-{role}-{k}", f"w{w}", role, rng.choice(supplies), buckets, formats
                    )
                )
            kind = rng.choice(["replicas", "replicas", "per_option"])
            demands.append(
                PoolDemand(
                    f"w{w}", role, needs, tuple(f"b{b}" for b in range(buckets)),
                    max_utilization=rng.choice([Fraction(1), Fraction(1), Fraction(9, 10)]),
                    min_replicas=rng.choice([1, 1, 1, 2, 3]),
                    spares=Spares(kind, rng.choice([0, 0, 1, 1, 2])), mix=rng.random() < 0.8,
                )
            )  # fmt: skip
    limits = Limits(
        {f"g{i}": rng.randint(4, 40) for i in range(2) if rng.random() < 0.4},
        Fraction(rng.randint(20, 200)) if rng.random() < 0.2 else None,
        rng.randint(8, 60) if rng.random() < 0.2 else None,
        rng.choice(["cost", "cost", "cost", "gpus", "power"]),
        Fraction(rng.randint(5, 60) * 100) if rng.random() < 0.1 else None,
        tuple(f"g{i}" for i in range(2) if rng.random() < 0.07),
    )
    return ChoiceProblem(tuple(options), supplies, tuple(demands), limits, tuple(couplings))


def random_option(rng, name, workload, role, supply, buckets, formats):
    gpus = rng.choice([1, 2, 3, 4, 5, 8, 9])
    rates = [Fraction(rng.randint(2, 8) if rng.random() < 0.85 else 0) for _ in range(buckets)]
    rates[rng.randrange(buckets)] = Fraction(rng.randint(2, 8))
    return Option(
        name, workload, role, supply.id, supply.gpu, gpus, tuple(rates),
        usd_per_h=Fraction(rng.randint(2, 9) * gpus, 2), power_w=Fraction(rng.randint(1, 4) * 100),
        ttft_s=Fraction(rng.randint(1, 5)), transfer_s=Fraction(rng.randint(0, 4)),
        kv=rng.choice(formats),
    )  # fmt: skip


def keys(problem, choice):
    cost, gpus = choice.cost_usd_per_h, sum(choice.gpus.values())
    return (choice.value, cost, gpus, len(choice.counts))


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(PROBLEMS))
def test_optimum_equals_enumeration(seed):
    agrees(random_problem(random.Random(seed)))


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(PROBLEMS // 2))
def test_the_best_way_of_serving_equals_enumeration(seed):
    agrees(random_problem(random.Random(seed), both_ways=0.7))


def agrees(problem):
    expected = best_keys(problem)
    choice = solve(problem)
    if expected is None:
        assert choice.status == "infeasible"
        return
    assert choice.status == "optimal"
    assert choice.exact
    assert keys(problem, choice) == expected
    assert choice.lower_bound == choice.value
    assert broken(problem, choice) == []


def single(rate, need, spares=0, **more):
    supply = Supply("s", "g", "gpu", 1, Fraction(3))
    option = Option("o", "w", "serve", "s", "g", 2, (Fraction(rate),))
    demand = PoolDemand("w", "serve", (Fraction(need),), spares=Spares("replicas", spares), **more)
    return ChoiceProblem((option,), (supply,), (demand,))


@pytest.mark.parametrize(
    ("rate", "need", "spares", "replicas"),
    [
        (11000, 55000, 0, 5),  # 50000 x 1.1 exactly five replicas: floats say six
        (11000, 55001, 0, 6),
        (Fraction("0.1"), Fraction("0.3"), 0, 3),
        (Fraction("0.1"), Fraction("0.3") + Fraction(1, 10**12), 0, 4),
        (11000, 55000, 2, 7),
        (7, 1, 1, 2),
    ],
)
def test_demand_at_the_boundary(rate, need, spares, replicas):
    choice = solve(single(rate, need, spares))
    assert choice.status == "optimal"
    assert choice.counts == {"o": replicas}


def test_a_spare_flips_the_winner():
    """One large replica wins without a spare; small ones win when one replica may be lost."""
    supply = Supply("s", "g", "gpu", 1, Fraction(1))
    large = Option("large", "w", "serve", "s", "g", 8, (Fraction(10),))
    small = Option("small", "w", "serve", "s", "g", 3, (Fraction(3),))
    problem = ChoiceProblem((large, small), (supply,), (PoolDemand("w", "serve", (Fraction(10),)),))
    assert solve(problem).counts == {"large": 1}
    spare = dataclasses.replace(problem.demands[0], spares=Spares("replicas", 1))
    choice = solve(dataclasses.replace(problem, demands=(spare,)))
    assert choice.counts == {"small": 5}
    assert choice.value == 15


def test_the_number_of_workers_does_not_change_the_answer():
    for seed in range(4):
        problem = random_problem(random.Random(seed))
        alone, several = (replace(solve(problem, workers=n), fleet=None) for n in (1, 4))
        assert alone == several


@pytest.mark.parametrize("seed", range(30))
def test_lost_servers_take_whatever_fits_into_them(seed):
    rng = random.Random(40_000 + seed)
    while True:
        problem = random_problem(rng)
        problem = dataclasses.replace(
            problem,
            supplies=tuple(
                dataclasses.replace(supply, purchase="unit", unit_gpus=rng.choice([4, 8]))
                for supply in problem.supplies
            ),
            demands=tuple(
                dataclasses.replace(demand, spares=Spares("servers", rng.choice([0, 1, 1, 2])))
                for demand in problem.demands
            ),
        )
        if plans(problem) <= 100:
            break
    agrees(problem)
