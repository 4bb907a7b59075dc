"""The largest load of a given fleet, as somebody asks for it."""

from __future__ import annotations

import json

import pytest
import yaml

from planner.interfaces import cli

CHAT = {
    "name": "chat",
    "model": "llama-3.1-8b",
    "demand": {"peak_rps": 20},
    "lengths": {"input": {"p50": 1000, "p99": 2000}, "output": {"p50": 200, "p99": 500}},
    "slo": {"ttft_p99": "1000 ms", "itl_p99": "50 ms"},
}
DOCS = CHAT | {"name": "docs", "demand": {"peak_rps": 5}, "slo": {}}
TOGETHER = {"modes": ["aggregated"], "tp": [1]}
TABLE = "workload,option,gpu,gpus,max_rps,usd_per_hour\nchat,one,h100,1,4,3\nchat,two,a100,1,2.5,1\n"


@pytest.fixture
def asked(capsys, tmp_path):
    """The answer to ``planner capacity`` about a problem, or what it says on stderr."""

    def asked(problem, *flags, code=0, text=False, table=None):
        if table is not None:
            (tmp_path / "workers.csv").write_text(table)
        path = tmp_path / "problem.yaml"
        path.write_text(yaml.safe_dump({"name": "load", **problem}))
        ended = cli.run(["capacity", str(path), *flags, *([] if text else ["--json"])])
        found = capsys.readouterr()
        assert ended == code, found.err
        if text or code == 2:
            return " ".join((found.err if code == 2 else found.out).split())
        return json.loads(found.out)

    return asked


def of_table(fleet, **more):
    return {
        "workers": "workers.csv",
        "workloads": [{"name": "chat", "demand": {"peak_rps": 1}}],
        "fleet": fleet,
        **more,
    }


def test_a_table_is_counted_exactly(asked):
    fleet = {"stock": {"h100": 3, "a100": 2}, "headroom": {"capacity": "25 %"}}
    found = asked(of_table(fleet), table=TABLE)
    assert found["status"] == "optimal"
    # (3 x 4 + 2 x 2.5) / 1.25
    assert found["capacity"]["rps"] == {"chat": 13.6}
    assert found["objective"] == {"name": "throughput", "value": 13.6, "lower_bound": 13.6, "gap": 0.0}
    (limits,) = found["capacity"]["helps"].values()
    assert set(limits) == {"stock:h100", "stock:a100"}
    assert found["capacity"]["stopped_by"] == {"chat": limits[0]}
    assert 13.6 < found["capacity"]["breaks_rps"]["chat"] < 13.6 * (1 + 2 * found["capacity"]["tolerance"])


def test_spares_and_utilization_count(asked):
    fleet = {
        "stock": {"h100": 3},
        "redundancy": 1,
        "max_utilization": "50 %",
        "headroom": {"capacity": "0 %"},
    }
    found = asked(of_table(fleet), table=TABLE)
    assert found["capacity"]["rps"] == {"chat": 4.0}
    assert found["gpus"] == {"h100": 3}
    assert "a100" in " ".join(found["warnings"])


def test_a_budget_limits_too(asked):
    found = asked(of_table({"budget": "7 USD/h", "headroom": {"capacity": "0 %"}}), table=TABLE)
    assert found["capacity"]["rps"] == {"chat": 17.5}
    assert found["capacity"]["stopped_by"] == {"chat": "budget"}


def test_the_mix_grows_or_one_workload_alone(asked):
    table = TABLE + "docs,one,h100,1,2,3\n"
    problem = of_table({"stock": {"h100": 4}, "headroom": {"capacity": "0 %"}}) | {
        "workloads": [
            {"name": "chat", "demand": {"peak_rps": 2}},
            {"name": "docs", "demand": {"peak_rps": 1}},
        ]
    }
    mix = asked(problem, table=table)
    assert mix["capacity"]["rps"]["chat"] == 2 * mix["capacity"]["rps"]["docs"] == 8.0
    assert mix["objective"]["value"] == 12.0
    alone = asked(problem, "--workload", "chat", table=table)
    assert alone["capacity"]["rps"] == {"chat": 12.0, "docs": 1.0}
    assert list(alone["capacity"]["stopped_by"]) == ["chat"]


