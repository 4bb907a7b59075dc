"""One service model through the command line: `estimate`, `curve`, `validate` and `calibrate` agree."""

import csv
import json

import pytest

from planner.interfaces import cli

FLAGS = ("--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--isl", "1000", "--osl", "200")
HEADER = (
    "id,model,gpu,engine,engine_version,weight_precision,tp,n_gpus,scenario,isl_mean,osl_mean,"
    "concurrency_or_batch,output_tok_s,tpot_ms,note"
)


@pytest.mark.parametrize("clients", [1, 8, 64])
def test_estimate_is_what_validate_scores(told, tmp_path, clients):
    table, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    row = f"A,Llama-3.1-8B,H100 SXM 80GB,vLLM,v0.11.0,bf16,1,1,concurrency,1000,200,{clients},900,8,"
    table.write_text(f"{HEADER}\n{row}\n", encoding="utf-8")
    told("validate", str(table), "--out", str(out))
    (scored,) = csv.DictReader(out.read_text(encoding="utf-8").splitlines())
    found = told("estimate", *FLAGS, "--concurrency", str(clients))
    assert found["ttft_s"]["mean"] * 1e3 == pytest.approx(float(scored["predicted_ttft_ms"]), rel=1e-4)
    assert found["tpot_s"]["mean"] * 1e3 == pytest.approx(float(scored["predicted_tpot_ms"]), rel=1e-4)
    assert found["output_tokens_per_s"] == pytest.approx(float(scored["predicted_output_tok_s"]), rel=1e-4)


def test_the_load_is_said(told, capsys):
    found = told("estimate", *FLAGS, "--concurrency", "32", "--start-burst", "excluded")
    assert found["load"] == "closed loop of 32 clients, start burst excluded"
    assert cli.run(["estimate", *FLAGS, "--rps", "4"]) == 0
    assert "Random arrivals at 4 requests/s." in capsys.readouterr().out
    curve = told("curve", *FLAGS, "--concurrency-max", "16", "--equal-lengths")
    assert curve["load_text"] == "closed loop of 16 clients, start burst included, equal lengths"


def test_a_pool_of_replicas(told):
    pool = ("--rps", "60", "--requests", "1500", "--replicas", "4")
    found = {
        policy: told("estimate", *FLAGS, *pool, "--router", policy) for policy in ("random", "least-loaded")
    }
    assert found["least-loaded"]["ttft_s"]["p99"] < found["random"]["ttft_s"]["p99"]
    assert "over 4 replicas, random, run of 1,500 requests" in found["random"]["load"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--start-burst", "exclude"), '"exclude", expected one of included, excluded. Maybe "excluded"?'),
        (("--router", "roundrobin"), 'Maybe "round-robin"?'),
        (("--burstiness", "-1"), '"-1"'),
        (("--requests", "0"), '"0"'),
    ],
)
def test_bad_words(told, flags, said):
    assert said in told("estimate", *FLAGS, *flags, code=2)


def test_a_calibrated_estimate_reprints_its_benchmark(told, tmp_path):
    """A benchmark whose steps are a quarter slower than predicted, with its start, percentiles included."""
    run = ("--concurrency", "32", "--requests", "320")
    plain = told("estimate", *FLAGS, *run)
    times = {}
    for metric in ("ttft", "tpot", "itl"):
        for name, value in plain[f"{metric}_s"].items():
            words = {"mean": "mean", "p50": "median"}.get(name, name)
            times[f"{words}_{metric}_ms"] = value * 1e3 * 1.25
    benchmark = {
        "model_id": "meta-llama/Llama-3.1-8B-Instruct", "completed": 320, "max_concurrency": 32,
        "request_rate": "inf", "duration": 320 / (plain["requests_per_s"] / 1.25), "num_prompts": 320,
        "total_input_tokens": 320_000, "total_output_tokens": 64_000, "backend": "vllm",
        "date": "20260101-000000", "output_throughput": plain["output_tokens_per_s"] / 1.25,
        "request_throughput": plain["requests_per_s"] / 1.25, "total_token_throughput": 1.0, **times,
    }  # fmt: skip
    files = []
    for number in range(6):
        files.append(tmp_path / f"run{number}.json")
        files[-1].write_text(json.dumps(benchmark | {"tag": number}), encoding="utf-8")
    folder = tmp_path / "own"
    folder.mkdir()
    flags = ("--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--weights", "bf16", "--out", str(folder))
    told("calibrate", *map(str, files), *flags)
    again = told("estimate", *FLAGS, *run, "--catalog", str(folder))
    assert "start burst included, run of 320 requests" in again["load"]
    for metric in ("ttft", "tpot", "itl"):
        for name in ("mean", "p50", "p99"):
            assert again[f"{metric}_s"][name] == pytest.approx(1.25 * plain[f"{metric}_s"][name], rel=0.08)
