"""Sparse observations against the manuals: layer and knob first, and nothing when healthy."""

import operator
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.app.diagnose import checked_rulebook
from planner.diagnosis import findings
from planner.diagnosis.graph import build
from planner.diagnosis.known import known_from
from planner.loaders.observed import observed_values
from planner.loaders.yaml_source import Document, read_document

ROOT = Path(__file__).parents[3]
BOOK = checked_rulebook()
GRAPH = build(BOOK)
FAULTS = {row["name"]: row for row in read_document(ROOT / "tests/data/observed_faults.yaml").value["faults"]}
NAMES = sorted(FAULTS)
OPS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "in": lambda one, many: one in many, "not-in": lambda one, many: one not in many,
}  # fmt: skip

# Values inside the targets of the manuals: guide 7.7 and 9.3, Dielabs loop 1; limits of 1.5 s and 60 ms.
HEALTHY = {
    "ttft_p50_s": ("0.1", "0.7"), "ttft_p99_s": ("0.7", "1.5"), "itl_p50_s": ("0.01", "0.03"),
    "itl_p99_s": ("0.03", "0.06"), "queue_depth": ("0", "0.9"), "goodput_ratio": ("0.96", "1"),
    "kv_usage_ratio": ("0.75", "0.9"), "eviction_ratio": ("0", "0.05"), "prefix_hit_ratio": ("0.3", "1"),
    "gpu_compute_ratio": ("0.6", "0.85"), "gpu_memory_used_ratio": ("0.8", "0.9"),
    "memory_bandwidth_ratio": ("0.4", "0.95"), "gpu_utilization_ratio": ("0.6", "0.9"),
    "fleet_utilization_ratio": ("0.6", "0.8"), "interconnect_ratio": ("0", "0.69"),
    "spec_acceptance_ratio": ("0.6", "0.95"), "adapter_hit_ratio": ("0.8", "1"),
    "cold_start_s": ("20", "110"), "expert_imbalance_ratio": ("1", "1.3"), "batch_mean": ("1", "256"),
    "decode_eviction_ratio": ("0", "0.05"), "kv_transfer_s": ("0.001", "0.05"),
    "input_tokens_p50": ("100", "8000"), "prefill_queue_depth": ("0", "1"),
}  # fmt: skip
SETTINGS = {
    "mode": ("aggregated", "disaggregated"), "link": ("nvlink",), "tp": (1, 2, 4, 8), "oom": ("none",),
    "batching": ("continuous",), "chunked_prefill": (True, False), "prefix_caching": (True,),
    "prefix_reuse_expected": (True, False), "routing": ("round-robin", "cache-aware", "load-aware"),
    "kv_precision": ("bf16", "fp8"), "host_oom": (False,), "version_mismatch": (False,), "max_batch": (256,),
    "sessions_stateless": (False,), "max_input_tokens": (32768,), "max_output_tokens": (4096,),
    "queue_growth_per_s": (Decimal("-0.5"), 0), "preemptions_per_s": (0,), "replicas_idle_ratio": (0,),
    "adapter_eviction_per_s": (0,), "requests_rejected_per_s": (0,), "expert_overflow_ratio": (0,),
    "request_rate_rps": (5, 50), "gpu_types": (1,),
}  # fmt: skip


def known(values):
    return known_from(observed_values(Document("observation", b"", values)))


def diagnosed(values):
    return findings.diagnose(GRAPH, BOOK, known(values))


def within(low, high):
    return st.decimals(Decimal(low), Decimal(high), places=3)


@pytest.mark.parametrize("name", NAMES)
def test_layer_and_knob_of_the_manuals_come_first(name):
    row = FAULTS[name]
    first = diagnosed(row["seen"]).findings[0]
    assert (first.layer, first.actions[0].knob) == (row["layer"], row["knob"])


@pytest.mark.parametrize("name", NAMES)
def test_healthy_twins_have_no_finding(name):
    row = FAULTS[name]
    assert diagnosed({**row["seen"], **row["healthy"]}).findings == ()


@given(
    st.fixed_dictionaries({}, optional={name: within(*bounds) for name, bounds in HEALTHY.items()}),
    st.fixed_dictionaries({}, optional={name: st.sampled_from(some) for name, some in SETTINGS.items()}),
)
def test_values_within_the_targets_have_no_finding(numbers, names):
    limits = {"ttft_p99_s": Decimal("1.5"), "itl_p99_s": Decimal("0.06")}
    assert diagnosed({**numbers, **names, "slo": limits}).findings == ()


@settings(max_examples=200)
@given(st.sampled_from(NAMES), st.sampled_from(NAMES), st.data())
def test_evidence_is_what_was_seen_and_nothing_else(one, other, data):
    seen = {**FAULTS[one]["seen"], **FAULTS[other]["seen"]}
    kept = data.draw(st.sets(st.sampled_from(sorted(seen))))
    values = known({name: seen[name] for name in kept})
    for finding in findings.diagnose(GRAPH, BOOK, values).findings:
        assert finding.evidence
        for part in finding.evidence:
            assert part.metric in values
            assert OPS[part.op](part.value, part.threshold)