def test_what_is_owned_and_what_a_replica_is_limited_by(asked):
    problem = {"workloads": [CHAT], "fleet": {"owned": {"h100": 2}}, "search": TOGETHER}
    found = asked(problem)
    assert found["gpus"] == {"h100": 2}
    assert found["capacity"]["helps"]["chat"][-1] == "owned:h100"
    looser = asked(problem | {"workloads": [CHAT | {"slo": {}}]})
    assert looser["capacity"]["rps"]["chat"] > found["capacity"]["rps"]["chat"]
    assert looser["capacity"]["stopped_by"]["chat"] in ("vram:chat", "owned:h100")


def test_plan_answers_the_objective_and_its_document_plans_again(asked, capsys, tmp_path):
    problem = of_table({"stock": {"h100": 3}}, objective="throughput")
    found = asked(problem, table=TABLE)
    path, again = tmp_path / "problem.yaml", tmp_path / "again.yaml"
    assert cli.run(["plan", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found
    again.write_text(yaml.safe_dump(found["inputs"]["problem"]))
    assert cli.run(["plan", str(again), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["capacity"]["rps"] == found["capacity"]["rps"]


def test_the_text_says_what_carries_what_and_what_stops_it(asked):
    problem = {"workloads": [CHAT], "fleet": {"owned": {"h100": 2}}, "search": TOGETHER}
    text = asked(problem, text=True)
    assert "Your 2 × h100 carry" in text
    assert "req/s of chat; what stops it: " in text
    assert "proved: no larger load has a plan" in text


def test_a_range_of_fleets(asked):
    rows = asked(of_table({"stock": {"h100": 1}, "headroom": {"capacity": "0 %"}}), "--sweep",
                 "fleet.stock.h100=0,1,2", table=TABLE)["rows"]  # fmt: skip
    assert [row["set"] for row in rows] == [{"fleet.stock.h100": count} for count in (0, 1, 2)]
    assert [row["plan"]["capacity"]["rps"]["chat"] for row in rows] == [0.0, 4.0, 8.0]
    text = asked(of_table({"stock": {"h100": 1}}), "--sweep", "fleet.stock.h100=0,1", text=True, table=TABLE)
    assert "nothing is carried" in text
    assert "stock:h100" in text


def test_a_fleet_that_carries_nothing_is_an_honest_no(asked):
    problem = of_table({"stock": {"h100": 1}, "redundancy": 1})
    found = asked(problem, code=1, table=TABLE)
    assert (found["status"], found["pools"], found["capacity"]["rps"]) == ("infeasible", [], {"chat": 0.0})
    assert (found["conflicts"], found["conflicts_complete"]) == ([], False)
    assert "this fleet carries nothing" in asked(problem, code=1, text=True, table=TABLE)


@pytest.mark.parametrize(
    ("fleet", "flags", "said"),
    [
        ({}, [], "found nothing that limits what can be bought"),
        ({"prices": {"h100": "2 USD/h"}}, [], "fleet.stock: {h100-sxm: 16}"),
        ({"stock": {"h100": 3}}, ["--workload", "chta"], 'found "chta", expected one of chat. Maybe "chat"?'),
        ({"stock": {"h100": 3}}, ["--sweep", "fleet.stock"], "PATH=VALUE"),
        ({"stock": {"h100": 3}}, ["--sweep", "fleet.stok=1"], 'Maybe "stock"'),
    ],
)
def test_what_nobody_can_answer_is_refused(asked, fleet, flags, said):
    assert said in asked(of_table(fleet), *flags, code=2, table=TABLE)


@pytest.mark.parametrize("command", ["relax", "pareto", "alternatives", "robust"])
def test_questions_about_the_least_of_something_are_refused(asked, capsys, tmp_path, command):
    asked(of_table({"stock": {"h100": 1}}, objective="throughput"), table=TABLE)
    assert cli.run([command, str(tmp_path / "problem.yaml"), "--json"]) == 2
    assert "objective: found throughput" in capsys.readouterr().err


def test_free_demand_needs_no_rate(asked):
    found = asked({"workloads": [CHAT | {"demand": {"free": True}}], "fleet": {"owned": {"h100": 1}},
                   "search": TOGETHER})  # fmt: skip
    assert found["capacity"]["rps"]["chat"] > 0
    both = {"workloads": [CHAT | {"demand": {"free": True}}, DOCS], "fleet": {"owned": {"h100": 1}}}
    assert "free demand beside other workloads" in asked(both, code=2)


def test_more_gpus_never_carry_less(asked):
    problem = {"workloads": [CHAT], "fleet": {"owned": {"h100": 1}}, "search": TOGETHER}
    rows = asked(problem, "--sweep", "fleet.owned.h100=1,3")["rows"]
    values = [row["plan"]["objective"]["value"] or 0.0 for row in rows]
    assert values == sorted(values)
