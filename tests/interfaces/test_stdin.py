"""Problems and plans on standard input."""

import io
import json

import pytest

from planner.interfaces import cli

TABLE = "option,workload,bucket,role,gpu,gpus,usd_per_hour,max_rps,ttft_ms,itl_ms\na,,,,h100,1,3,2.5,90,30\n"
PROBLEM = "name: t\nworkers: t.csv\nworkloads:\n  - {name: w, demand: {peak_rps: 10}, slo: {ttft_p99: 1 s}}\n"
ASKING = {
    "plan": [],
    "whatif": ["--set", "fleet.budget=50 USD/h"],
    "relax": [],
    "pareto": ["--axes", "cost,gpus"],
    "alternatives": [],
    "robust": [],
}


@pytest.fixture
def typed(monkeypatch, tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    monkeypatch.chdir(tmp_path)

    def answer(text):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    return answer


@pytest.mark.parametrize("verb", ASKING)
def test_every_verb_reads_a_problem_from_standard_input(typed, tmp_path, capsys, verb):
    (tmp_path / "p.yaml").write_text(PROBLEM)
    code = cli.run([verb, "p.yaml", *ASKING[verb], "--json"])
    from_file = capsys.readouterr().out
    assert code == 0
    typed(PROBLEM)
    assert cli.run([verb, "-", *ASKING[verb], "--json"]) == code
    assert capsys.readouterr().out == from_file
    typed(PROBLEM.replace("demand", "deman"))
    assert cli.run([verb, "-", *ASKING[verb], "--json"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("<stdin>:4: workloads")


@pytest.mark.parametrize("verb", sorted(ASKING.keys() - {"robust"}))
def test_no_time_at_all_is_no_answer_in_words(typed, capsys, verb):
    typed(PROBLEM)
    assert cli.run([verb, "-", *ASKING[verb], "--json", "--time-limit", "1e-9"]) == 3
    printed = capsys.readouterr()
    assert printed.out == "" or json.loads(printed.out)["plans"] == []
    assert printed.err.startswith("planner: the time limit")
    assert len(printed.err.splitlines()) == 1


@pytest.mark.parametrize("verb", ["explain", "routes", "schedule"])
def test_plans_come_from_there_too(typed, capsys, verb):
    typed(PROBLEM)
    assert cli.run(["plan", "-", "--json"]) == 0
    plan = capsys.readouterr().out
    typed(plan)
    assert cli.run([verb, "-"]) == 0
    typed(json.dumps({"schema": "other"}))
    assert cli.run([verb, "-"]) == 2
    assert "<stdin>: schema: found" in capsys.readouterr().err


def test_no_standard_input_is_told(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", None)
    assert cli.run(["plan", "-"]) == 2
    assert "<stdin>: found it closed" in capsys.readouterr().err
