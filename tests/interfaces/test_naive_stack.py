"""`engine: naive` through the command line: what continuous batching and paging are worth."""

import pytest

CHEAP = "problems/02-rag-8b.yaml"
NAIVE = ("--set", "workloads.rag.engine=naive")


def test_whatif_shows_what_batching_and_paging_are_worth(told):
    answer = told("whatif", CHEAP, *NAIVE)
    before, after = answer["before"], answer["after"]
    assert after["cost_usd_per_hour"] > 2 * before["cost_usd_per_hour"]
    assert {pool["engine"] for pool in after["pools"]} == {"naive"}
    assert any("to compare with, not to run" in line for line in after["warnings"])


@pytest.mark.parametrize("load", [("--concurrency", "16"), ("--rps", "1")])
def test_estimates_of_both(told, load):
    flags = ("--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--isl", "800", "--osl", "300", *load)
    naive, paged = (told("estimate", *flags, "--engine", name) for name in ("naive", "vllm"))
    assert naive["ttft_s"]["p99"] > paged["ttft_s"]["p99"]
    assert naive["output_tokens_per_s"] <= paged["output_tokens_per_s"] * (1 + 1e-9)
    # Every slot holds the longest request.
    assert naive["max_batch"] <= paged["max_batch"]


def test_sessions_are_refused_in_words(told):
    said = told("whatif", "problems/15-agents.yaml", "--set", "workloads.agent.engine=naive", code=2)
    assert "keeps nothing of a request that is done" in str(said)
