"""Experts whole on their GPUs or cut over them: what estimate, curve and plan say of either."""

from __future__ import annotations

import json

import pytest

from planner.interfaces import cli

REQUEST = ["--isl", "2000", "--osl", "300", "--json"]
DEEPSEEK = ["--model", "deepseek-v3", "--gpu", "h200-sxm", "--engine", "sglang", "--tp", "8"]
PADDED = ["--model", "gpt-oss-120b", "--gpu", "h100-sxm", "--tp", "8"]


@pytest.fixture
def answer(capsys):
    """The JSON of a command, and its exit code."""

    def ask(*words):
        code = cli.run([*words, *REQUEST])
        return json.loads(capsys.readouterr().out), code

    return ask


def test_whole_experts_leave_gpus_idle_with_few_requests_and_move_less_with_long_prompts(answer):
    cut, spread = (answer("estimate", *DEEPSEEK, "--ep", ep, "--concurrency", "2")[0] for ep in "18")
    assert spread["option"] != cut["option"]
    # 256 experts divide by 8: the same bytes. A token picks 8 of them, and one GPU reads more than the mean.
    assert spread["memory_bytes"] == cut["memory_bytes"]
    assert spread["decode_step_s"] > 1.05 * cut["decode_step_s"]
    assert spread["output_tokens_per_s"] < cut["output_tokens_per_s"]
    # 8 GPUs that cut experts move the rows of all of them, and chance evens out over 2,000 tokens.
    assert spread["prefill_s"] < cut["prefill_s"]


def test_cut_experts_are_padded_on_every_gpu(answer):
    """2,880 inner values: 3,072 whole, 8 x 512 where they are cut over eight GPUs."""
    cut, spread = (answer("estimate", *PADDED, "--ep", ep)[0]["memory_bytes"] for ep in "18")
    experts = 36 * 128 / 8 * 3 * 2880 * (4096 - 3072) * 4.25 / 8
    assert cut["weights"] - spread["weights"] == pytest.approx(experts)
    assert spread["kv_cache"] > cut["kv_cache"]


def test_a_stated_hot_rank_slows_whole_experts_alone(tmp_path, capsys):
    """Through a problem file, where experts are stated; one layout each."""

    def cheapest(ep, imbalance):
        path = tmp_path / f"{ep}-{imbalance}.yaml"
        path.write_text(
            "name: hot\n"
            "workloads:\n"
            "  - {name: w, model: deepseek-v3, demand: {peak_rps: 30}, engine: sglang,\n"
            "     lengths: {input: {fixed: 2000}, output: {fixed: 300}}, slo: {itl_p99: 100 ms},\n"
            f"     precision: {{weights: [fp8], kv: [bf16]}}, experts: {{imbalance: {imbalance}}}}}\n"
            "fleet: {prices: {h200-sxm: 2 USD/h}, accelerators: [h200-sxm]}\n"
            f"search: {{tp: [8], pp: [1], ep: [{ep}], attention_dp: [1], modes: [aggregated]}}\n"
        )
        assert cli.run(["plan", str(path), "--json"]) == 0
        return json.loads(capsys.readouterr().out)["cost_usd_per_hour"]

    assert cheapest(1, 1.0) == cheapest(1, 3.0)
    assert cheapest(8, 1.0) < cheapest(8, 3.0)


def test_a_curve_follows_the_ranks_too(answer):
    cut, spread = (answer("curve", *DEEPSEEK, "--ep", ep, "--concurrency-max", "2")[0] for ep in "18")
    for one, other in zip(cut["points"], spread["points"], strict=True):
        assert other["tpot_s"]["mean"] > one["tpot_s"]["mean"]


@pytest.mark.parametrize("command", ["estimate", "curve"])
def test_a_model_without_experts_has_none_to_spread(answer, command):
    found, code = answer(command, "--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--tp", "8", "--ep", "8")
    assert code == 1
    assert [reason["id"] for reason in found["cannot_run"]] == ["expert-parallel-of-dense-model"]


@pytest.mark.parametrize(
    ("engine", "ep", "says"),
    [
        ("vllm", "4", "must be all GPUs of a stage, or 1 (8)"),
        ("sglang", "3", "must divide the GPUs of a stage (8)"),
        ("sglang", "16", "must divide the GPUs of a stage (8)"),
    ],
)
def test_ranks_that_an_engine_cannot_run_are_refused_with_the_reason(answer, engine, ep, says):
    layout = ["--model", "deepseek-v3", "--gpu", "h200-sxm", "--tp", "8", "--engine", engine, "--ep", ep]
    found, code = answer("estimate", *layout)
    assert code == 1
    (reason,) = found["cannot_run"]
    assert reason["id"] == "divisibility"
    assert says in reason["text"]


def test_some_engines_cut_the_experts_of_a_rank(answer):
    """Between both in time: 4 ranks of 2 GPUs."""
    cut, middle, spread = (
        answer("estimate", *DEEPSEEK, "--ep", ep, "--concurrency", "2")[0]["decode_step_s"] for ep in "148"
    )
    assert cut < middle < spread
