"""How long the solver takes to prune many options, and to answer one question again."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from one_hour import solve

from planner.schema.choice import ChoiceProblem, Coupling, Limits, Option, PoolDemand, Supply
from planner.solver.cp.dominance import pruned

GPUS = {
    "a": (1.0, 3.0),
    "b": (1.35, 3.7),
    "c": (0.45, 1.6),
    "d": (0.33, 0.9),
    "e": (2.2, 6.5),
    "f": (0.12, 0.4),
}
"""Speed and price of made-up GPUs; none is better than the rest in everything."""
MOST_PRUNE_S = 10.0
MOST_SOLVE_S = 0.1
"""Both with room for a busy machine: usual times are a third."""


def question(options, *, workloads=1, offers=30, purchase="unit", both_ways=False, limits=None):
    """Replicas of 1 to 8 GPUs with random efficiency, sold by many providers."""
    rng = random.Random(1)
    supplies = []
    for index in range(offers):
        gpu = rng.choice(sorted(GPUS))
        size = rng.choice([1, 2, 4, 8, 8])
        price = Fraction(round(GPUS[gpu][1] * rng.uniform(0.8, 1.5) * 10_000), 10_000)
        supplies.append(
            Supply(f"{gpu}-{index}", gpu, purchase, size, price * (size if purchase == "unit" else 1))
        )
    roles = ("serve", "prefill", "decode") if both_ways else ("serve",)
    made, demands = [], []
    for name in (f"w{index}" for index in range(workloads)):
        need = Fraction(rng.uniform(20, 200))
        for role in roles:
            demands.append(PoolDemand(name, role, (need,)))
            for index in range(options // len(roles)):
                supply, gpus = rng.choice(supplies), rng.choice([1, 2, 4, 8])
                rate = GPUS[supply.gpu][0] * gpus ** rng.uniform(0.85, 1.0) * rng.uniform(1.0, 2.4)
                made.append(
                    Option(
                        f"{name}/{role}/{index}", name, role, supply.id, supply.gpu, gpus,
                        (Fraction(rate if role == "serve" else 2 * rate),),
                        ttft_s=Fraction(rng.uniform(0.1, 1.0)) if role == "prefill" else None,
                        transfer_s=Fraction(rng.uniform(0.0, 0.1)) if role != "serve" else None,
                    )
                )  # fmt: skip
    couplings = tuple(Coupling(demand.workload, Fraction(1)) for demand in demands if demand.role == "decode")
    return ChoiceProblem(tuple(made), tuple(supplies), tuple(demands), limits or Limits(), couplings)


@pytest.mark.bench
@pytest.mark.parametrize("purchase", ["gpu", "unit"])
def test_prune_a_hundred_thousand_options(benchmark, purchase):
    problem = question(100_000, purchase=purchase)
    kept = benchmark.pedantic(pruned, args=(problem,), rounds=2)
    benchmark.extra_info["kept"] = len(kept)
    assert 0 < len(kept) < 1000
    if benchmark.stats is not None:  # absent where benchmarks are switched off
        assert benchmark.stats.stats.min <= MOST_PRUNE_S


@pytest.mark.bench
@pytest.mark.parametrize("goal", ["any", "value", "plan"])
@pytest.mark.parametrize("both_ways", [False, True])
def test_ask_again(benchmark, goal, both_ways):
    limits = Limits({"a": 40, "b": 24, "e": 8}, Fraction(900))
    problem = question(300, both_ways=both_ways, limits=limits)
    choice = benchmark(solve, problem, goal=goal)
    assert choice.status in ("optimal", "feasible")
    if benchmark.stats is not None and goal != "plan":
        assert benchmark.stats.stats.median <= MOST_SOLVE_S


@pytest.mark.bench
def test_four_workloads_that_compete(benchmark):
    limits = Limits({"a": 160, "b": 24, "e": 8}, Fraction(1900))
    problem = question(3000, workloads=4, limits=limits)
    choice = benchmark.pedantic(solve, args=(problem,), rounds=2)
    assert (choice.status, choice.ties_settled) == ("optimal", True)
