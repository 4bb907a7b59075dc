"""Targets and alarms of plans made by hand; thresholds are chosen here."""

import pytest

from planner.explain.monitoring import targets
from planner.loaders.catalog import load_catalog
from planner.schema.policy import Alarms
from planner.schema.sizing import WorkloadSizing

ALARMS = Alarms(
    ttft_excess_fraction=0.3,
    utilization_drop_fraction=0.2,
    memory_low_fraction=0.7,
    memory_high_fraction=0.95,
    kv_high_fraction=0.9,
    kv_eviction_fraction=0.05,
    fleet_low_fraction=0.4,
    fleet_high_fraction=0.9,
    prefix_hit_low_fraction=0.3,
    adapter_hit_low_fraction=0.6,
    acceptance_low_fraction=0.5,
)


def sizing(**changes):
    return WorkloadSizing.model_validate(
        {
            "workload": "chat",
            "peak_rps": 48.0,
            "mean_rps": 20.0,
            "arrival_scv_ratio": 1.0,
            "input_tokens": {"mean": 1285.0},
            "output_tokens": {"mean": 170.0},
            "sequence_tokens": 3544,
            "cached_fraction": 0.0,
            "checkpoint": "bf16",
            "weights_bytes": {"bf16": 141e9, "fp8": 73e9},
            "sequence_bytes": {"bf16": 1.16e9, "fp8": 0.58e9},
        }
        | changes
    )


@pytest.fixture
def make(make_plan, chat_plan):
    """A plan whose only pool has fields replaced."""

    def build(pool=None, **changes):
        return make_plan(pools=[chat_plan.pools[0].model_dump() | (pool or {})], **changes)

    return build


def by_metric(plan):
    return {target.metric: target for target in targets(plan, ALARMS)}


def bounds(target):
    return target.expected, target.low, target.high


def test_ttft_rings_at_the_limit_or_at_30_percent_above_the_plan(make):
    # 1.41 s x 1.3 = 1.833 s; the limit of 1.5 s comes first.
    at_limit = by_metric(make())["ttft_p99_s"]
    assert (bounds(at_limit), at_limit.why) == ((1.41, None, 1.5), "the limit")
    # 0.5 s x 1.3 = 0.65 s comes before the limit.
    early = by_metric(make({"ttft_s": {"p99": 0.5}}))["ttft_p99_s"]
    assert early.high == pytest.approx(0.65)
    assert early.why == "30 % above the plan: size anew"
    assert early.section == "9.1, step 13"


def test_a_limit_on_another_statistic_is_no_alarm_on_p99(make, chat_plan):
    states = [state.model_dump() | {"text": "TTFT mean"} for state in chat_plan.constraints]
    found = by_metric(make(constraints=states))
    assert found["ttft_p99_s"].high == pytest.approx(1.41 * 1.3)
    assert found["itl_p99_s"].high is None


def test_utilization_rings_20_points_below_the_plan(make):
    found = by_metric(make({"utilization": 0.55}))["utilization"]
    assert bounds(found) == (0.55, pytest.approx(0.35), 0.9)
    # A plan that is itself beyond the alarm cannot ring at once.
    assert by_metric(make({"utilization": 0.942}))["utilization"].high == 1.0
    assert by_metric(make({"utilization": 0.1}))["utilization"].low == 0.0


def test_load_batch_and_queue(make):
    found = by_metric(make())
    assert bounds(found["request_rate_rps"]) == (6.0, None, 6.37)
    assert bounds(found["batch_mean"]) == (41.3, None, 96.0)
    assert bounds(found["queue_depth"]) == (0.0, None, 12.0)


def test_memory_and_cache(make):
    found = by_metric(make({"kv_usage": 0.62}))
    # 80.8 GB, of which 8.5 GB are kept free.
    assert bounds(found["gpu_memory_used_ratio"]) == (pytest.approx(1 - 8.5 / 80.8), 0.7, 0.95)
    assert bounds(found["kv_usage_ratio"]) == (0.62, None, 0.9)
    assert bounds(found["eviction_ratio"]) == (0.0, None, 0.05)


def test_only_what_the_plan_uses_is_watched(make):
    plain = by_metric(make())
    for metric in ("prefix_hit_ratio", "adapter_hit_ratio", "spec_acceptance_ratio", "kv_usage_ratio"):
        assert metric not in plain
    problem = {"workloads": [{"name": "chat", "lora": {"adapters": 8}}]}
    drafts = {"kind": "ngram", "tokens": 3, "acceptance": 0.7, "tokens_per_step": 2.1}
    found = by_metric(
        make(
            {"speculation": drafts},
            inputs={"problem": problem, "catalog": "a", "calibration": "b"},
            sizing=[sizing(cached_fraction=0.8)],
        )
    )
    assert bounds(found["prefix_hit_ratio"]) == (0.8, 0.3, None)
    assert bounds(found["adapter_hit_ratio"]) == (None, 0.6, None)
    assert bounds(found["spec_acceptance_ratio"]) == (0.7, 0.5, None)


def test_few_planned_hits_ring_below_the_plan(make):
    found = by_metric(make(sizing=[sizing(cached_fraction=0.2)]))["prefix_hit_ratio"]
    assert bounds(found) == (0.2, 0.2, None)


def test_tokens_per_gpu_hour(make):
    # 6 req/s x 170 tokens x 3600 s over 2 GPUs.
    assert by_metric(make(sizing=[sizing()]))["tokens_per_gpu_h"].expected == pytest.approx(1_836_000)


def test_every_pool_is_a_tier_of_its_own(two_pools):
    found = targets(two_pools, ALARMS)
    assert {(target.pool, target.gpu) for target in found} == {
        ("chat/serve/1", "h100-sxm"),
        ("docs/serve/1", "h200-sxm"),
    }


def test_decode_pools_have_no_queue_and_prefill_pools_no_tokens(make):
    decode = by_metric(make({"role": "decode"}, sizing=[sizing(cached_fraction=0.5)]))
    assert not {"queue_depth", "prefix_hit_ratio"} & set(decode)
    assert "tokens_per_gpu_h" not in by_metric(make({"role": "prefill"}, sizing=[sizing()]))


def test_measured_pools_are_watched_as_far_as_known(make):
    pool = {
        "evidence": "measured",
        "memory_bytes": None,
        "concurrency": None,
        "ttft_s": {"p99": 0.5},
        "itl_s": {},
    }
    assert set(by_metric(make(pool))) == {"ttft_p99_s", "utilization", "request_rate_rps", "queue_depth"}


def test_without_a_plan_there_is_nothing_to_watch(no_plan):
    assert targets(no_plan, ALARMS) == ()


def test_the_catalog_holds_the_alarms_of_the_method():
    judgment = load_catalog().find("judgment", "monitoring")
    assert Alarms.of(judgment) == ALARMS
