"""Options of a replica from the problem file to the plan: what is chosen, and what the plan says of it."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest
import yaml
from candidate_samples import TRAFFIC
from step_samples import BF16, BOX, FP8, MOE, accelerator, configuration

import planner
from planner.planning.documents.option_warnings import artifacts, option_remarks
from planner.schema.configuration import ExpertTraffic

BASE = {
    "name": "sample",
    "workloads": [
        {
            "name": "w",
            "model": "llama-3.3-70b",
            "demand": {"peak_rps": 2},
            "lengths": {"input": {"fixed": 1000}, "output": {"fixed": 400}},
            "slo": {"tpot_p99": "14 ms"},
        }
    ],
    "fleet": {"accelerators": ["h100-sxm"], "prices": {"h100-sxm": "2.5 USD/h"}},
}


@pytest.fixture
def solved(tmp_path):
    """The plan of the sample problem with changes to its workload, fleet and search."""

    def solve(fleet=None, search=None, **changes):
        problem = BASE | {
            "workloads": [BASE["workloads"][0] | changes],
            "fleet": BASE["fleet"] | (fleet or {}),
            "search": search or {},
        }
        path = tmp_path / "problem.yaml"
        path.write_text(yaml.safe_dump(problem), encoding="utf-8")
        return planner.load(path).solve()

    return solve


def test_drafts_are_taken_where_they_pay_and_stated(solved):
    plain = solved()
    drafted = solved(speculation={"kind": "eagle", "acceptance": "75 %", "tokens": [4]})
    assert drafted.cost_usd_per_hour < plain.cost_usd_per_hour
    pool = next(one for one in drafted.pools if one.speculation is not None)
    taken = pool.speculation
    assert (taken.kind, taken.tokens, taken.acceptance, taken.draft, taken.weights) == (
        "eagle",
        4,
        0.75,
        None,
        "bf16",
    )
    assert taken.tokens_per_step == pytest.approx((1 - 0.75**5) / 0.25)
    assert "eagle-4" in pool.option
    assert pool.itl_s["p50"] > 2 * pool.itl_s["mean"]
    assert any("groups of 3.1" in text for text in drafted.warnings)
    assert plain.pools[0].speculation is None


def test_drafts_that_do_not_pay_are_left_out(solved):
    """Work without limits runs the largest batch, where rejected drafts only cost."""
    plan = solved(slo={}, speculation={"kind": "ngram", "acceptance": "30 %", "tokens": [4]})
    assert plan.cost_usd_per_hour == solved(slo={}).cost_usd_per_hour
    assert plan.pools[0].speculation is None


def test_eviction_rules_drafts_out(solved):
    plan = solved(
        kv_eviction={"keep": "80 %"}, speculation={"kind": "eagle", "acceptance": "75 %", "tokens": [4]}
    )
    assert all(pool.speculation is None for pool in plan.pools)


def test_experts_are_spread_over_servers_where_their_network_is_known(solved):
    """DeepSeek-V3 does not fit into 8 cards of 80 GB; without stages it needs two servers."""
    fleet = {"network": "50 GB/s", "purchase": "node"}
    one_stage = {"model": "deepseek-v3", "slo": {"itl_p99": "100 ms"}, "engine": "sglang"}
    assert solved(fleet, {"pp": [1], "wide_ep": False}, **one_stage).status == "infeasible"
    assert solved({"purchase": "node"}, {"pp": [1]}, **one_stage).status == "infeasible"
    asked = solved({"purchase": "node"}, {"pp": [1], "wide_ep": True}, **one_stage)
    assert asked.pools[0].gpus_per_replica > 8
    wide = solved(fleet, {"pp": [1]}, **one_stage)
    (pool,) = wide.pools
    assert (pool.ep, pool.gpus_per_replica) == (pool.tp * pool.attention_dp, pool.ep)
    assert pool.gpus_per_replica % 8 == 0
    assert pool.gpus_per_replica > 8
    assert wide.gpus == {"h100-sxm": pool.gpus_per_replica * pool.replicas}
    assert any("its experts talk over fleet.network" in text for text in wide.warnings)
    slow = solved(fleet | {"network": "10 GB/s"}, {"pp": [1]}, **one_stage)
    assert slow.status == "infeasible"


def test_each_generation_gets_its_own_format(solved):
    """INT8 on Ampere, FP8 on Hopper; neither has enough cards alone."""
    plan = solved(
        {
            "accelerators": ["h100-sxm", "a100-sxm"],
            "prices": {"h100-sxm": "2.5 USD/h", "a100-sxm": "1.2 USD/h"},
            "stock": {"h100-sxm": 2, "a100-sxm": 64},
        },
        demand={"peak_rps": 5},
        lengths={"input": {"fixed": 3000}, "output": {"fixed": 200}},
        slo={"ttft_p99": "4 s", "itl_p99": "120 ms"},
        precision={"weights": ["fp8", "int8"]},
    )
    assert {(pool.gpu, pool.weights) for pool in plan.pools} == {("h100-sxm", "fp8"), ("a100-sxm", "int8")}
    assert any(
        "fp8 for hopper, int8 for ampere" in text or "int8 for ampere, fp8 for hopper" in text
        for text in plan.warnings
    )


def test_int8_is_not_run_on_blackwell_by_vllm(solved):
    fleet = {"accelerators": ["b200"], "prices": {"b200": "5 USD/h"}}
    assert solved(fleet, precision={"weights": ["int8"]}).status == "infeasible"
    plan = solved(fleet, precision={"weights": ["int8", "fp8"]})
    assert {pool.weights for pool in plan.pools} == {"fp8"}


def test_sparse_weights_help_where_arithmetic_binds_and_an_engine_runs_them(solved):
    prompts = {
        "lengths": {"input": {"fixed": 6000}, "output": {"fixed": 20}},
        "slo": {"ttft_p99": "4 s"},
        "demand": {"peak_rps": 20},
    }
    dense = solved(engine="tensorrt-llm", precision={"weights": ["fp8"]}, **prompts)
    sparse = solved(engine="tensorrt-llm", precision={"weights": ["fp8", "fp8-2:4"]}, **prompts)
    assert {pool.weights for pool in sparse.pools} == {"fp8-2of4"}
    assert sparse.cost_usd_per_hour < dense.cost_usd_per_hour
    refused = solved(engine="vllm", precision={"weights": ["fp8-2:4"]}, **prompts)
    assert refused.status == "infeasible"
    assert any(item.id == "weights-format-unsupported" for item in refused.removed)


def remarks(item, network_is_stated=True):
    pool = SimpleNamespace(id="w/serve/1", model="m", speculation=None)
    traffic = dataclasses.replace(TRAFFIC, input_mean_tokens=5000.0)
    return list(option_remarks(pool, item, traffic, network_is_stated))


def test_a_network_that_nobody_states_is_said_to_be_assumed():
    wide = configuration(tp=16, spans_servers=True, network_bytes_per_s=50e9)
    (known,), (assumed,) = remarks(wide), remarks(wide, network_is_stated=False)
    assert known.endswith("its GPUs talk over fleet.network")
    assert assumed.endswith("which is not stated: 50 GB/s a GPU is assumed, the rate of a cluster fabric")


def test_overflow_is_stated_with_its_share():
    item = configuration(model=MOE, ep=8, experts=ExpertTraffic(1.5, 1.25))
    (text,) = remarks(item)
    assert "17 % of its tokens overflow, 3.1 % of all" in text
    assert remarks(configuration(model=MOE, ep=8, experts=ExpertTraffic(1.2, 1.25))) == []
    (unknown,) = remarks(configuration(model=MOE, ep=8, experts=ExpertTraffic(None, 1.25)))
    assert "experts.imbalance" in unknown
    assert remarks(configuration(model=MOE, ep=1, experts=ExpertTraffic(1.5, 1.25))) == []


def test_bubbles_are_stated_for_the_mean_prompt():
    """5,000 tokens in chunks of 2,048 are three; with four stages half of the time is idle."""
    (text,) = remarks(configuration(pp=4))
    assert "(3 chunks) leaves 50 % of the time of its 4 stages idle" in text


def test_artifacts_are_named_where_generations_mix():
    old = accelerator(id="old", architecture="ampere")
    pools = [SimpleNamespace(model="m"), SimpleNamespace(model="m")]
    mixed = [configuration(weights=FP8), configuration(accelerator=old)]
    (text,) = artifacts(pools, mixed)
    assert text.endswith("fp8 for hopper, bf16 for ampere")
    assert list(artifacts(pools, [configuration(weights=FP8), configuration(weights=BF16)])) == []
    assert list(artifacts(pools, [configuration(accelerator=BOX), configuration(accelerator=old)])) == []
