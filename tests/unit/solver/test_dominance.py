"""Pruning: the options left are those that no other replaces, pair by pair."""

from __future__ import annotations

import dataclasses
import random
from fractions import Fraction

import pytest

from planner.schema.choice import ChoiceProblem, Coupling, Limits, Option, PoolDemand, Supply
from planner.solver.cp import dominance, replacement
from planner.solver.cp.dominance import pruned
from planner.solver.cp.latency_classes import by_partners

F = Fraction


def random_pool(seed, purchase, counted):
    """Thirty prefill and thirty decode options with many ties, of one server offer or of several markets."""
    rng = random.Random(seed)
    supplies = tuple(
        Supply(f"s{i}", f"g{i}", purchase, 8, F(rng.randint(1, 4)))
        for i in range(1 if purchase == "unit" else 3)
    )
    buckets = rng.choice([1, 2, 3])
    options = []
    for k in range(60):
        supply, size = rng.choice(supplies), rng.choice([1, 2, 3, 4, 8, 16])
        rates = tuple(F(rng.choice([0, 1, 2, 3, 4, 6]) * size, rng.choice([1, 3])) for _ in range(buckets))
        waits = rng.random() < 0.3
        first = rng.choice([1, 1, 2, 4]) if counted else 1
        options.append(
            Option(
                f"o{k:02}", "w", rng.choice(["prefill", "decode"]), supply.id, supply.gpu, size, rates,
                usd_per_h=F(rng.randint(0, 4) * size), power_w=F(rng.randint(1, 3) * size),
                ttft_s=F(rng.randint(1, 3)) if waits else None,
                transfer_s=F(rng.randint(1, 3)) if waits else None,
                kv=rng.choice([None, None, "bf16", "fp8"]),
                replicas_from=first,
                replicas_to=first + rng.randint(0, 4) if counted and rng.random() < 0.5 else None,
                slack=rng.choice([0.0, 0.5]),
            )
        )  # fmt: skip
    limits = Limits(
        {"g1": 9} if rng.random() < 0.3 else {},
        max_gpus=rng.choice([None, None, 100]),
        objective=rng.choice(["cost", "cost", "gpus", "power"]),
        must_use=("g0",) if rng.random() < 0.2 else (),
    )
    names = tuple(f"b{b}" for b in range(buckets))
    demands = tuple(PoolDemand("w", role, (F(7),) * buckets, names) for role in ("prefill", "decode"))
    coupling = Coupling("w", rng.choice([None, F(3), F(4), F(5)]))
    return ChoiceProblem(tuple(options), supplies, demands, limits, (coupling,))


def left_by_pairs(problem):
    judge = replacement.Judge(problem, ())
    able = (o for o in by_partners(problem) if any(rate > 0 for rate in o.rates_rps))
    useful = sorted(able, key=lambda o: (-o.slack, o.id))
    kept = []
    for place, option in enumerate(useful):
        beaten = any(
            judge.replaces(other, option) and (rank < place or not judge.replaces(option, other))
            for rank, other in enumerate(useful)
            if rank != place and other.role == option.role
        )
        if not beaten:
            kept.append(option.id)
    return sorted(kept)


def partners(problem, option):
    """Ids of the options on the other side that it may be used with."""
    (coupling,) = problem.couplings
    found = set()
    for other in problem.options:
        if other.role == option.role:
            continue
        p, d = (option, other) if option.role == "prefill" else (other, option)
        wait = (p.ttft_s or 0) + max(p.transfer_s or 0, d.transfer_s or 0)
        late = coupling.ttft_limit_s is not None and p.ttft_s is not None and wait > coupling.ttft_limit_s
        if not late and (p.kv is None or d.kv is None or p.kv == d.kv):
            found.add(other.id)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_waits_compare_as_partners_do(seed):
    """Whoever waits no more, and only who does, fits all partners of the other."""
    problem = random_pool(seed, "gpu", counted=False)
    # KV formats are compared by name: those without one fit everybody.
    problem = dataclasses.replace(
        problem, options=tuple(dataclasses.replace(option, kv=None) for option in problem.options)
    )
    mine = {option.id: partners(problem, option) for option in problem.options}
    left = list(by_partners(problem))
    assert {option.id for option in left} >= {name for name, fits in mine.items() if fits}
    for k in left:
        for l in left:  # noqa: E741
            if k.role == l.role and mine[k.id] and mine[l.id]:
                assert replacement._waits_no_more(k, l) == (mine[k.id] >= mine[l.id])


@pytest.mark.parametrize("block", [7, 256])
@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("purchase", ["gpu", "unit", "option"])
@pytest.mark.parametrize("seed", range(20))
def test_what_is_left_equals_all_pairs(seed, purchase, counted, block, monkeypatch):
    monkeypatch.setattr(dominance, "_BLOCK", block)
    problem = random_pool(seed, purchase, counted)
    assert [option.id for option in pruned(problem)] == left_by_pairs(problem)


def pair(**limits):
    """A replica of the new GPU does what the old one does, for less."""
    supplies = (Supply("new", "new", "gpu", 1, F(1)), Supply("old", "old", "gpu", 1, F(2)))
    options = tuple(Option(name, "w", "serve", name, name, 1, (F(5),)) for name in ("new", "old"))
    return ChoiceProblem(options, supplies, (PoolDemand("w", "serve", (F(20),)),), Limits(**limits))


@pytest.mark.parametrize(
    ("limits", "kept"),
    [({}, ["new"]), ({"stock_gpus": {"new": 3}}, ["new", "old"]), ({"must_use": ("old",)}, ["new", "old"])],
)
def test_limits_on_a_type_keep_it_apart(limits, kept):
    assert [option.id for option in pruned(pair(**limits))] == kept


def test_kinds_are_pruned_apart():
    problem = pair()
    worse = dataclasses.replace(problem.options[1], id="worse", rates_rps=(F(4),))
    problem = dataclasses.replace(problem, options=(*problem.options, worse))
    assert [option.id for option in pruned(problem, kind=lambda option: option.gpu)] == ["new", "old"]


def test_power_counts_where_it_is_an_axis():
    problem = pair()
    hot, cool = (dataclasses.replace(o, power_w=F(w)) for o, w in zip(problem.options, (9, 1), strict=True))
    problem = dataclasses.replace(problem, options=(hot, cool))
    assert [option.id for option in pruned(problem)] == ["new"]
    assert [option.id for option in pruned(problem, axes=("power",))] == ["new", "old"]
    capped = dataclasses.replace(problem, limits=Limits(power_w=F(20)))
    assert [option.id for option in pruned(capped)] == ["new", "old"]


def test_a_pool_without_demand_keeps_its_options():
    problem = pair()
    idle = dataclasses.replace(problem, demands=(PoolDemand("w", "serve", (F(0),)),))
    assert [option.id for option in pruned(idle)] == ["new"]
