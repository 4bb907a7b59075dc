"""Error bars through the command line: wider away from measured rows, said in words, and planned with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.interfaces import cli

NUMBERS = ("throughput", "tpot", "ttft")
CATALOG = Path(__file__).resolve().parents[2] / "catalog"
SMALL = ("--model", "llama-3.1-8b", "--isl", "2000", "--osl", "300", "--weights", "fp8")
FLAGS = (*SMALL, "--concurrency", "16")
EXPERTS = ("--model", "gpt-oss-120b", "--gpu", "h200-sxm", "--tp", "8", "--ep", "8", "--isl", "500")
PROBLEM = """
name: small
workloads:
  - {name: chat, model: llama-3.1-8b, demand: {peak_rps: 40}, slo: {itl_p99: 60 ms},
     lengths: {input: {fixed: 1000}, output: {fixed: 200}}}
fleet:
  accelerators: [GPU]
  prices: {GPU: 3 USD/h}
search: {modes: [aggregated], max_batch: [BATCH]}
"""


@pytest.fixture
def invented(tmp_path):
    """An overlay with a GPU of 40 TB/s that nobody has measured."""

    def make(architecture):
        text = (CATALOG / "accelerators" / "h100-80gb-sxm.yaml").read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if not line.startswith("aliases")]
        text = "\n".join(lines).replace("h100-80gb-sxm", "dream").replace("H100-80GB-SXM", "Dream")
        text = text.replace("3350 GB/s", "40000 GB/s").replace(
            "architecture: hopper", f"architecture: {architecture}"
        )
        folder = tmp_path / architecture / "accelerators"
        folder.mkdir(parents=True)
        (folder / "dream.yaml").write_text(text, encoding="utf-8")
        return str(folder.parent)

    return make


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm"])
@pytest.mark.parametrize("architecture", ["hopper", "blackwell", "gaudi3"])
def test_an_invented_gpu_has_at_least_twice_the_spread_of_an_h100(told, invented, architecture, engine):
    flags = (*FLAGS, "--engine", engine)
    known = told("estimate", *flags, "--gpu", "h100-sxm")
    dream = told("estimate", *flags, "--gpu", "dream", "--catalog", invented(architecture))
    assert known["outside_measured"] == []
    assert any(architecture in text for text in dream["outside_measured"])
    for number in NUMBERS:
        assert dream["uncertainty"][number] >= 2.0 * known["uncertainty"][number], number


def test_gpus_without_rows_are_wider_than_their_measured_kin(told):
    gpus = ("b200", "b300", "rtx-pro-6000-server", "mi355x")
    found = {gpu: told("estimate", *FLAGS, "--gpu", gpu) for gpu in gpus}
    spread = {gpu: answer["uncertainty"]["tpot"] for gpu, answer in found.items()}
    assert spread["b200"] < spread["b300"] < spread["rtx-pro-6000-server"]
    assert found["b300"]["outside_measured"] == ["b300-sxm: not measured (blackwell: b200-sxm, gb200-nvl72)"]
    assert found["mi355x"]["outside_measured"] == ["cdna4: no measured rows of this accelerator architecture"]


def test_a_batch_beyond_the_measured_ones_is_said_and_wider(told, capsys):
    moe = (*EXPERTS, "--osl", "200")
    found = {load: told("estimate", *moe, "--concurrency", str(load)) for load in (8, 1000)}
    (text,) = [text for text in found[1000]["outside_measured"] if text.startswith("batch")]
    assert text.startswith("batch 1,000 on h200-141gb-sxm with TP 8 × EP 8: largest measured ")
    assert not [text for text in found[8]["outside_measured"] if text.startswith("batch")]
    for number in NUMBERS:
        assert found[1000]["uncertainty"][number] > found[8]["uncertainty"][number]
    assert cli.run(["estimate", *moe, "--concurrency", "1000"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "Outside what was measured, so the spread is wider:" in page
    assert text in page
    curve = told("curve", *moe, "--concurrency-max", "1000")
    assert text in curve["outside_measured"]
    assert curve["uncertainty"] == pytest.approx(found[1000]["uncertainty"])


@pytest.mark.parametrize("gpu", ["h100-sxm", "b300"])
def test_plans_say_it_and_keep_the_wider_margin(told, tmp_path, capsys, gpu):
    problem = tmp_path / "small.yaml"
    problem.write_text(PROBLEM.replace("GPU", gpu).replace("BATCH", "256"), encoding="utf-8")
    plan = told("plan", str(problem))
    (pool,) = plan["pools"]
    text = "b300-sxm: not measured (blackwell: b200-sxm, gb200-nvl72)"
    assert (text in pool["outside_measured"]) == (gpu == "b300")
    assert cli.run(["plan", str(problem), "--details"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert (f"{pool['id']}: {text}; benchmark it before you buy" in page) == (gpu == "b300")
    # At confidence 50 % the spread does not count.
    even = told("whatif", str(problem), "--set", "confidence=50 %")["after"]["pools"][0]
    assert even["capacity_rps"] > pool["capacity_rps"]


def test_what_the_user_measured_is_not_outside(told, tmp_path):
    flags = (*SMALL, "--gpu", "b300")
    before = told("estimate", *flags, "--concurrency", "16")
    (tmp_path / "user_factors").mkdir()
    what = {"model": "llama-3.1-8b", "accelerator": "b300-sxm", "engine": "vllm", "source": "me"}
    rows = {"step_factor": 1.0, "sigma_log": 0.05, "ttft_sigma_log": 0.1, "rows": 3}
    entry = {
        "kind": "user-factors", "id": "mine", "name": "Mine",
        "factors": [{**what, **rows}],
        "sources": {"me": {"title": "my benchmark", "date": "2026-11-23"}},
    }  # fmt: skip
    (tmp_path / "user_factors" / "mine.yaml").write_text(json.dumps(entry), encoding="utf-8")
    after = told("estimate", *flags, "--concurrency", "16", "--catalog", str(tmp_path))
    assert before["outside_measured"]
    assert after["outside_measured"] == []
    assert after["uncertainty"]["tpot"] == 0.05 < before["uncertainty"]["tpot"]
