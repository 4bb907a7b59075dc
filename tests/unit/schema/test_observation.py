import pytest
from pydantic import ValidationError

from planner.schema.observation import Observation
from planner.schema.observed_evidence import ObservedEvidence
from planner.schema.observed_settings import ObservedSettings
from planner.schema.observed_signs import ObservedSigns

# The closed list of names, as the documentation of `diagnose` gives it.
NAMES = [
    "ttft_p50_s",
    "ttft_p99_s",
    "itl_p50_s",
    "itl_p99_s",
    "e2e_p99_s",
    "queue_depth",
    "queue_growth_per_s",
    "request_rate_rps",
    "requests_rejected_per_s",
    "goodput_ratio",
    "kv_usage_ratio",
    "preemptions_per_s",
    "eviction_ratio",
    "prefix_hit_ratio",
    "prefix_reuse_expected",
    "gpu_compute_ratio",
    "gpu_memory_used_ratio",
    "memory_bandwidth_ratio",
    "gpu_utilization_ratio",
    "interconnect_ratio",
    "oom",
    "host_oom",
    "replicas_idle_ratio",
    "spec_acceptance_ratio",
    "adapter_hit_ratio",
    "adapter_eviction_per_s",
    "cold_start_s",
    "batch_mean",
    "max_batch",
    "tp",
    "link",
    "batching",
    "chunked_prefill",
    "prefix_caching",
    "kv_precision",
    "expert_overflow_ratio",
    "expert_imbalance_ratio",
    "routing",
    "mode",
    "prefill_queue_depth",
    "decode_eviction_ratio",
    "kv_transfer_s",
    "input_tokens_p50",
    "input_tokens_p99",
    "max_input_tokens",
    "max_output_tokens",
    "sessions_stateless",
    "version_mismatch",
    "slo",
]


MORE_NAMES = ["fleet_utilization_ratio", "gpu_types", "driver_version", "cuda_version"]
"""Asked for by rules of the manuals beyond those names."""


def test_names_are_the_closed_list():
    parts = (ObservedSettings, ObservedEvidence, ObservedSigns)
    mixed_in = {name for part in parts for name in part.model_fields}
    assert len(mixed_in) == sum(len(part.model_fields) for part in parts)
    own = set(Observation.model_fields) - mixed_in
    assert sorted(own) == sorted([*NAMES, *MORE_NAMES])
    assert not mixed_in & {*NAMES, *MORE_NAMES}


def test_everything_is_optional_and_null_differs_from_absent():
    assert Observation().model_fields_set == set()
    unlimited = Observation.model_validate({"max_input_tokens": None})
    assert unlimited.model_fields_set == {"max_input_tokens"}


@pytest.mark.parametrize(
    "values",
    [
        {"kv_usage_ratio": 1.2},
        {"kv_usage_ratio": float("nan")},
        {"ttft_p99_s": -1},
        {"oom": "sometimes"},
        {"link": "NVLink"},
        {"gpu": "h100"},
        {"slo": {"ttft_p99": 1.0}},
        {"tp": 0},
    ],
)
def test_impossible_values_are_refused(values):
    with pytest.raises(ValidationError):
        Observation.model_validate(values)


def test_a_draining_queue_has_negative_growth():
    assert Observation(queue_growth_per_s=-3.0).queue_growth_per_s == -3.0
