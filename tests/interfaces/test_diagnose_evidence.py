"""Command lines and results of benchmarks given to ``diagnose``, alone and together."""

import json
from pathlib import Path

import pytest

import planner
from planner.interfaces.cli import run

DATA = Path(__file__).parents[1] / "data"
RESULT = next(iter(sorted((DATA / "benchmarks" / "vllm").rglob("*.json"))))
LOG = DATA / "logs" / "vllm-v1.log"


def said(capsys):
    return json.loads(capsys.readouterr().out)


def test_a_command_line_says_settings(capsys):
    assert run(["diagnose", "--engine-args", "vllm serve m --enforce-eager", "--json"]) == 0
    document = said(capsys)
    assert document["exporters"] == ["vllm-command"]


def test_what_the_engine_logged_counts_before_what_it_was_asked(capsys):
    words = ["--logs", str(LOG), "--engine-args", "vllm serve m -tp 4 --max-num-seqs 512"]
    assert run(["diagnose", *words, "--json"]) == 0
    document = said(capsys)
    assert document["origins"]["max_batch"] == "logs"
    assert document["origins"]["scheduler_policy"] == "engine arguments"
    conflicts = {note["metric"]: note["text"] for note in document["notes"] if note["kind"] == "conflict"}
    assert conflicts["max_batch"] == "256 by logs, 512 by engine arguments; the first is taken"
    assert "tp" not in conflicts


def test_results_of_a_benchmark_are_values(capsys):
    assert run(["diagnose", "--results", str(RESULT), "--slo", "ttft_p99=1ms", "--json"]) == 0
    document = said(capsys)
    assert document["exporters"] == ["vllm-results"]
    assert "slow-first-token" in document["symptoms"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--engine-args", "hello"], '--engine-args: found "hello"'),
        (["--results", "none.json"], "none.json"),
        (["--engine-args", "vllm serve m", "--follow"], "--engine-args beside it"),
        (["--engine-args", "vllm serve m", "more"], "each file behind its own flag"),
    ],
)
def test_bad_sources_are_refused_in_words(capsys, words, message):
    assert run(["diagnose", *words]) == 2
    assert message in capsys.readouterr().err


def test_python_takes_all_of_them():
    found = planner.diagnose({"queue_depth": 3}, logs=[LOG], results=[RESULT], engine_args="vllm serve m")
    assert found.origins["queue_depth"] == "observed values"
    assert set(found.origins.values()) == {"observed values", "logs", "results", "engine arguments"}
