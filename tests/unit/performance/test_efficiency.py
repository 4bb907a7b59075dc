"""MFU, MBU, intensity and goodput against figures worked out by hand."""

from __future__ import annotations

import json

import pytest
from sample_plans import PROBLEMS, sample

from planner.app.estimate import estimate
from planner.interfaces import cli

LAYERS, HEADS, HEAD_SIZE, HIDDEN, VOCABULARY = 80, 64, 128, 8192, 128256
PARAMS = 70_553_706_496
PEAK, BANDWIDTH = 989.4e12, 3.35e12
"""Llama 3.3 70B in 16 bit on H100 SXM."""


def shown(**more):
    asked = {"model": "llama-3.3-70b", "gpu": "h100-sxm", "tp": 4, "isl": 1000, "osl": 300, "weights": "bf16"}
    return estimate(**{**asked, "kv": "bf16", **more})


def test_mfu_counts_the_flops_of_the_model_over_the_dense_peak():
    found = shown(concurrency=64)
    body = 2 * (PARAMS - 2 * HIDDEN * VOCABULARY)
    head, per_context = 2 * HIDDEN * VOCABULARY, 4 * LAYERS * HEADS * HEAD_SIZE
    prompt = 1000 * (body + per_context * 500) + head
    answer = 299 * (body + head + per_context * 1150)
    expected = found.requests_per_s * (prompt + answer) / (4 * PEAK)
    assert found.efficiency.mfu == pytest.approx(expected, rel=2e-3)


def test_mbu_of_one_request_is_the_weights_and_its_cache_over_the_step():
    found = shown(concurrency=1, isl=200, osl=200)
    weights = 2 * (PARAMS - HIDDEN * VOCABULARY) / 4
    cache = 2 * 2 * 8 * HEAD_SIZE * LAYERS * 300 / 4
    step_s = found.itl_s["mean"]
    assert found.efficiency.mbu == pytest.approx((weights + cache) / step_s / BANDWIDTH, rel=1e-2)
    assert found.efficiency.arithmetic_intensity["decode"] == pytest.approx(1.0, rel=0.02)


def test_a_larger_batch_moves_decode_from_bandwidth_to_arithmetic():
    alone, many = (shown(concurrency=number).efficiency for number in (1, 64))
    assert alone.mfu < many.mfu < 1.0
    assert many.arithmetic_intensity["decode"] > 20 * alone.arithmetic_intensity["decode"]
    assert alone.arithmetic_intensity["decode"] < alone.ridge_flops_per_byte
    assert alone.arithmetic_intensity["prefill"] > alone.ridge_flops_per_byte
    assert alone.ridge_flops_per_byte == pytest.approx(PEAK / BANDWIDTH, rel=1e-3)


def test_money_buys_as_many_first_tokens_as_requests():
    found = shown(concurrency=8)
    expected = found.requests_per_s * 3600 / found.usd_per_hour
    assert found.efficiency.first_tokens_per_usd == pytest.approx(expected)
    assert found.efficiency.goodput_rps_per_gpu is None, "no limits, no goodput"


@pytest.mark.parametrize("path", PROBLEMS[:6] + PROBLEMS[-1:], ids=lambda path: path.stem)
def test_no_pool_exceeds_its_hardware_and_goodput_is_its_capacity(path):
    plan = sample(path)[1]
    for pool in plan.pools:
        figures = pool.efficiency
        assert 0.0 < figures.mfu < 1.0
        assert figures.mbu is None or 0.0 < figures.mbu < 1.0
        assert (figures.mbu is None) == (pool.role == "prefill")
        assert set(figures.arithmetic_intensity) <= {"prefill", "decode"}
        if figures.goodput_rps_per_gpu is not None:
            assert figures.goodput_rps_per_gpu * pool.gpus_per_replica == pytest.approx(pool.capacity_rps)


def test_the_commands_show_the_figures(capsys):
    chat = str(PROBLEMS[0])
    assert cli.run(["plan", chat]) == 0
    assert "MFU" not in capsys.readouterr().out
    assert cli.run(["plan", chat, "--details"]) == 0
    page = capsys.readouterr().out
    for words in (
        "Efficiency at the planned load",
        "MFU",
        "MBU, decode",
        "goodput of a GPU",
        "first tokens per USD",
    ):
        assert words in page
    words = [
        "estimate",
        "--model",
        "llama-3.3-70b",
        "--gpu",
        "h100-sxm",
        "--tp",
        "4",
        "--isl",
        "9",
        "--osl",
        "1",
    ]
    assert cli.run(words) == 0
    assert "arithmetic intensity, prefill" in capsys.readouterr().out
    assert cli.run([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["efficiency"]["mbu"] is None
