"""What a plan says about itself is true of all of it: whether conflicts were looked for, whose guardrails."""

from __future__ import annotations

import json

import pytest

from planner.interfaces import cli

PREDICTED = """\
name: two
workloads:
  - name: chat
    model: llama-3.1-8b
    demand: {{hourly_rps: {rates}}}
    lengths: {{input: {{fixed: 512}}, output: {{fixed: 128}}}}
    slo: {{ttft_p99: 1500 ms, itl_p99: 60 ms}}
  - name: docs
    model: llama-3.1-8b
    demand: {{hourly_rps: {rates}}}
    lengths: {{input: {{fixed: 4096}}, output: {{fixed: 128}}}}
    slo: {{ttft_p99: 5 s}}
fleet: {{accelerators: [h100-sxm], prices: {{h100-sxm: 2.50 USD/h}}{more}}}
search: {{modes: [aggregated], tp: [1]}}
"""
TABLE = """\
name: table
workers: t.csv
workloads: [{{name: chat, demand: {{hourly_rps: {rates}}}}}]
fleet: {{purchase: gpu{more}}}
"""


def plan(tmp_path, capsys, text, command="plan", hours=1, more=""):
    (tmp_path / "t.csv").write_text(
        "option,gpu,gpus,usd_per_hour,max_rps\na,h100,1,3,2.5\n", encoding="utf-8"
    )
    path = tmp_path / "p.yaml"
    path.write_text(text.format(rates=[4] * hours, more=more), encoding="utf-8")
    status = cli.run([command, str(path), "--json"])
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("hours", [1, 2])
@pytest.mark.parametrize("text", [PREDICTED, TABLE], ids=["predicted", "table"])
def test_conflicts_are_complete_only_where_they_were_looked_for(tmp_path, capsys, text, hours):
    status, found = plan(tmp_path, capsys, text, hours=hours, more=", budget: 1 USD/h")
    assert (status, found["conflicts"], found["conflicts_complete"]) == (1, [], False)
    status, found = plan(tmp_path, capsys, text, "relax", hours=hours, more=", budget: 1 USD/h")
    assert (status, found["conflicts"], found["conflicts_complete"]) == (0, [["budget"]], True)
    _, found = plan(tmp_path, capsys, text, hours=hours)
    assert (found["status"], found["conflicts_complete"]) == ("optimal", True)


@pytest.mark.parametrize("hours", [1, 2])
def test_guardrails_of_several_workloads_are_each_their_own(tmp_path, capsys, hours):
    _, found = plan(tmp_path, capsys, PREDICTED, hours=hours)
    chat, docs = (found["guardrails_by_workload"][name] for name in ("chat", "docs"))
    assert chat["max_input_tokens"] < 4096 <= docs["max_input_tokens"]
    assert chat["max_output_tokens"] == docs["max_output_tokens"]
    for name, value in found["guardrails"].items():
        assert value == (chat[name] if chat[name] == docs[name] else None)
    assert found["guardrails"]["max_input_tokens"] is None
    assert cli.run(["plan", str(tmp_path / "p.yaml"), "--details"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"docs {docs['max_input_tokens']:,} {docs['max_output_tokens']:,}" in text
    assert "Each workload has its own: none of them is a limit for all." in text


def test_guardrails_of_one_workload_are_those_of_the_plan(tmp_path, capsys):
    one = PREDICTED[: PREDICTED.index("  - name: docs")] + PREDICTED[PREDICTED.index("fleet:") :]
    _, found = plan(tmp_path, capsys, one)
    assert found["guardrails"] == found["guardrails_by_workload"]["chat"]
    assert None not in found["guardrails"].values()
