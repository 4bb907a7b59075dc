"""Means and percentiles of closed loops agree, through the command line."""

import json

import pytest

from planner.interfaces import cli

LATENCIES = ("ttft_s", "itl_s", "tpot_s", "e2e_s")


@pytest.fixture
def estimated(capsys):
    def estimated(engine, clients, isl=1000, osl=200):
        words = ("--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--engine", engine, "--json")
        load = ("--isl", str(isl), "--osl", str(osl), "--concurrency", str(clients))
        assert cli.run(["estimate", *words, *load]) == 0
        return json.loads(capsys.readouterr().out)

    return estimated


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm"])
def test_of_a_lone_client_nothing_varies(estimated, engine):
    """Nobody's prompt comes before its own or between its tokens: a gap is a decode step."""
    shown = estimated(engine, 1, isl=16_000, osl=64)
    for name in LATENCIES:
        values = shown[name]
        assert values == pytest.approx(dict.fromkeys(values, values["mean"]), rel=1e-9), name
    assert shown["itl_s"]["mean"] == pytest.approx(shown["decode_step_s"])
    after_s = 63 * shown["tpot_s"]["mean"]
    assert shown["e2e_s"]["mean"] == pytest.approx(shown["ttft_s"]["mean"] + after_s)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm"])
def test_the_mean_lies_between_the_median_and_the_tail(estimated, engine):
    for clients in (1, 2, 3, 4, 16, 64):
        shown = estimated(engine, clients)
        for name in ("ttft_s", "tpot_s", "e2e_s"):
            values = shown[name]
            assert values["p50"] <= values["mean"] * (1 + 1e-9), (name, clients)
            assert values["mean"] <= values["p99"] * (1 + 1e-9), (name, clients)
