"""The production debugger from outside: exit codes, documents, pages and graphs."""

import json
from pathlib import Path

import pytest

import planner
from planner.interfaces.cli import run

OBSERVATIONS = Path(__file__).parents[2] / "problems" / "observations"
CASCADE = OBSERVATIONS / "02-chat-kv-cascade.yaml"


def test_a_diagnosis_is_one_document(capsys, tmp_path):
    out = tmp_path / "diagnosis.json"
    assert run(["diagnose", "--observed", str(CASCADE), "--json", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert said.encode() == out.read_bytes()
    first = json.loads(said)["findings"][0]
    assert (first["rule"], first["layer"]) == ("kv-eviction-cascade", "L4b")
    assert first["source"]["document"]
    assert first["source"]["section"]
    halve = next(action for action in first["actions"] if action["knob"] == "kv_precision")
    assert (halve["from"], halve["to"]) == ("bf16", "fp8")
    assert halve["flags"]["vllm"] == "--kv-cache-dtype"
    seen = {
        (one["metric"], one["value"], one["op"], one["threshold"])
        for one in first["evidence"]
        if one["op"] == ">"
    }
    assert ("eviction_ratio", 0.27, ">", 0.2) in seen


def test_the_same_observation_gives_the_same_bytes(capsys):
    said = []
    for _ in range(2):
        run(["diagnose", "--observed", str(CASCADE), "--json"])
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]


def test_pages_name_findings_and_what_to_measure(capsys):
    assert run(["diagnose", "--observed", str(CASCADE)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("L4b GPU workload: Eviction feeds on itself")
    assert len(said.splitlines()) <= 12
    assert run(["diagnose", "--observed", str(OBSERVATIONS / "01-chat-healthy.yaml")]) == 0
    assert capsys.readouterr().out.startswith("No finding")
    assert run(["diagnose", "--observed", str(OBSERVATIONS / "08-chat-half-seen.yaml")]) == 0
    assert "look at" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text", ["ttft_p99: 3\n", "kv_usage_ratio: 97\n", "queue_depth: -1\n", "oom: sometimes\n"]
)
def test_bad_observations_are_bad_input(capsys, tmp_path, text):
    path = tmp_path / "observed.yaml"
    path.write_text(text)
    assert run(["diagnose", "--observed", str(path)]) == 2
    assert f"{path}:1: {text.partition(':')[0]}: found" in capsys.readouterr().err


def test_python_takes_files_values_and_nouns():
    from planner.schema.observation import Observation

    values = {"oom": "progressive", "max_input_tokens": None}
    rules = ["requests-grow-without-bound", "inputs-unlimited"]
    assert [one.rule for one in planner.diagnose(values).findings] == rules
    assert [one.rule for one in planner.diagnose(Observation(**values)).findings] == rules
    assert planner.diagnose(CASCADE).findings[0].layer == "L4b"


def test_rules_are_listed_shown_checked_and_drawn(capsys, tmp_path):
    assert run(["rules", "list", "--json"]) == 0
    kinds = {row["kind"] for row in json.loads(capsys.readouterr().out)}
    assert kinds == {"planning", "debugger"}
    assert run(["rules", "show", "kv-eviction-early"]) == 0
    said = capsys.readouterr().out
    assert "eviction_ratio" in said
    assert "7.4" in said
    assert run(["rules", "show", "whole-servers"]) == 0
    assert run(["rules", "check"]) == 0
    capsys.readouterr()
    drawing = tmp_path / "rules.svg"
    assert run(["rules", "graph", "--out", str(drawing)]) == 0
    assert drawing.read_text().startswith("<svg")
    assert run(["rules", "graph", "--format", "pdf"]) == 2
    assert "expected one of dot, mermaid, graphml, svg" in capsys.readouterr().err
