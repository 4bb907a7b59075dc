"""One configuration under random arrivals, estimated and planned, through the command line."""

import json

import pytest
import yaml

from planner.interfaces import cli

RATE = 20
PROBLEM = {
    "name": "one-layout",
    "workloads": [
        {
            "name": "chat",
            "model": "llama-3.1-8b",
            "demand": {"peak_rps": RATE},
            "lengths": {"input": {"fixed": 2000}, "output": {"fixed": 300}},
            "slo": {"ttft_p99": "3 s", "itl_p99": "80 ms"},
            "precision": {"weights": ["fp8"], "kv": ["fp8"]},
        }
    ],
    "fleet": {
        "accelerators": ["h200-sxm"],
        "prices": {"h200-sxm": "3 USD/h"},
        "headroom": {"capacity": "0 %"},
        "min_replicas": 2,
    },
    "search": {"modes": ["aggregated"], "tp": [1], "batched_tokens": [8192]},
    "confidence": "50 %",
}


def test_they_differ_in_front_of_the_engine_and_in_rare_gaps(tmp_path, capsys):
    """Launches and tokens of one prompt on the host, the same for every percentile (decision 0045)."""

    def asked(*words):
        assert cli.run([*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    path = tmp_path / "problem.yaml"
    path.write_text(yaml.safe_dump(PROBLEM), encoding="utf-8")
    (pool,) = asked("plan", str(path))["pools"]
    load = ("--rps", str(RATE), "--replicas", str(pool["replicas"]), "--max-batch", str(pool["max_batch"]))
    layout = ("--model", "llama-3.1-8b", "--gpu", "h200-sxm", "--weights", "fp8", "--kv", "fp8")
    shown = asked("estimate", *layout, "--isl", "2000", "--osl", "300", *load)
    assert pool["tpot_s"] == pytest.approx(shown["tpot_s"], rel=1e-9)
    for at, value in shown["itl_s"].items():
        rare = at in ("p95", "p99", "p99.9")  # a plan counts steps with prompts a little more often
        assert value * (1 - 1e-9) <= pool["itl_s"][at] <= value * (1.1 if rare else 1 + 1e-9), at
    for name in ("ttft_s", "e2e_s"):
        later = [pool[name][at] - shown[name][at] for at in shown[name]]
        assert later == pytest.approx([later[0]] * len(later), abs=2e-6), name
        assert 0.010 < later[0] < 0.050
