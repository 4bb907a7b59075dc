"""Formats as users name them: checkpoints, mixes by part, INT8 caches, GGUF, and their loss of quality."""

from __future__ import annotations

import json

import pytest

from planner.interfaces import cli

REQUEST = ["--isl", "1000", "--osl", "100", "--concurrency", "8", "--json"]
GIB = 2**30


@pytest.fixture
def estimate(capsys):
    """The JSON of an estimate, and its exit code."""

    def ask(*words):
        code = cli.run(["estimate", *words, *REQUEST])
        return json.loads(capsys.readouterr().out), code

    return ask


@pytest.fixture
def answer(tmp_path, capsys):
    """What a command says of a small problem, and its exit code."""

    def ask(command, workload, *words):
        path = tmp_path / "quality.yaml"
        path.write_text(
            "name: quality\n"
            "workloads:\n"
            "  - {name: chat, demand: {peak_rps: 5}, lengths: {input: {fixed: 500}, output: {fixed: 100}},\n"
            f"     slo: {{itl_p99: 100 ms}}, {workload}}}\n"
            "fleet: {accelerators: [h100-sxm], prices: {h100-sxm: 2.5 USD/h}}\n"
            "search: {tp: [1], pp: [1], modes: [aggregated]}\n"
        )
        code = cli.run([command, str(path), *words, "--json"])
        return json.loads(capsys.readouterr().out), code

    return ask


def test_the_name_of_a_checkpoint_means_model_and_format(estimate):
    """Llama-3.1-8B: 6.98e9 weights in layers, 1.05e9 of embedding and head in 16 bit."""
    layers, ends = 8_030_261_248 - 2 * 128256 * 4096, 2 * 128256 * 4096 * 2
    for name, bits in (
        ("RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic", 8),
        ("neuralmagic/Meta-Llama-3.1-8B-Instruct-quantized.w4a16", 4.25),
        ("anyone/Llama-3.1-8B-Instruct-AWQ", 4 + 20 / 128),
    ):
        found, code = estimate("--model", name, "--gpu", "a100-sxm")
        assert code == 0
        assert found["memory_bytes"]["weights"] == pytest.approx(layers * bits / 8 + ends, rel=1e-3), name


def test_gguf_keeps_embedding_and_head_narrow_too(estimate):
    found, _ = estimate("--model", "someone/Llama-3.1-8B-Instruct-GGUF:Q5_K_M", "--gpu", "a100-sxm")
    assert found["memory_bytes"]["weights"] == pytest.approx(8_030_261_248 * 5.68 / 8, rel=1e-3)
    slower, _ = estimate("--model", "llama-3.1-8b", "--weights", "Q4_K_M", "--gpu", "a100-sxm")
    faster, _ = estimate("--model", "llama-3.1-8b", "--weights", "awq", "--gpu", "a100-sxm")
    assert slower["prefill_s"] > 1.5 * faster["prefill_s"]


def test_a_mix_by_part_weighs_its_parts(estimate):
    """Head of 151,936 x 2,048 values in 8 instead of 16 bits; attention in 8 instead of 16."""
    words = ("--model", "qwen3-30b-a3b", "--gpu", "h100-sxm")
    plain, _ = estimate(*words, "--weights", "int4")
    mixed, _ = estimate(*words, "--weights", "int4+attention=fp8+head=fp8")
    attention = 48 * (2048 * (32 + 2 * 4) * 128 + 32 * 128 * 2048)
    gone = plain["memory_bytes"]["weights"] - mixed["memory_bytes"]["weights"]
    assert gone == pytest.approx(attention + 151936 * 2048, rel=1e-3)
    assert mixed["decode_step_s"] < plain["decode_step_s"]


def test_a_cache_in_int8_holds_more_than_in_16_bits(estimate):
    words = ("--model", "llama-3.1-8b", "--gpu", "h100-sxm")
    wide, _ = estimate(*words, "--kv", "bf16")
    narrow, _ = estimate(*words, "--kv", "int8")
    assert narrow["max_batch"] >= wide["max_batch"]
    assert narrow["decode_step_s"] < wide["decode_step_s"]


def test_a_mix_of_parts_that_nobody_knows_is_refused(capsys):
    words = ["--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--weights", "int4+lm_head=fp8"]
    assert cli.run(["estimate", *words, *REQUEST]) == 2
    assert '"int4+lm_head=fp8"' in capsys.readouterr().err


def test_engines_refuse_formats_without_kernels_on_an_architecture(answer):
    """SGLang on Hopper takes AWQ; TensorRT-LLM takes no GGUF."""
    found, code = answer("plan", "model: llama-3.1-8b, engine: sglang, precision: {weights: [awq]}")
    assert (code, found["pools"][0]["weights"]) == (0, "awq")
    found, code = answer("plan", "model: llama-3.1-8b, engine: tensorrt-llm, precision: {weights: [Q4_K_M]}")
    assert code == 1
    assert "weights-format-unsupported" in {item["id"] for item in found["removed"]}


def test_a_plan_takes_no_format_that_costs_more_quality_than_allowed(answer):
    formats = "model: llama-3.1-8b, precision: {weights: [bf16, int8, mxfp4], kv: [bf16, fp8]}"
    free, _ = answer("plan", formats)
    kept, _ = answer("plan", f"{formats}, max_quality_loss: 0 %")
    assert {pool["weights"] for pool in kept["pools"]} == {"bf16"}
    assert {pool["kv"] for pool in kept["pools"]} == {"bf16"}
    assert free["cost_usd_per_hour"] <= kept["cost_usd_per_hour"]
    state = next(item for item in kept["constraints"] if item["id"] == "max-quality-loss:chat")
    assert (state["value"], state["limit"], state["unit"]) == (0.0, 0.0, "fraction")


def test_a_plan_warns_of_published_losses_and_of_formats_without_one(answer):
    found, _ = answer("plan", "model: llama-3.1-8b, precision: {weights: [int8], kv: [fp8]}")
    warnings = "\n".join(found["warnings"])
    assert "weights in INT8: up to 3 % of quality lost by what is published (academic benchmarks" in warnings
    assert "KV cache in FP8: up to 1 %" in warnings
    found, _ = answer("plan", "model: llama-3.1-8b, precision: {weights: [mxfp4], kv: [bf16]}")
    assert "weights in MXFP4: no published figure" in "\n".join(found["warnings"])


def test_relax_says_which_loss_would_do(answer):
    formats = "model: llama-3.1-8b, precision: {weights: [int8], kv: [bf16]}, max_quality_loss: 1 %"
    found, code = answer("plan", formats)
    assert (code, found["status"]) == (1, "infeasible")
    found, code = answer("relax", formats)
    assert code == 0
    assert ["max-quality-loss:chat", "precision:chat"] in found["conflicts"]
    moved = [c for item in found["relaxations"] for c in item["changes"] if c["id"].startswith("max-quality")]
    assert [(c["from"], c["to"], c["unit"]) for c in moved] == [(0.01, 0.03, "fraction")]
