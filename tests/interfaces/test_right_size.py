"""Plans that buy what is needed: KV by the sum, activations by the batch, the engine's share of memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from planner.interfaces import cli

ROOT = Path(__file__).parents[2]
FILES = Path(__file__).parent.parent / "data" / "right-size"
CODER, OSS = FILES / "coder-480b.yaml", FILES / "oss-120b.yaml"
THIRTY = FILES / "thirty-rps.yaml"


def planned(capsys, problem, tmp_path=None, code=0):
    """The plan of a file, or of a document."""
    if isinstance(problem, dict):
        path = tmp_path / "problem.yaml"
        path.write_text(yaml.safe_dump(problem))
        problem = path
    assert cli.run(["plan", str(problem), "--json"]) == code
    return json.loads(capsys.readouterr().out)


def changed(path, rps=None, **fleet):
    problem = yaml.safe_load(path.read_text())
    problem["fleet"] |= fleet
    if rps is not None:
        problem["workloads"][0]["demand"]["peak_rps"] = rps
    return problem


def test_a_model_of_480b_takes_two_servers_and_not_four(capsys):
    plan = planned(capsys, CODER)
    assert plan["status"] == "optimal"
    assert plan["gpus"]["h100-sxm"] <= 16
    (pool,) = plan["pools"]
    assert pool["ttft_s"]["p95"] <= 5.0
    assert pool["memory_share"] <= 0.95
    assert pool["memory_flag"] == f"--gpu-memory-utilization {pool['memory_share']:g}"
    larger = [line for line in plan["warnings"] if "--gpu-memory-utilization 0.95" in line]
    assert len(larger) == (pool["memory_share"] > 0.9)
    cache = pool["kv_cache"]
    assert cache["request_tokens"] > 20_000
    assert cache["max_concurrency"] == pytest.approx(cache["tokens"] / cache["request_tokens"], rel=1e-3)
    # More run than fit at their longest, and they are hardly ever set back.
    assert pool["max_batch"] > 1.5 * pool["attention_dp"] * cache["max_concurrency"]
    assert cache["preemptions_per_s"] < 1e-3 * pool["load_rps"]


def test_small_workers_share_whole_servers(capsys):
    """Pairs of two and four GPUs are on the fabric of a server of eight, though smaller parts are sold."""
    plan = planned(capsys, THIRTY)
    assert plan["status"] == "optimal"
    assert plan["gpus"]["h100-sxm"] <= 60
    assert {pool["role"] for pool in plan["pools"]} == {"prefill", "decode"}
    assert all(pool["offer"]["gpus"] == 8 for pool in plan["pools"])
    assert min(pool["tp"] for pool in plan["pools"]) < 8
    for pool in plan["pools"]:
        assert pool["ttft_s"]["p99"] <= 1.0


def test_gpt_oss_120b_runs_on_one_gpu_at_a_stated_share(capsys):
    plan = planned(capsys, OSS)
    assert (plan["status"], plan["gpus"]) == ("optimal", {"h100-sxm": 1})
    (pool,) = plan["pools"]
    assert pool["memory_share"] == 0.9
    parts = pool["memory_bytes"]
    assert parts["weights"] + parts["kv_cache"] + parts["activations"] + parts["framework"] == pytest.approx(
        0.9 * parts["capacity"]
    )


def test_the_larger_share_is_taken_where_the_plan_needs_it_and_only_there(capsys, tmp_path):
    shares, costs = [], []
    for rps in (1, 7):
        plan = planned(capsys, changed(OSS, rps), tmp_path)
        shares += [pool["memory_share"] for pool in plan["pools"]]
        costs.append(plan["cost_usd_per_hour"])
    assert shares == [0.9, 0.95]
    assert costs == [2.5, 2.5]
    assert planned(capsys, changed(OSS, 7, memory_share=["90 %"]), tmp_path, code=1)["status"] == "infeasible"
    assert planned(capsys, changed(OSS, 7, headroom={"memory": "10 %"}), tmp_path, code=1)["pools"] == []


def test_a_stated_share_is_the_one_told(capsys, tmp_path):
    (pool,) = planned(capsys, changed(OSS, 1, memory_share=["93 %"]), tmp_path)["pools"]
    assert (pool["memory_share"], "memory93%" in pool["option"]) == (0.93, True)
    (pool,) = planned(capsys, changed(OSS, 0.1, headroom={"memory": "15 %"}, max_gpus=2), tmp_path)["pools"]
    assert pool["memory_flag"] == "--gpu-memory-utilization 0.85"


def test_the_plan_says_what_the_engine_will_print(capsys, tmp_path):
    """Of each rank where attention is data-parallel, as the search is told to take it here."""
    ranks = tmp_path / "ranks.yaml"
    ranks.write_text(yaml.safe_dump(changed(CODER) | {"search": {"attention_dp": [2, 4, 8]}}))
    assert cli.run(["plan", str(ranks), "--details"]) == 0
    shown = capsys.readouterr().out
    assert "attention-DP" in shown
    assert "--gpu-memory-utilization 0.9" in shown
    assert "Maximum concurrency for 35,607 tokens per request: " in shown
    assert "KV cache of a rank: " in shown
    assert "preemptions of a replica: at most " in shown


def test_blocks_of_the_cache_and_what_they_waste_are_told(capsys, tmp_path):
    engine = yaml.safe_load((ROOT / "catalog" / "engines" / "vllm.yaml").read_text())
    engine["memory"]["kv_block_tokens"] = 128
    (tmp_path / "vllm.yaml").write_text(yaml.safe_dump(engine))
    waste = {}
    for size, more in ((16, []), (128, ["--catalog", str(tmp_path)])):
        assert cli.run(["plan", str(OSS), "--json", *more]) == 0
        cache = json.loads(capsys.readouterr().out)["pools"][0]["kv_cache"]
        assert cache["block_tokens"] == size
        waste[size] = cache["block_waste"]
        assert cli.run(["plan", str(OSS), "--details", *more]) == 0
        assert f"blocks of {size} tokens: " in capsys.readouterr().out
    assert 0.0 < 4 * waste[16] < waste[128] < 0.2


def test_the_sizing_steps_say_it_too(capsys, tmp_path):
    path = tmp_path / "plan.json"
    assert cli.run(["plan", str(OSS), "--out", str(path)]) == 0
    capsys.readouterr()
    assert cli.run(["explain", str(path), "--steps"]) == 0
    shown = capsys.readouterr().out
    assert "maximum concurrency for" in shown
    assert "preemptions of a replica at most" in shown


@pytest.mark.parametrize(
    ("value", "found"),
    [(["120 %"], "120"), ([], "memory_share"), (["0 %"], "0"), ([0.9], "0.9"), ("90 %", "90 %")],
)
def test_a_share_that_is_none_is_told(capsys, tmp_path, value, found):
    path = tmp_path / "bad.yaml"
    path.write_text(yaml.safe_dump(changed(OSS, memory_share=value)))
    assert cli.run(["plan", str(path)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "memory_share" in shown.err
    assert found in shown.err


def test_a_table_of_workers_keeps_its_meaning(capsys, tmp_path):
    """Rows above 90 % are left out as ever, and a share is said not to be read."""
    (tmp_path / "workers.csv").write_text(
        "option,gpu,gpus,usd_per_hour,max_rps,memory_fraction\nfull,a,1,1,10,0.91\nroomy,a,1,2,10,0.90\n"
    )
    problem = {
        "name": "table",
        "workers": "workers.csv",
        "workloads": [{"name": "chat", "demand": {"peak_rps": 5}}],
        "fleet": {"memory_share": ["95 %"]},
    }
    plan = planned(capsys, problem, tmp_path)
    assert [pool["option"].split(" @")[0].endswith("roomy") for pool in plan["pools"]] == [True]
    assert any("memory_share is not read" in line for line in plan["warnings"])
