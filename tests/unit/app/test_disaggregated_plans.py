"""Plans that serve prefill and decode aggregated or disaggregated, from predictions."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from planner.app.plan import answered
from planner.errors import InputError
from planner.planning.formulation.study import Study
from planner.planning.run import Run
from planner.report.plan_text import view
from tests.disaggregated_problems import BOTH, in_modes, problem_of, study

H100 = {"prices": {"h100-sxm": "2.5 USD/h"}}
LIGHT = {
    "demand": {"peak_rps": 40},
    "lengths": {
        "input": {"p50": 600, "p95": 1500, "p99": 2500},
        "output": {"p50": 40, "p95": 80, "p99": 120},
    },
    "slo": {"ttft_p99": "1500 ms", "itl_p99": "250 ms"},
}
"""Short answers and loose limits: the cheapest plan shares the steps."""
LONG = {
    "model": "llama-3.3-70b",
    "demand": {"peak_rps": 10},
    "lengths": {
        "input": {"p50": 8000, "p95": 14000, "p99": 18000},
        "output": {"p50": 250, "p95": 500, "p99": 700},
    },
    "slo": {"ttft_p99": "4 s", "itl_p99": "25 ms"},
}
"""Long prompts and gaps that no prompt chunk may lengthen."""


def plan_of(problem):
    return answered(study(), problem, Run(None, 0, 1))


@pytest.fixture(scope="module")
def long_plan():
    return plan_of(problem_of(LONG, H100))


def costs_by_mode(problem):
    return [plan_of(in_modes(problem, mode)).cost_usd_per_hour for mode in BOTH]


def test_light_traffic_with_loose_gaps_is_served_together():
    problem = problem_of(LIGHT, H100)
    plan = plan_of(problem)
    assert {pool.role for pool in plan.pools} == {"serve"}
    together, disaggregated = costs_by_mode(problem)
    assert plan.cost_usd_per_hour == together < disaggregated
    (choice,) = plan.mode_choice
    assert choice.chosen == "aggregated"
    assert (choice.aggregated_cost_usd_per_hour, choice.disaggregated_cost_usd_per_hour) == (
        together,
        disaggregated,
    )
    assert choice.itl_p99_disaggregated_s < choice.itl_p99_aggregated_s
    assert plan.pd_ratio is None
    assert plan.pd_steps == ()


def test_long_prompts_with_tight_gaps_are_served_apart(long_plan):
    problem = problem_of(LONG, H100)
    assert {pool.role for pool in long_plan.pools} == {"prefill", "decode"}
    together, disaggregated = costs_by_mode(problem)
    assert long_plan.cost_usd_per_hour == disaggregated < together
    (choice,) = long_plan.mode_choice
    assert choice.chosen == "disaggregated"
    # What a prompt chunk in the same step would do to the gap, on the same GPUs at the same load.
    assert choice.itl_p99_disaggregated_s <= 0.025 < choice.itl_p99_aggregated_s
    assert "with prompts in the same steps" in choice.text


def test_a_looser_gap_makes_the_same_traffic_be_served_together(long_plan):
    loose = LONG | {"slo": {"ttft_p99": "4 s", "itl_p99": "400 ms"}}
    plan = plan_of(problem_of(loose, H100))
    assert plan.cost_usd_per_hour <= long_plan.cost_usd_per_hour
    assert plan.mode_choice[0].aggregated_cost_usd_per_hour < 2 * plan.cost_usd_per_hour


def test_the_plan_states_both_sides(long_plan):
    prefill = [pool for pool in long_plan.pools if pool.role == "prefill"]
    decode = [pool for pool in long_plan.pools if pool.role == "decode"]
    assert [pool.id for pool in prefill + decode] == [pool.id for pool in long_plan.pools]
    assert prefill[0].id == "w/prefill/1"
    assert decode[0].id == "w/decode/1"
    assert all(pool.mode == "disaggregated" for pool in long_plan.pools)
    gpus = [sum(pool.replicas * pool.gpus_per_replica for pool in side) for side in (prefill, decode)]
    replicas = [sum(pool.replicas for pool in side) for side in (prefill, decode)]
    assert long_plan.pd_ratio == {"gpus": f"{gpus[0]}:{gpus[1]}", "replicas": f"{replicas[0]}:{replicas[1]}"}
    assert sum(gpus) == long_plan.gpus["h100-sxm"]
    for pool in prefill:
        assert pool.itl_s == pool.e2e_s == {}
        assert pool.kv_transfer_s["p99"] < pool.ttft_s["p99"] <= 4.0
        assert 0.0 < pool.link_load < 1.0
    for pool in decode:
        assert pool.itl_s["p99"] <= 0.025
        # TTFT is that of the pair, and percentiles of E2E are sums of two.
        assert pool.ttft_s["p99"] == max(other.ttft_s["p99"] for other in prefill)
        assert pool.e2e_is_upper_bound
        assert pool.e2e_s["p99"] > pool.ttft_s["p99"]
    for side in (prefill, decode):
        assert sum(pool.load_rps * pool.replicas for pool in side) == pytest.approx(10.0)
    routes = {route.pool: route.share for route in long_plan.routing}
    assert sum(routes[pool.id] for pool in prefill) == pytest.approx(1.0)
    assert sum(routes[pool.id] for pool in decode) == pytest.approx(1.0)


def test_the_limits_are_those_of_pairs(long_plan):
    states = {state.id: state for state in long_plan.constraints}
    assert {"ttft:w", "itl:w", "vram:w", "kv-transfer:w"} <= set(states)
    worst = max(pool.ttft_s["p99"] for pool in long_plan.pools)
    assert states["ttft:w"].value == pytest.approx(worst)
    assert states["kv-transfer:w"].limit == 1.0
    assert all(state.slack >= 0 for state in states.values())


def test_what_one_step_of_the_ratio_costs(long_plan):
    for step in long_plan.pd_steps:
        prefill, decode = (int(part) for part in step.replicas.split(":"))
        now = [int(part) for part in long_plan.pd_ratio["replicas"].split(":")]
        assert (prefill - now[0], decode - now[1]) == (step.prefill, step.decode)
        if step.feasible:
            assert step.cost_usd_per_hour >= long_plan.cost_usd_per_hour
    assert {(step.prefill, step.decode) for step in long_plan.pd_steps} >= {(1, -1), (-1, 1)}


def test_the_page_tells_it(long_plan):
    out = StringIO()
    Console(file=out, width=100).print(view(long_plan))
    text = out.getvalue()
    for words in (
        "Aggregated or disaggregated",
        "Other ratios of prefill to decode",
        "prefill to decode",
        "w/prefill/1",
    ):
        assert words in text


def test_the_same_input_gives_the_same_bytes(long_plan):
    fresh = Study(study().catalog, study().rules, Path())
    again = answered(fresh, problem_of(LONG, H100), Run(None, 0, 1))
    assert again.model_dump_json() == long_plan.model_dump_json()


def test_a_slow_network_is_for_those_who_have_time():
    slow = H100 | {"network": "1 GB/s"}
    problem = in_modes(problem_of(LONG, slow), "disaggregated")
    assert plan_of(problem).status == "optimal"
    assert (
        plan_of(problem).cost_usd_per_hour
        >= plan_of(in_modes(problem_of(LONG, H100), "disaggregated")).cost_usd_per_hour
    )
    slower = in_modes(problem_of(LONG, H100 | {"network": "0.1 GB/s"}), "disaggregated")
    assert plan_of(slower).status == "infeasible"


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm"])
def test_the_engine_says_where_the_kv_transfer_counts(engine):
    plan = plan_of(in_modes(problem_of(LONG | {"engine": engine}, H100), "disaggregated"))
    (prefill, *_), decode = (
        [pool for pool in plan.pools if pool.role == role] for role in ("prefill", "decode")
    )
    kv_transfer = prefill.kv_transfer_s["mean"]
    if engine == "tensorrt-llm":
        # The client has the first token and waits for the second: the longest gap of an answer.
        assert decode[0].itl_s["p99.9"] > 0.9 * kv_transfer
    else:
        assert decode[0].itl_s["p99.9"] < 0.5 * kv_transfer


def test_short_prompts_may_stay_with_the_decode_workers():
    workload = LIGHT | {"lengths": LIGHT["lengths"] | {"input": {"p50": 450, "p95": 1500, "p99": 6000}}}
    formulation = study().formulate(in_modes(problem_of(workload, H100, tp=[1]), "disaggregated"))
    split = formulation.disaggregated["w"]
    assert set(split.pairs) == {0, 500}
    assert 0.35 < split.pairs[500].sent_fraction < 0.55
    sent = {key: pair.sent.input_mean_tokens for key, pair in split.pairs.items()}
    assert sent[500] > 1.5 * sent[0]
    at_decode = [option for option, _ in formulation.found.values() if "500 tokens at decode" in option.kv]
    assert {option.role for option in at_decode} == {"prefill", "decode"}


def test_a_plan_with_short_prompts_at_decode_says_so(monkeypatch):
    workload = LIGHT | {"lengths": LIGHT["lengths"] | {"input": {"p50": 450, "p95": 1500, "p99": 6000}}}
    study_ = study()
    problem = in_modes(problem_of(workload, H100, tp=[1]), "disaggregated")
    formulation = study_.formulate(problem)
    away = {option.kv for option in formulation.question.options if "500 tokens at decode" not in option.kv}
    kept = tuple(o for o in formulation.question.options if o.kv not in away)
    monkeypatch.setattr(
        Study,
        "formulate",
        lambda *asked: replace(formulation, question=replace(formulation.question, options=kept)),
    )
    plan = answered(study_, problem, Run(None, 0, 1))
    shares = {route.pool.split("/")[1]: route.share for route in plan.routing}
    assert shares["decode"] == pytest.approx(1.0)
    assert shares["prefill"] == pytest.approx(formulation.disaggregated["w"].pairs[500].sent_fraction)
    assert any("prompts of up to 500 tokens straight to decode" in line for line in plan.warnings)


def test_sessions_count_no_prefix_where_hits_depend_on_replicas():
    sessions = {
        "per_hour": 2000,
        "turns": 5,
        "first_input": 800,
        "growth": 200,
        "output": 60,
        "think_time": "30 s",
    }
    plan = plan_of(problem_of({"demand": {"sessions": sessions}, "slo": LIGHT["slo"]}, H100))
    assert any("counts no prefix hits" in line for line in plan.warnings)


def test_only_disaggregated_with_an_engine_that_cannot_is_refused():
    catalog = study().catalog
    engine = catalog.engine("vllm").model_copy(update={"kv_transfer": None})

    class Without:
        def __getattr__(self, name):
            return getattr(catalog, name)

        def engine(self, name):
            return engine

    alone = Study(Without(), study().rules, Path())
    with pytest.raises(InputError, match="transfers KV caches"):
        alone.formulate(in_modes(problem_of(LIGHT, H100), "disaggregated"))
    both = alone.formulate(problem_of(LIGHT, H100))
    assert not [option for option, _ in both.found.values() if option.role != "serve"]


def test_nothing_works_apart_and_the_reasons_name_both_sides():
    hopeless = LONG | {"slo": {"ttft_p99": "50 ms", "itl_p99": "5 ms"}}
    plan = plan_of(in_modes(problem_of(hopeless, H100), "disaggregated"))
    assert plan.status == "infeasible"
    found = {removal.id: removal for removal in plan.removed}
    assert found["ttft:w"].limit == pytest.approx(0.05)
    assert found["ttft:w"].nearest_value > 0.05
    assert found["itl:w"].limit == pytest.approx(0.005)
    assert found["itl:w"].nearest.endswith("(decode)")
