"""Limits on step times that follow model and accelerator."""

import planner

SEEN = {"gpu_model": "h100-sxm", "batch_mean": 1.0, "queue_depth": 0.0}
LARGE = {"model": "llama-3.1-405b", "itl_p50_s": 0.055, "tp": 8, "weights_precision": "fp8"}


def test_the_same_time_between_tokens_is_slow_for_a_small_model_only():
    small = planner.diagnose(SEEN | {"model": "llama-3.1-8b", "itl_p50_s": 0.045})
    assert small.findings[0].rule == "cuda-graphs-off"
    large = planner.diagnose(SEEN | LARGE | {"batch_mean": 64.0})
    assert large.findings == ()


def test_unknown_names_are_noted_and_usual_values_hold():
    found = planner.diagnose(SEEN | {"model": "no-such-model", "itl_p50_s": 0.09})
    assert found.findings
    assert any("no prediction" in note.text for note in found.notes)


def test_minutes_are_a_slow_start_for_a_small_model_only():
    start = {"gpu_model": "h100-sxm", "cold_start_s": 200.0, "weights_precision": "bf16"}
    small = planner.diagnose(start | {"model": "llama-3.1-8b", "tp": 1})
    assert "replicas-start-slowly" in small.symptoms
    large = planner.diagnose(start | {"model": "llama-3.1-405b", "tp": 8, "weights_precision": "fp8"})
    assert "replicas-start-slowly" not in large.symptoms
    unknown = planner.diagnose({"cold_start_s": 200.0})
    assert "replicas-start-slowly" in unknown.symptoms


def test_a_kv_transfer_is_slow_against_the_prefill_that_it_moves():
    moved = {"gpu_model": "h100-sxm", "model": "llama-3.1-8b", "kv_transfer_s": 0.2, "mode": "disaggregated"}
    short = planner.diagnose(moved | {"input_tokens_p50": 500})
    assert "kv-transfer-slow" in short.symptoms
    long = planner.diagnose(moved | {"input_tokens_p50": 16_000})
    assert "kv-transfer-slow" not in long.symptoms
