"""`planner routes` and `planner schedule` from the command line."""

import csv
import io
import json

import fleet_plans
import pytest
import yaml

from planner.interfaces import cli
from planner.report import json_document


@pytest.fixture
def plan_file(make_plan, tmp_path):
    routing = [
        {"workload": "chat", "bucket": "short", "pool": "chat/serve/1", "share": 1.0},
        {"workload": "chat", "bucket": "long", "pool": "chat/serve/1", "share": 0.6},
        {"workload": "chat", "bucket": "long", "pool": "chat/api/api", "share": 0.4},
    ]
    plan = fleet_plans.day(make_plan, routing=routing)
    path = tmp_path / "plan.json"
    path.write_bytes(json_document.encode(json_document.of_plan(plan)))
    return path


def rows(text):
    return list(csv.reader(io.StringIO(text)))


def test_routes_as_a_table(plan_file, capsys):
    assert cli.run(["routes", str(plan_file)]) == 0
    shown = capsys.readouterr()
    assert "day: shares of the whole day" in shown.out
    assert ["long", "chat/serve/1", "60", "%", "600"] in [line.split() for line in shown.out.splitlines()]
    assert shown.err == ""


def test_routes_for_programs(plan_file, capsys):
    assert cli.run(["routes", str(plan_file), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["period"] is None
    assert found["workloads"][0]["buckets"][1]["pools"] == [
        {"pool": "chat/serve/1", "share": 0.6, "weight": 600},
        {"pool": "chat/api/api", "share": 0.4, "weight": 400},
    ]
    assert cli.run(["routes", str(plan_file), "--format", "csv"]) == 0
    assert rows(capsys.readouterr().out) == [
        ["workload", "role", "bucket", "pool", "share", "weight"],
        ["chat", "serve", "short", "chat/serve/1", "1.0", "1000"],
        ["chat", "serve", "long", "chat/serve/1", "0.6", "600"],
        ["chat", "serve", "long", "chat/api/api", "0.4", "400"],
    ]


def test_routes_for_a_gateway_go_to_a_file_too(plan_file, tmp_path, capsys):
    out = tmp_path / "routes.yaml"
    command = ["routes", str(plan_file), "--format", "httproute", "--gateway", "edge", "--port", "8080"]
    assert cli.run([*command, "--out", str(out)]) == 0
    shown = capsys.readouterr()
    assert shown.out == out.read_text(encoding="utf-8")
    assert shown.err == f"planner: wrote {out}\n"
    (route,) = yaml.safe_load_all(shown.out)
    assert route["spec"]["parentRefs"] == [{"name": "edge"}]
    backends = route["spec"]["rules"][1]["backendRefs"]
    assert backends == [
        {"name": "chat-serve-1", "port": 8080, "weight": 600},
        {"name": "chat-api-api", "port": 8080, "weight": 400},
    ]


def test_a_table_is_kept_as_json(plan_file, tmp_path, capsys):
    out = tmp_path / "schedule.json"
    assert cli.run(["schedule", str(plan_file), "--out", str(out)]) == 0
    assert "0–8: 0, 9–11: 6, 12–23: 0" in capsys.readouterr().out
    assert json.loads(out.read_bytes())["pools"][0]["replicas"][8:13] == [2, 5, 5, 5, 2]


def test_an_hour_without_requests(plan_file, capsys):
    assert cli.run(["routes", str(plan_file), "--period", "23"]) == 0
    assert "No requests come in this hour." in capsys.readouterr().out


def test_the_schedule_as_csv(plan_file, capsys):
    assert cli.run(["schedule", str(plan_file), "--format", "csv"]) == 0
    found = rows(capsys.readouterr().out)
    assert found[0] == ["kind", "name", "hour", "count", "order_at_s"]
    # two lines and one pool by hour, two orders
    assert len(found) == 1 + 3 * 24 + 2
    assert ["replicas", "chat/serve/1", "9", "5", ""] in found
    assert found[-2:] == [
        ["order", "h100-sxm/on_demand", "9", "6", "31800"],
        ["order", "h100-sxm/on_demand", "12", "-6", "43200"],
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["routes", "--format", "htproute"], 'one of table, json, csv, httproute. Maybe "httproute"?'),
        (["routes", "--period", "-1"], '--period: found "-1", expected a whole number from 0'),
        (["routes", "--period", "24"], "--period: found 24, expected an hour from 0 to 23"),
        (["routes", "--gateway", "My Gate"], 'Maybe "my-gate"?'),
        (["routes", "--port", "70000"], '--port: found "70000"'),
        (["schedule", "--format", "yaml"], '--format: found "yaml", expected one of table, json, csv.'),
        (["schedule", "--out", "/nowhere/at/all"], "--out: found"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_words(plan_file, capsys, arguments, words):
    assert cli.run([arguments[0], str(plan_file), *arguments[1:]]) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert shown.out == ""


def test_every_fault_of_the_flags_is_told_at_once(plan_file, capsys):
    assert cli.run(["routes", str(plan_file), "--period", "x", "--format", "x", "--port", "0"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_a_document_without_a_plan(no_plan, tmp_path, capsys):
    path = tmp_path / "no.json"
    path.write_bytes(json_document.encode(json_document.of_plan(no_plan)))
    out = tmp_path / "out.csv"
    for command in ("routes", "schedule"):
        assert cli.run([command, str(path), "--format", "csv", "--out", str(out)]) == 2
        shown = capsys.readouterr()
        assert "pools: found none (status infeasible), expected a plan that serves requests." in shown.err
        assert 'Maybe "planner relax PROBLEM"?' in shown.err
        assert shown.out == ""
    assert not out.exists()


def test_no_file(tmp_path, capsys):
    assert cli.run(["routes", str(tmp_path / "plan.json")]) == 2
    assert "no such file" in capsys.readouterr().err
