"""Every limit of a fleet's plan: one plan that keeps them all, and one way of breaking each."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import networkx as nx
import pytest
from plan_limits import budget_row, plan_limits, quota_row

from planner.constraints.fleet_check import bill, broken
from planner.constraints.fleet_check_waiting import in_time
from planner.schema.choice import NO_SPARES, Coupling, LossShares, Option, Share, Spares
from planner.schema.fleet import (
    Api,
    Changes,
    Deferrable,
    FleetChoice,
    FleetDemand,
    FleetProblem,
    Host,
    Line,
    PeriodChoice,
    Site,
    StartCharge,
)

F = Fraction
HERE, THERE = Site("p", "eu", "a"), Site("p", "eu", "b")


def problem(**limits):
    """Two periods, one workload of two buckets on servers of four GPUs, two sites."""
    options = (
        Option("small", "w", "serve", "node", "g", 1, (F(2), F(1)), power_w=F(100)),
        Option("large", "w", "serve", "node", "g", 3, (F(6), F(6)), power_w=F(300)),
    )
    lines = (
        Line("g/owned", "g", "node", "owned", F(1), 4, 8, HERE),
        Line("g/reserved", "g", "node", "reserved", F(2), 4, 8, HERE),
        Line("g/spot", "g", "node", "spot", F(1, 2), 4, 8, THERE, F(1, 2), F(1, 4)),
    )
    demand = FleetDemand("w", "serve", ((F(4), F(3)), (F(2), F(1))), ("a", "b"), F(1), 1)
    return FleetProblem(
        2, options, (Host("node", "g", 4),), lines, (demand,), plan_limits(**limits),
        starts=(StartCharge(("g/spot",), F(3)),),
    )  # fmt: skip


def shares(*rows):
    return tuple(Share("w", "serve", bucket, option, F(share)) for bucket, option, share in rows)


def plan():
    """Period 0: one large replica (half the load) and two small ones; period 1: one large replica."""
    first = PeriodChoice(
        {("large", HERE): 1, ("small", THERE): 2},
        {"g/reserved": 4, "g/spot": 4},
        shares(("a", "large", F(1, 2)), ("a", "small", F(1, 2)), ("b", "large", 1)),
    )
    second = PeriodChoice(
        {("large", HERE): 1}, {"g/reserved": 4}, shares(("a", "large", 1), ("b", "large", 1))
    )
    return (first, second)


def stated(question, periods, **more):
    usd = bill(question, periods).usd
    return FleetChoice(
        "feasible", tuple(periods), usd, bill(question, periods).value(question.limits.objective), **more
    )


def faults(question, periods):
    return broken(question, stated(question, periods))


def test_the_bill_by_hand():
    total = bill(problem(), plan())
    # 4 reserved at 2 in both periods; 4 spot at 0.5 and a start charge of 3 each in the first.
    assert [one.usd for one in total.periods] == [8 + 2 + 12, 8]
    assert [one.start_usd for one in total.periods] == [12, 0]
    assert total.usd == 30
    assert [one.gpus for one in total.periods] == [{"g": 8}, {"g": 4}]
    assert [one.power_w for one in total.periods] == [500, 300]
    assert total.value("gpus") == 12
    assert total.value("power") == 800


def test_a_plan_that_keeps_everything():
    assert faults(problem(), plan()) == []


@pytest.mark.parametrize(
    ("limits", "word"),
    [
        ({"stock_gpus": {"g": 7}}, "stock:g"),
        ({"quotas": (quota_row("quota:p", ("g/spot", "g/reserved"), 7),)}, "quota:p"),
        ({"budgets": (budget_row("budget", F(21)),)}, "period 0: budget"),
        ({"budgets": (budget_row("budget:day", F("14.9"), False),)}, "budget:day"),
        ({"max_gpus": 7}, "max-gpus"),
        ({"power_w": F(499)}, "power"),
        ({"changes": Changes({"g": 1}, 6)}, "period 0: changes: 7"),
        ({"changes": Changes({"g": 4, "old": 5}, 8)}, "period 0: changes: 9"),
        ({"must_use": ("h",)}, "must-use:h"),
    ],
)
def test_limits_that_this_plan_breaks(limits, word):
    found = faults(problem(**limits), plan())
    assert any(word in fault for fault in found), found


@pytest.mark.parametrize(
    "limits",
    [
        {"stock_gpus": {"g": 8}},
        {"quotas": (quota_row("quota:p", ("g/spot", "g/reserved"), 8),)},
        {"budgets": (budget_row("budget", F(22)), budget_row("budget:day", F(15), False))},
        {"max_gpus": 8, "power_w": F(500), "changes": Changes({"g": 4}, 4), "must_use": ("g",)},
    ],
)
def test_a_value_equal_to_its_limit_is_allowed(limits):
    assert faults(problem(**limits), plan()) == []


OWN = {"g/reserved": 4, "g/owned": 8}


def changed(period, **more):
    both = list(plan())
    both[period] = replace(both[period], **more)
    return both


@pytest.mark.parametrize(
    ("periods", "word"),
    [
        (changed(0, bought={"g/reserved": 4, "g/spot": 2}), "sold by 4"),
        (changed(1, bought={"g/reserved": 4, "g/owned": 12}), "supply:g/owned"),
        (changed(1, bought={"g/reserved": 4, "g/spot": 8}), "share:g/spot"),
        (changed(1, bought={"g/reserved": 8}), "reserved: g/reserved differs"),
        (changed(1, bought={}), "balance:node"),
        # The reserve of a quarter leaves room for three of four spot GPUs.
        (changed(0, counts={("large", HERE): 1, ("small", THERE): 4}), "balance:node at p/eu/b"),
        # A server of four holds a replica of three GPUs beside one of one GPU, but no parts of another.
        (changed(1, counts={("large", HERE): 1, ("small", HERE): 2}), "balance:node at p/eu/a: 5.0 of 4.0"),
        (changed(1, counts={("large", HERE): 4}, bought=OWN), "packing:node at p/eu/a"),
        (changed(1, counts={("large", HERE): 0}, bought={"g/reserved": 4}), "min_replicas"),
        (changed(1, shares=shares(("a", "large", F(1, 2)), ("b", "large", 1))), "bucket a is served to 0.5"),
        (changed(0, shares=shares(("a", "large", 1), ("b", "large", 1))), "large carries"),
        (changed(1, shares=shares(("a", "small", 1), ("b", "large", 1))), "small cannot serve a"),
        (changed(1, shares=shares(("a", "large", 2), ("a", "large", -1))), "large cannot serve a"),
        (changed(1, counts={("huge", HERE): 1}), "no option huge"),
        (changed(1, counts={("large", Site("q")): 1}), "residency"),
        (changed(1, counts={("large", HERE): -1}), "-1 replicas"),
        (changed(1, bought={"g/reserved": 4, "x": 1}), "1 GPUs of x"),
        (changed(1, levels={"w": F(1)}), "a level of w"),
        (plan()[:1], "periods: 1 of 2"),
    ],
)  # fmt: skip
def test_plans_that_break_a_rule(periods, word):
    found = broken(problem(), FleetChoice("feasible", tuple(periods)))
    assert any(word in fault for fault in found), found


def test_what_is_stated_must_be_true():
    true = stated(problem(), plan())
    assert any("bill" in fault for fault in broken(problem(), replace(true, cost_usd=F(29))))
    assert any("value" in fault for fault in broken(problem(), replace(true, value=F(29))))
    assert any("bound" in fault for fault in broken(problem(), replace(true, lower_bound=F(31))))
    assert broken(problem(), replace(true, status="infeasible")) == ["status: infeasible with a plan"]
    assert broken(problem(), FleetChoice("infeasible")) == []


# -- spares -------------------------------------------------------------------------------------------------


def spared(kind, count, **more):
    """One bucket, two sites, one period; replicas of one GPU carry 2."""
    option = Option("o", "w", "serve", "h", "g", 1, (F(2),))
    other = Option("x", "w", "serve", "h", "g", 1, (F(3),))
    lines = tuple(Line(f"g/owned{n}", "g", "h", "owned", F(1), 1, 20, site) for n, site in enumerate(
        (HERE, THERE, Site("q", "eu", "a"))))  # fmt: skip
    demand = FleetDemand("w", "serve", ((F(4),),), spares=Spares(kind, count), **more)
    return FleetProblem(1, (option, other), (Host("h", "g"),), lines, (demand,))


def one(counts, share="o"):
    lines = {HERE: "g/owned0", THERE: "g/owned1", Site("q", "eu", "a"): "g/owned2"}
    bought = {lines[site]: 0 for _, site in counts}
    for (_, site), count in counts.items():
        bought[lines[site]] += count
    return [PeriodChoice(counts, bought, (Share("w", "serve", "all", share, F(1)),))]


@pytest.mark.parametrize(
    ("kind", "counts", "fine"),
    [
        ("replicas", {("o", HERE): 3}, True),
        ("replicas", {("o", HERE): 2}, False),
        ("replicas", {("o", HERE): 2, ("x", HERE): 1}, True),
        ("servers", {("o", HERE): 3}, True),
        ("servers", {("o", HERE): 2}, False),
        ("per_option", {("o", HERE): 3, ("x", HERE): 1}, True),
        ("per_option", {("o", HERE): 2, ("x", HERE): 1}, False),
        ("zones", {("o", HERE): 2, ("o", THERE): 2}, True),
        ("zones", {("o", HERE): 3, ("o", THERE): 1}, False),
        ("zones", {("o", HERE): 4}, False),
        ("zones", {("o", HERE): 1, ("o", THERE): 1, ("o", Site("q", "eu", "a")): 1}, True),
        ("providers", {("o", HERE): 1, ("o", THERE): 1, ("o", Site("q", "eu", "a")): 2}, True),
        ("providers", {("o", HERE): 2, ("o", THERE): 2}, False),
    ],
)
def test_spares(kind, counts, fine):
    question = spared(kind, 1)
    found = faults(question, one(counts))
    assert (found == []) == fine, found
    assert all("redundancy" in fault for fault in found)


def test_spares_are_replicas_even_without_demand():
    question = spared("replicas", 2)
    idle = replace(question, demands=(replace(question.demands[0], demand_rps=((F(0),),)),))
    assert faults(idle, one({("o", HERE): 2})) == []
    assert "min_replicas: w/serve has 1 of 2" in faults(idle, one({("o", HERE): 1}))[0]


def test_a_loss_with_several_buckets_by_evidence_or_by_the_best_split():
    question = problem()
    demand = replace(
        question.demands[0], demand_rps=((F(2), F(1)), (F(2), F(1))), spares=Spares("replicas", 1)
    )
    question = replace(question, demands=(demand,))
    both = [replace(plan()[1], counts={("large", HERE): 2}, bought={"g/reserved": 8})] * 2
    after = LossShares("w", "serve", (("large", 1),), plan()[1].shares)
    assert faults(question, both) == []
    assert faults(question, [replace(period, loss_shares=(after,)) for period in both]) == []
    alone = [plan()[1]] * 2
    assert any("redundancy" in fault for fault in faults(question, alone))


def test_one_option_numbers_of_replicas_and_pairs():
    question = spared("replicas", 0, mix=False)
    assert any("mix" in fault for fault in faults(question, one({("o", HERE): 2, ("x", HERE): 1})))
    counted = replace(question, options=(replace(question.options[0], replicas_to=2), question.options[1]))
    assert any("replicas:" in fault for fault in faults(counted, one({("o", HERE): 3})))
    assert faults(counted, one({("o", HERE): 2})) == []


def split(kv="fp8", limit_s=3):
    options = (
        Option("pre", "w", "prefill", "h", "g", 1, (F(4),), ttft_s=F(2), transfer_s=F(1), kv="fp8"),
        Option("dec", "w", "decode", "h", "g", 1, (F(4),), transfer_s=F(1, 2), kv=kv),
        Option("all", "w", "serve", "h", "g", 1, (F(4),)),
    )
    demands = tuple(FleetDemand("w", role, ((F(4),),)) for role in ("serve", "prefill", "decode"))
    line = Line("g/owned", "g", "h", "owned", F(1), 1, 20, HERE)
    return FleetProblem(
        1, options, (Host("h", "g"),), (line,), demands, couplings=(Coupling("w", F(limit_s)),)
    )  # fmt: skip


def pair(*names):
    roles = {"pre": "prefill", "dec": "decode", "all": "serve"}
    rows = tuple(Share("w", roles[name], "all", name, F(1)) for name in names)
    return [PeriodChoice({(name, HERE): 1 for name in names}, {"g/owned": len(names)}, rows)]


def test_pairs_and_ways():
    assert faults(split(), pair("pre", "dec")) == []
    assert faults(split(), pair("all")) == []
    assert any("kv" in fault for fault in faults(split(kv="bf16"), pair("pre", "dec")))
    assert any("ttft:w" in fault for fault in faults(split(limit_s=2.5), pair("pre", "dec")))
    assert any("two modes" in fault for fault in faults(split(), pair("pre", "dec", "all")))
    assert any("min_replicas: w/decode" in fault for fault in faults(split(), pair("pre")))


# -- outside suppliers and deferrable work ------------------------------------------------------------------


def supplied(spares=NO_SPARES):
    question = spared("replicas", 0, min_replicas=2)
    demand = replace(question.demands[0], spares=spares)
    return replace(question, demands=(demand,), apis=(Api("api", "w", ((F(10),),)),))


def test_an_outside_supplier_takes_any_share_and_is_paid():
    everything = [PeriodChoice(shares=(Share("w", "serve", "all", "api", F(1)),))]
    assert faults(supplied(Spares("replicas", 1)), everything) == []
    assert bill(supplied(), everything).usd == 10
    half = one({("o", HERE): 1})
    half[0] = replace(half[0], shares=(Share("w", "serve", "all", "o", F(1, 2)),
                                       Share("w", "serve", "all", "api", F(1, 2))))  # fmt: skip
    assert any("min_replicas" in fault for fault in faults(supplied(), half))
    two = replace(half[0], counts={("o", HERE): 2}, bought={"g/owned0": 2})
    assert faults(supplied(Spares("replicas", 1)), [two]) == []
    assert bill(supplied(), [two]).usd == 2 + 5
    assert any("redundancy" in fault for fault in faults(supplied(Spares("replicas", 2)), [two]))


def test_levels_decide_what_is_carried():
    question = spared("replicas", 0)
    work = Deferrable((F(2), F(0)), 2)
    demand = replace(question.demands[0], demand_rps=((F(2),), (F(2),)), deferrable=work, min_replicas=0)
    question = replace(question, periods=2, demands=(demand,))
    busy, idle = one({("o", HERE): 1})[0], PeriodChoice()
    even = [replace(busy, levels={"w": F(1)})] * 2
    assert faults(question, even) == []
    at_once = [replace(busy, levels={"w": F(2)}), idle]
    assert any("o carries 2.0 of 1.0" in fault for fault in faults(question, at_once))
    too_little = [replace(busy, levels={"w": F(1)}), idle]
    assert any("deadline:w" in fault for fault in faults(question, too_little))
    late = replace(question, demands=(replace(demand, deferrable=replace(work, deadline=1)),))
    assert any("deadline:w" in fault for fault in faults(late, even))


@pytest.mark.parametrize("seed", range(150))
def test_windows_equal_a_largest_flow(seed):
    rng = random.Random(seed)
    count = rng.randint(1, 6)
    arrivals = [rng.randint(0, 3) for _ in range(count)]
    levels = [0] * count
    for _ in range(sum(arrivals)):
        levels[rng.randrange(count)] += 1
    deadline = rng.randint(1, count)
    graph = nx.DiGraph()
    graph.add_nodes_from(["source", "sink"])
    for s in range(count):
        graph.add_edge("source", ("in", s), capacity=arrivals[s])
        graph.add_edge(("out", s), "sink", capacity=levels[s])
        for k in range(deadline):
            graph.add_edge(("in", s), ("out", (s + k) % count))
    flow = nx.maximum_flow_value(graph, "source", "sink")
    work = Deferrable(tuple(map(F, arrivals)), deadline)
    assert in_time(work, list(map(F, levels))) == (flow == sum(arrivals))


def test_one_layout_for_all_periods():
    """Another option, or another serving mode, in another hour is a second layout."""
    question = problem()
    demands = tuple(replace(d, demand_rps=((F(1), F(1)),) * 2, mix=False) for d in question.demands)
    question = replace(question, demands=demands)

    def hour(option):
        served = tuple(Share("w", "serve", bucket, option, F(1)) for bucket in ("a", "b"))
        return PeriodChoice({(option, HERE): 2}, {"g/owned": 8}, served)

    assert faults(question, [hour("large"), hour("large")]) == []
    assert faults(question, [hour("large"), hour("small")]) == [
        "mix: w/serve uses 2 options over the periods"
    ]
    free = replace(question, demands=tuple(replace(d, mix=True) for d in demands))
    assert faults(free, [hour("large"), hour("small")]) == []


def test_one_way_of_serving_for_all_periods():
    question = split()
    demands = tuple(replace(d, demand_rps=((F(4),),) * 2, mix=False) for d in question.demands)
    question = replace(question, periods=2, demands=demands)

    def hour(*names):
        roles = {"all": "serve", "pre": "prefill", "dec": "decode"}
        served = tuple(Share("w", roles[name], "all", name, F(1)) for name in names)
        return PeriodChoice({(name, HERE): 1 for name in names}, {"g/owned": 2}, served)

    assert faults(question, [hour("pre", "dec"), hour("pre", "dec")]) == []
    assert faults(question, [hour("pre", "dec"), hour("all")]) == ["mix: w is served in two modes"]
