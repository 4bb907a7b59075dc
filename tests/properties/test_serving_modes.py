"""Both serving modes in one problem: as good as the best of all combinations, each solved alone."""

from __future__ import annotations

import dataclasses
import random
from fractions import Fraction

import pytest
from enumeration import combinations
from more import seeds
from one_hour import broken, solve

from planner.schema.choice import ChoiceProblem, Coupling, Limits, Option, PoolDemand, Spares, Supply

F = Fraction
PROBLEMS = 50


def shared_market(rng):
    """Two or three workloads, each with both ways, that compete for stock, GPUs and budget."""
    gpus = ["old", "new", "big"][: rng.choice([2, 3])]
    supplies = tuple(
        Supply(f"{gpu}-{i}", gpu, rng.choice(["gpu", "unit"]), 8, F(rng.randint(100, 900), 100))
        for gpu in gpus
        for i in range(rng.choice([1, 1, 2]))
    )
    formats = rng.choice([[None, "bf16", "fp8"], ["bf16", "fp8"], ["a", "b", "c"]])
    options, demands, couplings = [], [], []
    for w in range(rng.choice([2, 2, 3])):
        name, mix = f"w{w}", rng.random() < 0.8
        spares = Spares(rng.choice(["replicas", "per_option"]), rng.choice([0, 0, 1, 2]))
        buckets = rng.choice([1, 1, 2])
        need = tuple(F(rng.randint(20, 200), 10) for _ in range(buckets))
        for role in ("serve", "prefill", "decode"):
            demands.append(
                PoolDemand(
                    name, role, need, ("short", "long")[:buckets], min_replicas=rng.choice([1, 1, 2]),
                    spares=spares, mix=mix,
                )
            )  # fmt: skip
            for k in range(rng.randint(2, 6)):
                supply = rng.choice(supplies)
                size = rng.choice([1, 2, 4, 8])
                speed = size * (1.0 if role == "serve" else 2.0)
                options.append(
                    Option(
                        f"{name}-{role}-{k}", name, role, supply.id, supply.gpu, size,
                        tuple(F(round(speed * rng.uniform(0.3, 1.5) * 100), 100) for _ in need),
                        power_w=F(rng.randint(3, 9) * 100 * size),
                        ttft_s=F(rng.randint(1, 9), 10) if role == "prefill" else None,
                        transfer_s=F(rng.randint(0, 4), 10) if role != "serve" else None,
                        kv=rng.choice(formats) if role != "serve" else None,
                    )
                )  # fmt: skip
        couplings.append(Coupling(name, F(rng.randint(5, 12), 10)))
    limits = Limits(
        {gpu: rng.randint(8, 60) for gpu in gpus if rng.random() < 0.5},
        F(rng.randint(100, 600)) if rng.random() < 0.3 else None,
        rng.randint(30, 120) if rng.random() < 0.3 else None,
        rng.choice(["cost", "cost", "gpus", "power"]),
    )
    return ChoiceProblem(tuple(options), supplies, tuple(demands), limits, tuple(couplings))


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(PROBLEMS))
def test_one_problem_is_as_good_as_every_combination(seed):
    problem = shared_market(random.Random(seed))
    separate = []
    for modes, part in combinations(problem):
        choice = solve(part, goal="value")
        assert choice.status in ("optimal", "infeasible")
        if choice.status == "optimal":
            assert choice.modes == modes
            separate.append(choice.value)
    joint = solve(problem)
    if not separate:
        assert joint.status == "infeasible"
        return
    assert joint.status == "optimal"
    assert joint.value == joint.lower_bound == min(separate)
    assert broken(problem, joint) == []


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(PROBLEMS // 2))
def test_goals_agree(seed):
    problem = shared_market(random.Random(seed))
    plan, value, some = (solve(problem, goal=goal) for goal in ("plan", "value", "any"))
    assert plan.status == value.status
    if plan.status == "infeasible":
        assert some.status == "infeasible"
        assert some.in_the_way == value.in_the_way == plan.in_the_way
        return
    assert plan.value == value.value == value.lower_bound
    assert some.status in ("optimal", "feasible")
    assert some.lower_bound <= plan.value <= some.value
    assert broken(problem, some) == broken(problem, value) == []


def small(**serve):
    """Ten requests a second; the two modes cost 10 and 9 unless told otherwise."""
    supply = Supply("s", "g", "gpu", 1, F(1))
    options = (
        Option("serve", "w", "serve", "s", "g", serve.get("gpus", 10), (F(serve.get("rate", 10)),)),
        Option("prefill", "w", "prefill", "s", "g", 3, (F(10),)),
        Option("decode", "w", "decode", "s", "g", 6, (F(10),)),
    )
    demands = tuple(PoolDemand("w", role, (F(10),)) for role in ("serve", "prefill", "decode"))
    return ChoiceProblem(options, (supply,), demands)


def test_the_cheaper_way_is_taken_and_named():
    choice = solve(small())
    assert (choice.modes, choice.counts) == ({"w": "disaggregated"}, {"prefill": 1, "decode": 1})
    choice = solve(small(gpus=8))
    assert (choice.modes, choice.counts) == ({"w": "aggregated"}, {"serve": 1})
    assert {share.role for share in choice.shares} == {"serve"}


def test_a_way_with_an_empty_pool_is_no_way():
    problem = small()
    without = dataclasses.replace(problem, options=problem.options[:2])
    assert solve(without).modes == {"w": "aggregated"}
    assert solve(without).status == "optimal"


def test_only_what_no_way_serves_is_in_the_way():
    problem = small(rate=0)
    without = dataclasses.replace(problem, options=problem.options[:2])
    choice = solve(without)
    assert (choice.status, choice.in_the_way) == ("infeasible", ("unservable:w/all",))
