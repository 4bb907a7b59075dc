"""Each row of a plan of one hour: kept by a plan that fits, broken by one that does not."""

from __future__ import annotations

import dataclasses
from collections import Counter
from fractions import Fraction

import pytest
from one_hour import one_period, solve

from planner.constraints import fleet_check
from planner.constraints.packing import fits
from planner.schema.choice import (
    ChoiceProblem,
    Coupling,
    Limits,
    Option,
    PoolDemand,
    Share,
    Spares,
    Supply,
)
from planner.schema.fleet import FleetChoice, PeriodChoice, Site

F = Fraction
SUPPLIES = (Supply("g", "g", "gpu", 1, F(2)), Supply("node", "h", "unit", 8, F(12)))
OPTIONS = (
    Option("a", "w", "serve", "g", "g", 2, (F(5),)),
    Option("b", "w", "serve", "node", "h", 3, (F(4),)),
)
BASE = ChoiceProblem(OPTIONS, SUPPLIES, (PoolDemand("w", "serve", (F(10),)),))


def plan(problem, counts, units=None, shares=None):
    options = {option.id: option for option in problem.options}
    if shares is None:
        capacity = {o.id: counts.get(o.id, 0) * o.rates_rps[0] for o in problem.options}
        shares = [(name, F(value, 1) / sum(capacity.values())) for name, value in capacity.items() if value]
    lines = tuple(Share("w", options[name].role, "all", name, share) for name, share in shares)
    return stated(problem, counts, units or {}, lines)


def stated(problem, counts, units, shares):
    """The plan with its bill; single GPUs are bought as replicas take them, servers as ``units`` says."""
    question = one_period(problem)
    gpus = Counter()
    for option in question.options:
        gpus[option.supply] += option.gpus * counts.get(option.id, 0)
    bought = {
        line.id: units.get(line.host, 0) * line.unit_gpus if line.unit_gpus > 1 else gpus[line.host]
        for line in question.lines
    }
    period = PeriodChoice({(name, Site()): n for name, n in counts.items()}, bought, shares)
    paid = fleet_check.bill(question, (period,))
    return FleetChoice("feasible", (period,), paid.usd, paid.value(question.limits.objective))


def broken(problem, choice):
    return [fault.removeprefix("period 0: ") for fault in fleet_check.broken(one_period(problem), choice)]


def demand(**more):
    return dataclasses.replace(BASE, demands=(dataclasses.replace(BASE.demands[0], **more),))


def limits(**more):
    return dataclasses.replace(BASE, limits=Limits(**more))


CASES = [
    ("cover", BASE, {"a": 2}, {}, {"a": 1}, {}),
    ("cover", demand(max_utilization=F(9, 10)), {"a": 3}, {}, {"a": 2}, {}),
    ("min_replicas", demand(min_replicas=3), {"a": 3}, {}, {"a": 2}, {}),
    ("mix", demand(mix=False), {"a": 2}, {}, {"a": 2, "b": 1}, {"node": 1}),
    ("redundancy", demand(spares=Spares("replicas", 1)), {"a": 3}, {}, {"a": 2}, {}),
    (
        "redundancy",
        demand(spares=Spares("per_option", 1)),
        {"a": 2, "b": 3},
        {"node": 2},
        {"a": 1, "b": 3},
        {"node": 2},
    ),
    ("packing", BASE, {"b": 4}, {"node": 2}, {"b": 5}, {"node": 2}),
    ("stock", limits(stock_gpus={"g": 4}), {"a": 2}, {}, {"a": 3}, {}),
    ("stock", limits(stock_gpus={"h": 15}), {"a": 2}, {}, {"b": 3}, {"node": 2}),
    ("budget", limits(budget_usd_per_h=F(8)), {"a": 2}, {}, {"b": 3}, {"node": 2}),
    ("max-gpus", limits(max_gpus=4), {"a": 2}, {}, {"b": 3}, {"node": 2}),
]


