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
