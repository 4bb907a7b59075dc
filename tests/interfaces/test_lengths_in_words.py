"""Lengths in words and characters, as somebody states them, planned as tokens; through the command line."""

import json

import pytest
import yaml

from planner.interfaces import cli

LOAD = ("--model", "llama-3.1-8b", "--rps", "1", "--gpu", "l4")


def lengths(plan):
    return plan["inputs"]["problem"]["workloads"][0]["lengths"]


@pytest.mark.parametrize(
    ("isl", "tokens"),
    [
        ("900 words", 1197),
        ("1,000 German words", 1940),
        ("2k characters", 500),
        ("500 Chinese chars", 398),
        ("  10  FRENCH  words ", 17),
    ],
)
def test_words_and_characters_become_tokens_by_language(told, isl, tokens):
    plan = told("plan", *LOAD, "--isl", isl, "--osl", "100")
    found = lengths(plan)
    assert found["input"]["fixed"] == tokens
    assert [(one["side"], one["tokens"]) for one in found["said"]] == [("input", tokens)]
    assert "said" not in lengths(told("plan", *LOAD, "--isl", str(tokens), "--osl", "100"))


def test_the_plan_says_what_words_were_taken_for(capsys):
    assert cli.run(["plan", *LOAD, "--isl", "900 german words", "--osl", "100"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "input 900 german words = 1,746 tokens, at 1.94 each (a rule of thumb" in told


def test_percentiles_of_a_file_may_be_words_and_changed_ones_are_not_said(told, tmp_path):
    workload = {
        "name": "chat",
        "model": "llama-3.1-8b",
        "demand": {"peak_rps": 1},
        "lengths": {"input": {"p50": "300 words", "p99": "1k words"}, "output": {"fixed": 100}},
    }
    problem, plan = tmp_path / "one.yaml", tmp_path / "plan.json"
    problem.write_text(yaml.safe_dump({"name": "one", "workloads": [workload]}))
    found = lengths(told("plan", str(problem), "--out", str(plan)))
    assert found["input"] == {"p50": 399, "p99": 1330}
    document = json.loads(plan.read_text())
    document["inputs"]["problem"]["workloads"][0]["lengths"]["input"]["p99"] = 1400
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(document))
    assert cli.run(["report", str(changed), "--out", str(tmp_path / "report.html")]) == 0
    page = (tmp_path / "report.html").read_text()
    assert "input 300 words = 399 tokens" in page
    assert "1k words" not in page


def test_init_keeps_the_words(capsys):
    assert cli.run(["init", *LOAD, "--isl", "800 words", "--osl", "300", "--out", "-"]) == 0
    assert "input: {fixed: 800 words}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("isl", "said"),
    [
        ("800 klingon words", "found words of klingon, expected words of english, german"),
        ("800 germn words", 'Maybe "german"?'),
        ("800 chinese words", "expected characters: nobody counts words of chinese"),
        ("800 pages", "--isl"),
    ],
)
def test_languages_that_nobody_counted_are_refused(refused, isl, said):
    refused(said, "plan", *LOAD, "--isl", isl, "--osl", "100")