@pytest.mark.parametrize(("name", "problem", "good", "good_units", "bad", "bad_units"), CASES)
def test_feasible_when_and_infeasible_when(name, problem, good, good_units, bad, bad_units):
    assert broken(problem, plan(problem, good, good_units)) == []
    faults = broken(problem, plan(problem, bad, bad_units))
    assert any(fault.startswith(name) for fault in faults), faults


def pinned(problem, counts):
    """The same problem, in which exactly these replicas may be bought: rates of others vanish."""
    options = tuple(option for option in problem.options if counts.get(option.id))
    return dataclasses.replace(problem, options=options)


@pytest.mark.parametrize(("name", "problem", "good", "good_units", "bad", "bad_units"), CASES)
def test_the_solver_never_returns_more_than_the_plan_that_fits(
    name, problem, good, good_units, bad, bad_units
):
    choice = solve(problem)
    assert choice.status == "optimal"
    assert choice.cost_usd_per_h <= plan(problem, good, good_units).cost_usd
    assert broken(problem, choice.fleet) == []
    assert solve(pinned(problem, good)).status == "optimal"


def test_shares_must_sum_to_one_and_be_servable():
    assert any("served to" in fault for fault in broken(BASE, plan(BASE, {"a": 3}, shares=[("a", F(1, 2))])))
    assert any(
        "cannot serve" in fault
        for fault in broken(BASE, plan(BASE, {"a": 2}, shares=[("a", F(1, 2)), ("b", F(1, 2))]))
    )


def test_a_wrong_bill_is_noticed():
    wrong = dataclasses.replace(plan(BASE, {"a": 2}), cost_usd=F(1))
    assert any(fault.startswith("bill") for fault in broken(BASE, wrong))


def coupled(limit):
    supply = Supply("s", "g", "gpu", 1, F(1))
    options = (
        Option("p-slow", "w", "prefill", "s", "g", 1, (F(1),), ttft_s=F(2), transfer_s=F(1), kv="bf16"),
        Option("p-fast", "w", "prefill", "s", "g", 3, (F(1),), ttft_s=F(1), transfer_s=F(1), kv="fp8"),
        Option("d-near", "w", "decode", "s", "g", 4, (F(1),), transfer_s=F(1), kv="bf16"),
        Option("d-far", "w", "decode", "s", "g", 1, (F(1),), transfer_s=F(3), kv="fp8"),
    )
    demands = tuple(PoolDemand("w", role, (F(1),)) for role in ("prefill", "decode"))
    return ChoiceProblem(options, (supply,), demands, Limits(), (Coupling("w", limit),))


@pytest.mark.parametrize(
    ("limit", "counts"),
    [
        (F(4), {"p-fast": 1, "d-far": 1}),  # 1 + 3 <= 4, fp8 on both sides: 4 GPUs
        (F(3), {"p-slow": 1, "d-near": 1}),  # 2 + 1 <= 3, bf16 on both sides: 5 GPUs
        (None, {"p-fast": 1, "d-far": 1}),
    ],
)
def test_prefill_and_decode_fit_pair_by_pair(limit, counts):
    problem = coupled(limit)
    choice = solve(problem)
    assert choice.counts == counts
    assert broken(problem, choice.fleet) == []


def test_pairs_that_do_not_fit_are_named():
    assert solve(coupled(F(2))).status == "infeasible"
    problem = coupled(F(3))
    counts = {"p-fast": 1, "d-far": 1}
    shares = (Share("w", "prefill", "all", "p-fast", F(1)), Share("w", "decode", "all", "d-far", F(1)))
    wrong = stated(problem, counts, {}, shares)
    assert broken(problem, wrong) == ["ttft:w: p-fast with d-far"]


def test_packing_that_first_fit_misses_is_found():
    """Two servers of 10: first-fit decreasing puts 5 + 3 and 5 + 3 first and leaves 2 + 2; both fit."""
    assert fits(Counter({5: 2, 3: 2, 2: 2}), 2, 10)
    assert fits(Counter({4: 2, 3: 2, 2: 3}), 2, 10)
    assert not fits(Counter({6: 2, 5: 1}), 2, 10)
