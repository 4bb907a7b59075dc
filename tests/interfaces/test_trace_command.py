"""Recorded requests on the command line: what they become, and a plan that says so."""

from pathlib import Path

import numpy as np
import pytest

from planner.interfaces import cli

COLUMNS = "time=ts,input=prompt_tokens,output=completion_tokens"


@pytest.fixture
def day(tmp_path):
    rng, lines = np.random.default_rng(0), ["ts,prompt_tokens,completion_tokens"]
    for hour in range(24):
        times = np.sort(rng.random(200 + 20 * hour)) * 3600.0 + 3600.0 * hour
        lines += [f"{time:.3f},{800 + hour},{100 + hour}" for time in times]
    path = tmp_path / "day.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


PROBLEM = """\
name: traced
workloads:
  - name: chat
    model: llama-3.1-8b
    demand: {trace: {file: day.csv, columns: {time: ts, input: prompt_tokens, output: completion_tokens}}}
    slo: {ttft_p99: 2 s}
fleet: {accelerators: [h100-sxm], prices: {h100-sxm: 2.50 USD/h}}
search: {modes: [aggregated], mix: false, tp: [1]}
"""


def test_what_a_day_becomes(told, day):
    found = told("trace", str(day), "--columns", COLUMNS)
    assert found["requests"] == sum(200 + 20 * hour for hour in range(24))
    assert len(found["hours"]) == 24
    assert found["hours"][23]["mean_rps"] > found["hours"][0]["mean_rps"]
    assert found["input_tokens"]["p99"] <= 823


def test_in_words_with_the_lines_of_a_problem(day, capsys):
    assert cli.run(["trace", str(day), "--columns", COLUMNS]) == 0
    text = capsys.readouterr().out
    assert "planned as the 24 hours of a day" in " ".join(text.split())
    assert "columns:" in text


def test_a_plan_by_the_hours_of_its_trace_says_what_it_solved_for(told, day):
    problem, plan = day.with_name("problem.yaml"), day.with_name("plan.json")
    problem.write_text(PROBLEM)
    found = told("plan", str(problem), "--out", str(plan))
    assert len(found["periods"]) == 24
    (taken,) = found["traces"]
    assert (taken["workload"], taken["file"], len(taken["hours"])) == ("chat", "day.csv", 24)
    demand = found["inputs"]["problem"]["workloads"][0]["demand"]
    assert demand["counted_in"] == "day.csv"
    assert float(demand["hourly_rps"][5]) == pytest.approx(taken["hours"][5]["peak_rps"], abs=1e-3)
    assert cli.run(["explain", str(plan), "--json"]) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.csv"], "none.csv: found no such file"),
        (["day.csv"], 'Maybe --columns "time=ts,input=prompt_tokens,output=completion_tokens"'),
        (["day.csv", "--columns", "tme=ts"], 'found "tme=ts", expected KEY=COLUMN pairs, each of time'),
        (["day.csv", "--columns", "time=ts"], "also input=COLUMN"),
        (["day.csv", "--columns", "time=ts,time_ms=ts,input=a,output=b"], "one column with the time"),
        (["day.csv", "--columns", "input=a,output=b"], 'expected the columns "a, b"'),
        (["empty.csv"], "found an empty file"),
    ],
)
def test_bad_usage(day, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(day.parent)
    Path("empty.csv").write_text("")
    assert cli.run(["trace", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in printed.err
    assert "Traceback" not in printed.err


@pytest.mark.parametrize(
    ("trace", "words"),
    [
        ("{file: none.csv}", 'demand.trace.file: found no such file "none.csv"'),
        ("{file: day.csv, columns: {time: a, time_ms: b, input: c, output: d}}", "found time and time_ms"),
        ("{file: day.csv, columns: {input: nope, output: completion_tokens}}", 'expected the columns "nope"'),
        ("{file: day.csv, colums: {}}", "colums"),
    ],
)
def test_bad_traces_in_problems(day, monkeypatch, capsys, trace, words):
    monkeypatch.chdir(day.parent)
    line = next(line for line in PROBLEM.splitlines() if "demand" in line)
    Path("problem.yaml").write_text(PROBLEM.replace(line, f"    demand: {{trace: {trace}}}"))
    assert cli.run(["plan", "problem.yaml"]) == 2
    assert words in capsys.readouterr().err


def test_hostile_columns_are_only_text(day, capsys):
    odd = day.with_name("odd.csv")
    odd.write_text("$(rm -rf /)\u202e,in,out\n1,2,3\n")
    assert cli.run(["trace", str(odd), "--columns", "time=$(rm -rf /)\u202e,input=in,output=out"]) == 0
    assert "\u202e" not in capsys.readouterr().out
