"""Fleets whose short and long prompts may go to different pools."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import pytest

from planner.errors import InputError
from planner.planning.answering import class_mixes
from planner.planning.answering.class_mixes import as_settled, settled
from planner.planning.answering.fleet_plan import fleet_plan, formulate
from planner.planning.documents.class_traffic import capacity_rps, mixed_part
from planner.planning.documents.pools import fleet_pools
from planner.planning.formulation.length_classes import by_class
from planner.planning.formulation.study import NOTHING
from planner.planning.run import Run
from planner.schema.fleet import FleetChoice
from planner.solver.solve import solve_fleet
from tests.disaggregated_problems import problem_of, study

CHAT = {
    "demand": {"peak_rps": 200},
    "lengths": {
        "input": {"p50": 400, "p90": 4000, "p95": 9000, "p99": 14000},
        "output": {"p50": 120, "p95": 400},
    },
    "slo": {"ttft_p99": "2.5 s", "itl_p99": "120 ms"},
}
"""Half of the work is in a twelfth of the requests: on the small GPU they hold up everybody's tokens.

It prefills the longest in 2 s: a limit much above lets it take them alone, one below lets it take none."""
STATED = CHAT | {
    "lengths": {
        "buckets": [
            {"name": "documents", "share": "0.08", "input": 9000, "output": 100},
            {"name": "questions", "share": "0.92", "input": 500, "output": 150},
        ]
    }
}
PRICES = {"h100-sxm": "3.4 USD/h", "l40s": "0.3 USD/h"}
SEARCH = {"modes": ["aggregated"], "tp": [1, 2], "batched_tokens": [2048, 8192]}


def problem(classes, workload=CHAT, **fleet):
    return problem_of(workload, {"prices": PRICES} | fleet, **SEARCH, length_classes=classes)


@cache
def plan(classes, stated=False):
    return fleet_plan(study(), problem(classes, STATED if stated else CHAT), Run(None, 0, 1))


def solve(question):
    return solve_fleet(question, seed=0, workers=1)


def test_one_class_is_the_plan_without_classes():
    assert plan(1).cost_usd_per_hour == plan("one").cost_usd_per_hour
    assert plan(1).pools == plan("one").pools
    assert {route.bucket for route in plan(1).routing} == {"all"}


def test_short_prompts_go_to_the_small_gpu_and_long_ones_to_the_large_one():
    one, two = plan("one"), plan(2)
    assert two.cost_usd_per_hour < 0.96 * one.cost_usd_per_hour
    gpus = {pool.id: pool.gpu for pool in two.pools}
    share = {(route.bucket, gpus[route.pool]): 0.0 for route in two.routing}
    for route in two.routing:
        share[route.bucket, gpus[route.pool]] += route.share
    short, long = sorted({route.bucket for route in two.routing})
    assert (short.split("=")[0], long.split(">")[0]) == ("prompt<", "prompt")
    assert short.split("=")[1] == long.split(">")[1]
    assert share[short, "l40s"] > 0.8
    assert share[long, "h100-sxm"] > 0.8


def test_the_demand_is_shared_out_exactly():
    formulation = by_class(study(), problem(3), NOTHING)
    (demand,) = formulation.question.demands
    assert sum(demand.demand_rps) == Fraction(200) * Fraction("1.2")
    assert len(demand.buckets) == 3 == len(set(demand.buckets))
    shares = formulation.classes["w"].shares
    tokens = formulation.tokens("w")
    mean = sum(float(s) * tokens[b].input_tokens for s, b in zip(shares, demand.buckets, strict=True))
    assert mean == pytest.approx(formulation.formulation.cases["w"].traffic.input_mean_tokens)


@pytest.mark.parametrize("ttft", ["2.5 s", "2 s"])
def test_every_option_is_known_and_its_rates_are_those_of_its_classes(ttft):
    limits = {"slo": CHAT["slo"] | {"ttft_p99": ttft}}
    formulation = by_class(study(), problem(2, CHAT | limits), NOTHING)
    classes, part = formulation.classes["w"], formulation.formulation.evaluated["w"]
    ids = [option.id for option in formulation.question.options]
    assert len(set(ids)) == len(ids)
    assert set(ids) == set(formulation.formulation.found)
    for option in formulation.question.options:
        placed = formulation.formulation.found[option.id][1]
        assert part.evaluation.candidates.names[placed.configuration] == option.label
        for number, name in enumerate(classes.names):
            kept, rate = {name: Fraction(1)}, float(option.rates_rps[number])
            alone, most = (
                mixed_part(
                    formulation.formulation, classes, "w", kept, replicas, placed.configuration
                ).evaluation.capacities.rate_rps[0]
                for replicas in (1, 64)
            )
            # A batch is a whole number: in a larger pool it may be one less.
            assert not rate or alone - 2e-6 <= rate <= most * 1.03


def test_no_option_is_nowhere_better_than_another_in_its_room():
    options = by_class(study(), problem(4), NOTHING).question.options
    assert 4 < len(options) < 200
    for one in options:
        for other in options:
            alike = [(option.supply, option.gpus, option.slack) for option in (one, other)]
            if one is not other and alike[0] == alike[1]:
                pairs = zip(one.rates_rps, other.rates_rps, strict=True)
                assert any(mine > others for mine, others in pairs)


def least_cost(classes, workload=CHAT):
    """What a request per second costs at the cheapest rates, and how many classes there are."""
    formulation = by_class(study(), problem(classes, workload), NOTHING)
    (demand,) = formulation.question.demands
    usd = {lot.id: float(lot.usd_per_gpu_h) for lot in formulation.formulation.lots}
    whole = sum(demand.demand_rps)
    return len(demand.buckets), sum(
        float(need / whole)
        * min(
            usd[o.supply] * o.gpus / float(o.rates_rps[place])
            for o in formulation.question.options
            if o.rates_rps[place]
        )
        for place, need in enumerate(demand.demand_rps)
    )


def test_auto_takes_the_fewest_classes_within_one_percent():
    number, mine = least_cost("auto")
    assert 2 <= number <= 8
    assert mine <= 1.01 * least_cost(8)[1]
    # With the numbers above no single class comes near.
    assert mine < 0.95 * least_cost("one")[1]


def test_auto_stays_with_one_class_where_more_would_not_save():
    steady = CHAT | {"lengths": {"input": {"p50": 900, "p95": 1000}, "output": {"p50": 120}}}
    formulation = by_class(study(), problem("auto", steady), NOTHING)
    assert not formulation.classes
    assert formulation.question.demands[0].buckets == ("all",)
    (remark,) = formulation.remarks
    assert remark.startswith("w: 1 length class: at the cheapest rates a cut into")
    assert "would save at most" in remark


def test_stated_buckets_are_the_classes():
    formulation = by_class(study(), problem("stated", STATED), NOTHING)
    (demand,) = formulation.question.demands
    assert demand.buckets == ("questions", "documents")
    assert demand.demand_rps == (Fraction("220.8"), Fraction("19.2"))
    tokens = formulation.tokens("w")
    assert (tokens["documents"].input_tokens, tokens["documents"].output_tokens) == (9000.0, 100.0)
    assert plan("stated", stated=True).cost_usd_per_hour < plan("one", stated=True).cost_usd_per_hour


def test_stated_classes_want_buckets():
    with pytest.raises(InputError, match=r"no workload states lengths\.buckets"):
        by_class(study(), problem("stated"), NOTHING)


def test_sessions_and_caches_stay_in_one_class():
    cached = CHAT | {"prefix_cache": {"hit": "40 %", "prefixes": 50, "prefix_tokens": 300}}
    formulation = by_class(study(), problem(4, cached), NOTHING)
    assert not formulation.classes
    assert "one length class, since what a cache finds" in formulation.remarks[0]


def test_classes_are_served_together_only():
    both = problem_of(CHAT, {"prices": PRICES}, tp=[1], length_classes=2)
    formulation = by_class(study(), both, NOTHING)
    assert {demand.role for demand in formulation.question.demands} == {"serve"}
    assert {option.role for option in formulation.question.options} == {"serve"}
    assert any("only prompts and answers served together" in line for line in formulation.remarks)
    disaggregated = by_class(study(), problem_of(CHAT, {"prices": PRICES}, tp=[1], length_classes=2,
                                         modes=["disaggregated"]), NOTHING)  # fmt: skip
    assert not disaggregated.classes
    assert "only disaggregated serving" in disaggregated.remarks[0]


def mixing(classes=2):
    """The case of a fleet in which classes share pools: one kind of GPU, few of them."""
    tight = {"demand": {"peak_rps": 30}, "slo": {"ttft_p95": "1 s", "itl_p95": "40 ms"}}
    mine = problem(classes, CHAT | tight, prices={"h100-sxm": "3.4 USD/h"})
    return formulate(study(), mine, {})


def mixed_pools(case, choice):
    """Pools that serve several classes: what each carries at its mix, and what it was assumed to carry."""
    found = []
    for pool in fleet_pools(case.question, choice, ["w"]):
        if len(pool.shares[0]) > 1:
            placed = case.formulation.found[pool.option.id][1]
            replicas, classes = pool.counts[0], case.classes["w"]
            part = mixed_part(case.formulation, classes, "w", pool.shares[0], replicas, placed.configuration)
            found.append((part.evaluation.capacities.rate_rps[0], float(capacity_rps(pool, 0))))
    return found


def test_pools_carry_their_mixes_after_settling():
    case = mixing()
    first = solve(case.question)
    after, choice = settled(case, solve)
    assert mixed_pools(case, first), "the case is made so that classes share a pool"
    assert all(carries >= assumed * (1 - 1e-5) for carries, assumed in mixed_pools(after, choice))
    assert choice.value >= first.value
    assert set(after.formulation.found) >= {option.id for option in after.question.options}


def test_what_never_settles_serves_one_class_a_pool(monkeypatch):
    case = mixing()
    monkeypatch.setattr(class_mixes, "_ROUNDS", 1)
    monkeypatch.setattr(class_mixes, "mixed_part", _half(mixed_part))
    after, choice = settled(case, solve)
    assert choice.status == "optimal"
    assert all(len(pool.shares[0]) == 1 for pool in fleet_pools(after.question, choice, ["w"]))
    assert "every pool serves one length class" in after.warnings[-1]


def _half(evaluate):
    def slower(*arguments):
        part = evaluate(*arguments)
        part.evaluation.capacities.rate_rps[:] *= 0.5
        return part

    return slower


def test_variants_are_counted_like_the_settled_case():
    case, _ = settled(mixing(), solve)
    again = as_settled(mixing(), case)
    assert case.mixed
    assert {option.id for option in again.question.options} == {o.id for o in case.question.options}
    by_id = {option.id: option for option in case.question.options}
    for option in again.question.options:
        # Rounds round down once each.
        pairs = zip(option.rates_rps, by_id[option.id].rates_rps, strict=True)
        assert all(abs(one - other) < Fraction(1, 100_000) for one, other in pairs)


def test_a_plan_that_time_leaves_unsettled_says_what_it_lacks():
    answers = []

    def once(question):
        answers.append(solve(question) if not answers else FleetChoice("unknown"))
        return answers[-1]

    case, choice = settled(mixing(), once)
    assert (choice.status, choice.value) == ("feasible", answers[0].value)
    assert "less than planned, which takes from the headroom" in case.warnings[-1]
    assert not case.mixed


def test_pools_are_described_at_the_traffic_that_they_get():
    found = plan(2)
    for pool in found.pools:
        assert pool.utilization == pytest.approx(pool.load_rps / pool.capacity_rps)
        assert pool.utilization < 1
        assert pool.ttft_s["p99"] <= 2.5
    # Long prompts take longer than short ones.
    first_s = {pool.gpu: pool.ttft_s["p50"] for pool in found.pools}
    assert first_s["h100-sxm"] > first_s["l40s"]
    loads = sum(pool.load_rps * pool.replicas for pool in found.pools)
    assert loads == pytest.approx(200.0)
    # A pool of one replica carries less than planned; the headroom is kept by all together.
    busy = sum(pool.utilization * pool.replicas for pool in found.pools)
    assert busy <= sum(pool.replicas for pool in found.pools) / 1.2 + 1e-9


def test_the_estimate_is_a_lower_bound_of_the_plan():
    formulation = by_class(study(), problem(3), NOTHING)
    (demand,) = formulation.question.demands
    whole = sum(demand.demand_rps)
    per_rps = least_cost(3)[1]
    assert per_rps * float(whole) <= plan(3).cost_usd_per_hour + 1e-9
