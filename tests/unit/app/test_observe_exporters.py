"""Pages of every exporter beside the engines that other tests read, and what a first token is made of."""

from pathlib import Path

import pytest

from planner.app.observe import from_metrics
from planner.errors import InputError
from planner.loaders.metric_names import load_metric_names

SAMPLES = Path(__file__).parents[2] / "data" / "pages"
BESIDE = ("process", "http-server")
EXPECTED = {
    "endpoint-picker": {
        "kv_usage_ratio": 0.5,
        "queue_depth": 3,
        "ready_replicas": 4,
        "router_queue_depth": 7,
        "request_failure_ratio": 0.1,
    },
    "llama-cpp": {"engine": "llama-cpp", "queue_depth": 9, "batch_mean": 1, "itl_mean_s": 0.02},
    "tgi": {"engine": "tgi", "queue_depth": 5, "batch_mean": 12, "queue_time_mean_s": 0.5, "step_s": 0.05},
    "triton": {
        "batch_mean": 8,
        "queue_depth": 2,
        "max_batch": 64,
        "kv_usage_ratio": 0.25,
        "queue_time_mean_s": 0.5,
        "host_cpu_ratio": 0.5,
        "gpu_memory_used_ratio": 0.875,
    },
    "production-stack": {"in_flight": 10, "ready_replicas": 2, "replica_imbalance_ratio": 1.5},
    "dynamo": {"router_queue_depth": 5, "in_flight": 30},
    "dynamo-worker": {"kv_usage_ratio": 0.9, "batch_mean": 6, "prefix_hit_ratio": 0.4},
    "ray-serve": {"router_queue_depth": 11, "batch_mean": 6, "replica_imbalance_ratio": 1.5},
    "amd-device": {
        "gpu_utilization_ratio": 0.6,
        "gpu_load_spread_ratio": 1.5,
        "gpu_memory_used_ratio": 0.5,
        "gpu_temperature_c": 71,
    },
    "dcgm": {
        "gpu_clock_ratio": 0.5,
        "throttle_reason": "thermal",
        "xid_error": 94,
        "memory_remap_failed": True,
    },
    "dcgm-health": {"gpu_unhealthy": True},
    "cadvisor": {
        "host_cpu_throttled_ratio": 0.25,
        "host_memory_used_ratio": 0.75,
        "process_memory_bytes": 30,
    },
    "node-exporter": {"host_cpu_ratio": 0.8, "host_memory_used_ratio": 0.75, "host_oom": None},
    "process": {"process_memory_bytes": 5000000000.0},
    "http-server": {"http_error_ratio": 0.1},
    "vllm": {"engine": "vllm", "batch_mean": 4, "kv_usage_ratio": 0.5},
}


def page(tmp_path, text, name="page.txt"):
    path = tmp_path / name
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("exporter", EXPECTED)
def test_every_exporter_is_understood(exporter):
    readout = from_metrics([str(SAMPLES / f"{exporter}.prom")])
    beside = ("vllm",) if exporter in BESIDE else ()
    assert readout.exporters == (*beside, exporter)
    found, expected = readout.observation.model_dump(), EXPECTED[exporter]
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_every_exporter_of_the_catalog_is_tried():
    tried = {*EXPECTED, "sglang", "tensorrt-llm"}
    assert {one.id for one in load_metric_names().exporters} == tried


def test_a_first_token_is_split():
    found = from_metrics([str(SAMPLES / "first-token.prom")]).observation
    shares = (
        found.ttft_queue_ratio,
        found.ttft_prefill_ratio,
        found.ttft_kv_transfer_ratio,
        found.ttft_rest_ratio,
    )
    assert shares == pytest.approx((0.6, 0.25, 0.05, 0.1))
    assert (found.ttft_mean_s, found.queue_time_mean_s, found.prefill_time_mean_s) == pytest.approx(
        (2, 1.2, 0.5)
    )
    assert found.queue_time_p50_s == pytest.approx(1)
    assert (found.waiting_for_capacity, found.waiting_deferred) == (14, 2)
    assert (found.kv_cache_tokens, found.kv_block_tokens, found.memory_share_ratio) == (16_000, 16, 0.9)
    assert (found.output_cut_ratio, found.request_failure_ratio) == pytest.approx((0.3, 0.1))
    assert found.kv_block_lifetime_s == 30


@pytest.mark.parametrize("name", BESIDE)
def test_what_any_program_exports_is_no_known_page(tmp_path, name):
    lines = (SAMPLES / f"{name}.prom").read_text().splitlines(keepends=True)
    readout = from_metrics([page(tmp_path, "".join(lines[1:]))])
    assert readout.exporters == ()
    assert not readout.observation.model_fields_set


def test_a_counter_of_failures_needs_two_samples(tmp_path):
    before = page(tmp_path, "node_vmstat_oom_kill 3\nnode_memory_MemTotal_bytes 4\n", "a")
    after = page(tmp_path, "node_vmstat_oom_kill 4\nnode_memory_MemTotal_bytes 4\n", "b")
    assert from_metrics([before, after], 15).observation.host_oom is True
    assert from_metrics([before]).observation.host_oom is None


def test_old_names_tell_the_version(tmp_path):
    readout = from_metrics([page(tmp_path, 'vllm:gpu_cache_usage_perc{engine="0"} 0.5\n')])
    assert readout.observation.kv_usage_ratio == 0.5
    assert any("vllm:gpu_cache_usage_perc is a name from before" in note.text for note in readout.notes)


def test_of_values_that_few_export_only_what_is_there_is_told(tmp_path):
    readout = from_metrics([page(tmp_path, 'vllm:num_requests_running{engine="0"} 4\n')])
    missing = {note.metric for note in readout.notes if note.kind == "missing"}
    assert "ttft_p99_s" in missing
    assert "queue_time_p50_s" not in missing


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        ("{take: part, of: [kv], to: [kv]}", "part of kv, a gauge"),
        ("{take: spread, of: [kv], quantile: 0.5}", "spread with quantile"),
        ("{take: bits, of: [kv]}", "bits with words"),
        ("{take: value, of: [kv], replicas: max, complement: true}", "value with complement"),
        ("{take: ever, of: [kv]}", "ever of kv, a gauge"),
    ],
)
def test_impossible_rules_are_refused(tmp_path, reading, said):
    (tmp_path / "metrics").mkdir()
    text = f"""
kind: exporter
id: mine
name: Mine
version: "1"
prefix: "mine:"
path: /metrics
order: 5
source: a
series: {{kv: {{names: [kv_usage], type: gauge, unit: fraction, renamed: {{kv_usage: "2"}}}}}}
readings: {{kv_usage_ratio: [{reading}]}}
sources: {{a: {{title: a, date: 2026-11-21, grade: B}}}}
"""
    (tmp_path / "metrics" / "mine.yaml").write_text(text)
    with pytest.raises(InputError, match=said):
        load_metric_names([tmp_path])
    (tmp_path / "metrics" / "mine.yaml").write_text(text.replace('{kv_usage: "2"}', '{other: "2"}'))
    with pytest.raises(InputError, match="one of the names"):
        load_metric_names([tmp_path])
