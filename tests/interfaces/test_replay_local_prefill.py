"""Short prompts that a plan leaves to its decode workers are computed there in its replay, too."""

import json

import pytest

from planner.interfaces import cli

PROBLEM = """\
name: short
confidence: 50 %
workloads:
  - name: w
    model: llama-3.1-8b
    demand: {peak_rps: 36}
    lengths: {input: {p50: 500, p99: 1000}, output: {p50: 50, p99: 100}}
    slo: {ttft_p99: 4 s, itl_p99: 60 ms}
fleet:
  accelerators: [l40s]
  prices: {l40s: 1 USD/h}
  headroom: {capacity: 0 %}
search: {modes: [disaggregated]}
"""


@pytest.fixture
def plan(told, tmp_path):
    """The document of a plan for it, and its path."""
    (tmp_path / "problem.yaml").write_text(PROBLEM)
    path = tmp_path / "plan.json"
    return told("plan", str(tmp_path / "problem.yaml"), "--out", str(path)), path


def test_short_prompts_are_computed_at_decode(told, plan):
    document, path = plan
    assert {pool["local_prefill_tokens"] for pool in document["pools"]} == {500}
    found = told("replay", str(path), "--seeds", "1", "--duration", "60")
    assert found["verdict"] == "holds"
    assert found["pools"]["w/prefill/1"]["busy"] < 0.8
    limit = next(one for one in found["limits"] if one["id"] == "ttft_p99:w")
    assert limit["replayed_s"] == pytest.approx(limit["predicted_s"], rel=0.25)


def test_they_go_on_where_the_only_prefill_replica_is_lost(told, plan):
    _, path = plan
    line = ("replay", str(path), "--seeds", "1", "--duration", "60", "--cold-start", "600")
    found = told(*line, "--fail", "w/prefill/1@1", code=1)
    assert found["workloads"]["w"]["ttft_s"]["p50"] < 1.0, "half of the prompts are short"
    assert found["workloads"]["w"]["ttft_s"]["p99"] > 10.0


@pytest.mark.parametrize("target", ["vllm", "dynamo", "llm-d"])
def test_whoever_deploys_it_reads_that_the_router_must_know(tmp_path, plan, target):
    assert cli.run(["export", str(plan[1]), "--to", target, "--out", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out" / "README.md").read_text()
    assert "w-prefill-1 is sized for prompts above 500 tokens" in page.replace("\\", "")


def test_a_plan_that_does_not_say_so_gets_a_warning(told, plan):
    document, path = plan
    for pool in document["pools"]:
        del pool["local_prefill_tokens"]
    path.write_text(json.dumps(document))
    found = told("replay", str(path), "--seeds", "1", "--duration", "20")
    assert any("this plan is older than its replay" in text for text in found["warnings"])
