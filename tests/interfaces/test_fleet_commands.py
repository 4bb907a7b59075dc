"""Fleets from the command line: `planner routes` and `planner schedule`, and whole plans by hand sums."""

import csv
import io
import json

import fleet_files
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


def answer(capsys, *arguments):
    """Exit code and document of a command."""
    code = cli.run([*map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


def one_gpu(hours, **fleet):
    """One workload on one type of GPU that serves 1 req/s, without headroom."""
    return {
        "name": "one-gpu",
        "workers": "workers.csv",
        "workloads": [{"name": "w", "demand": {"hourly_rps": hours}}],
        "fleet": {"headroom": {"capacity": "0 %"}, **fleet},
    }


ONE_GPU = "option,workload,gpu,gpus,max_rps\ng1,w,g,1,1\n"


def test_reserved_gpus_are_the_newsvendor_quantile(tmp_path, capsys):
    hours = [3, 2, 2, 1, 1, 2, 4, 8, 12, 15, 17, 18, 18, 19, 20, 19, 17, 15, 13, 11, 9, 7, 5, 4]
    lines = [{"gpu": "g", "term": "reserved", "usd_per_gpu_h": 1.6}]
    lines += [{"gpu": "g", "term": "on_demand", "usd_per_gpu_h": 4}]
    code, found = answer(capsys, "plan", fleet_files.written(tmp_path, one_gpu(hours, supply=lines), ONE_GPU))
    costs = [24 * 1.6 * held + 4 * sum(max(0, hour - held) for hour in hours) for held in range(21)]
    assert (code, found["status"]) == (0, "optimal")
    assert found["objective"]["value"] == pytest.approx(min(costs), abs=1e-9)
    held = {row["gpus"] for row in found["supply"] if row["term"] == "reserved"}
    assert held == {costs.index(min(costs))}


def test_a_solver_input_of_melange_is_planned_with_continuous_shares(tmp_path, capsys):
    gpus = {"A": {"cost": 1, "tputs": [[4, 1]], "max_count": 2}, "B": {"cost": 3, "tputs": [[5, 5]]}}
    data = {"gpu_info": gpus, "workload_distribution": [[0.75, 0.25]], "total_request_rate": 16}
    (tmp_path / "m.json").write_text(json.dumps(data), encoding="utf-8")
    problem = one_gpu([1])
    problem["workers"] = "m.json"
    path = fleet_files.written(tmp_path, problem)
    code, found = answer(capsys, "plan", path)
    # 2 A carry 8 of the 12 short requests a second; the other 4 and the 4 long ones need 8 / 5 of B
    assert (code, found["gpus"]) == (0, {"A": 2, "B": 2})
    assert found["cost_usd_per_hour"] == 8


def test_the_file_of_workers_states_the_rate(tmp_path, capsys):
    """No ``demand`` in the problem: rate, buckets and shares come from the file."""
    data = {
        "gpu_info": {"B": {"cost": 3, "tputs": [[5, 5]]}},
        "workload_distribution": [[0.75, 0.25]], "total_request_rate": 16,
    }  # fmt: skip
    (tmp_path / "m.json").write_text(json.dumps(data), encoding="utf-8")
    problem = tmp_path / "p.yaml"
    problem.write_text("{name: p, workers: m.json, workloads: [{name: w}]}", encoding="utf-8")
    code, found = answer(capsys, "plan", problem)
    assert (code, found["gpus"], found["pools"][0]["load_rps"]) == (0, {"B": 4}, 4.0)  # 16 x 1.2 / 5
    saved = tmp_path / "plan.json"
    saved.write_text(json.dumps(found), encoding="utf-8")
    assert answer(capsys, "explain", saved)[0] == 0
    assert answer(capsys, "relax", problem)[0] == 0


def test_profiles_of_gpus_are_planned_together(tmp_path, capsys):
    for gpu, cost, rates in (("A", 1, [[4, 0]]), ("B", 3, [[5, 5]])):
        profile = {"gpu": gpu, "cost": cost, "tputs": rates, "indexes": [[64], [512, 4096]]}
        (tmp_path / f"{gpu}.json").write_text(json.dumps(profile), encoding="utf-8")
    values = {
        "name": "p", "workers": ["A.json", "B.json"], "fleet": {"headroom": {"capacity": "0 %"}},
        "workloads": [{"name": "w", "demand": {"peak_rps": 10},
                       "buckets": {"in512-out64": 0.5, "in4096-out64": 0.5}}],
    }  # fmt: skip
    (tmp_path / "p.yaml").write_text(json.dumps(values), encoding="utf-8")
    code, found = answer(capsys, "plan", tmp_path / "p.yaml")
    # B carries the 5 long ones a second, two A the 5 short ones
    assert (code, found["gpus"], found["cost_usd_per_hour"]) == (0, {"A": 2, "B": 1}, 5.0)


def test_a_rate_is_missing_where_no_file_states_it(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("option,gpu,gpus,max_rps\na,g,1,2\n", encoding="utf-8")
    (tmp_path / "p.yaml").write_text("{name: p, workers: t.csv, workloads: [{name: w}]}", encoding="utf-8")
    assert cli.run(["plan", str(tmp_path / "p.yaml")]) == 2
    assert "p.yaml:1: workloads.w.demand: found no rate" in capsys.readouterr().err


def test_each_relaxation_gives_a_plan_and_a_little_less_does_not(tmp_path, capsys):
    lines = [{"gpu": "g", "term": "on_demand", "usd_per_gpu_h": 2, "region": "eu", "max_gpus": 9}]
    path = fleet_files.written(
        tmp_path, one_gpu([4, 7], supply=lines, quota={"eu": 5}, budget="8 USD/h"), ONE_GPU
    )
    code, found = answer(capsys, "relax", path)
    assert (code, found["conflicts"]) == (0, [["budget"], ["quota:eu"]])
    both = next(
        item["changes"]
        for item in found["relaxations"]
        if {change["id"] for change in item["changes"]} == {"budget", "quota:eu"}
    )
    wanted = {change["id"]: change["to"] for change in both}
    assert wanted == {"budget": 14, "quota:eu": 7}
    for quota, budget, expected in ((7, "14", 0), (6, "14", 1), (7, "13.86", 1)):
        sets = ["--set", f"fleet.quota.eu={quota}", "--set", f"fleet.budget={budget} USD/h"]
        assert answer(capsys, "whatif", path, *sets)[0] == expected


def test_order_in_the_files_changes_no_cost(tmp_path, capsys):
    problem = fleet_files.values()
    _, first = answer(capsys, "plan", fleet_files.written(tmp_path, problem))
    problem["workloads"].reverse()
    problem["fleet"]["supply"].reverse()
    head, *rest = fleet_files.TABLE.splitlines()
    table = "\n".join([head, *reversed(rest)]) + "\n"
    _, second = answer(capsys, "plan", fleet_files.written(tmp_path, problem, table))
    assert first["status"] == second["status"] == "optimal"
    assert first["objective"]["value"] == second["objective"]["value"]


def test_a_plan_is_planned_again_from_itself(tmp_path, capsys):
    _, first = answer(capsys, "plan", fleet_files.written(tmp_path, fleet_files.values()))
    again = tmp_path / "again"
    again.mkdir()
    for name, text in first["inputs"]["files"].items():
        (again / name).write_text(text, encoding="utf-8")
    (again / "p.yaml").write_text(json.dumps(first["inputs"]["problem"]), encoding="utf-8")
    _, second = answer(capsys, "plan", again / "p.yaml")
    assert second == first


def test_a_cascade_carries_everything_first_and_the_escalated_again(tmp_path, capsys):
    stages = [{"workload": "small"}, {"workload": "large", "escalated": "25 %"}]
    problem = one_gpu([7, 3], supply=[{"gpu": "g", "term": "on_demand", "usd_per_gpu_h": 2}])
    problem["workloads"] = [{"name": name, "demand": {"hourly_rps": [7, 3]}} for name in ("small", "large")]
    problem["tiers"] = [{"name": "t", "kind": "cascade", "stages": stages}]
    table = "option,workload,gpu,gpus,max_rps\ng1,small,g,1,2\ng1,large,g,1,0.5\n"
    code, found = answer(capsys, "plan", fleet_files.written(tmp_path, problem, table))
    # 7 / 2 and 3 / 2 small ones; 1.75 / 0.5 and 0.75 / 0.5 large ones, each rounded up
    assert (code, found["objective"]["value"]) == (0, 2 * (4 + 2 + 4 + 2))


def test_all_faults_of_a_fleet_are_told_at_once(tmp_path, capsys):
    problem = fleet_files.values(quota={"mars": 3}, start_cost=0.25, budget=60, max_changes=-3)
    problem["workloads"][0]["buckets"] = {"short": 0.7, "long": 0.4}
    problem["workloads"][1]["demand"]["hourly_rps"] = [1, 2, 3]
    problem["fleet"]["supply"][0].update(term="onwed", usd_per_gpu_h=-1, max_gpus=2.5)
    problem["api"] = [{"workload": "nobody", "usd_per_million_input": 1, "usd_per_million_output": 1}]
    assert cli.run(["plan", str(fleet_files.written(tmp_path, problem)), "--json"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    for key in (
        "workloads.chat.buckets: found shares that sum to 1.1", "workloads.code.demand.hourly_rps: found 3",
        "supply.0.term", "supply.0.usd_per_gpu_h", "supply.0.max_gpus", "quota.mars", "start_cost",
        "fleet.budget", "max_changes", "api.0.workload",
    ):  # fmt: skip
        assert key in shown.err


# -- limits of the plan, with no code of their own beside their file -----------------------------------------


def test_a_cap_on_replicas_holds_binds_and_has_a_price(tmp_path, capsys):
    path = fleet_files.written(tmp_path, fleet_files.values(max_replicas=14))
    _, plan = answer(capsys, "relax", path)
    most = max(sum(period["replicas"].values()) for period in plan["periods"])
    (state,) = [state for state in plan["constraints"] if state["id"] == "max-replicas"]
    assert (state["value"], state["limit"], state["unit"], state["binding"]) == (most, 14, "replicas", True)
    (price,) = [price for price in plan["prices"] if price["id"] == "max-replicas"]
    assert (price["step"], price["path"]) == ("+1 replica", "fleet.max_replicas")
    freer = answer(capsys, "whatif", path, "--set", "fleet.max_replicas=15")[1]["after"]
    saved = plan["cost_usd_per_hour"] - freer["cost_usd_per_hour"]
    assert price["saves_usd_per_hour"] == pytest.approx(saved) != 0


def test_a_cap_on_replicas_of_a_workload_conflicts_and_is_relaxed(tmp_path, capsys):
    problem = fleet_files.values()
    problem["workloads"][0]["max_replicas"] = 3
    path = fleet_files.written(tmp_path, problem)
    _, plan = answer(capsys, "relax", path)
    assert plan["status"] == "infeasible"
    assert plan["conflicts"] == [["max-replicas:chat"]]
    (change,) = next(
        row["changes"] for row in plan["relaxations"] if row["changes"][0]["id"] == "max-replicas:chat"
    )
    assert (change["from"], change["unit"], change["path"]) == (
        3,
        "replicas",
        "workloads.chat.max_replicas",
    )
    setting = f"{change['path']}={change['to']:.0f}"
    assert answer(capsys, "whatif", path, "--set", setting)[1]["after"]["status"] == "optimal"
    less = f"{change['path']}={change['to'] - 1:.0f}"
    assert answer(capsys, "whatif", path, "--set", less)[1]["after"]["status"] == "infeasible"
    assert cli.run(["plan", str(path)]) == 1
    assert "max-replicas:chat" in capsys.readouterr().out


def two_grids(tmp_path, **fleet):
    """One predicted workload over two hours; the grid of one region emits a hundred times as much."""
    lines = [
        {"gpu": "h100-sxm", "term": "on_demand", "usd_per_gpu_h": usd, "region": region, "max_gpus": 4}
        for usd, region in ((2, "europe-west3"), (3, "europe-north2"))
    ]
    problem = {
        "name": "grids",
        "workloads": [
            {
                "name": "chat",
                "model": "llama-3.1-8b",
                "demand": {"hourly_rps": [8, 4]},
                "lengths": {"input": {"p50": 1000, "p95": 2000}, "output": {"p50": 100, "p95": 200}},
                "slo": {"ttft_p95": "3 s", "itl_p95": "60 ms"},
            }
        ],
        "fleet": {"supply": lines, **fleet},
        "search": {"modes": ["aggregated"], "tp": [1]},
    }
    path = tmp_path / "grids.yaml"
    path.write_text(yaml.safe_dump(problem), encoding="utf-8")
    return path


def test_carbon_dioxide_moves_replicas_to_the_cleaner_grid(tmp_path, capsys):
    """One H100 of 700 W at a PUE of 1.3 takes 21.84 kWh a day: 6.02 kg in Frankfurt, 0.06 kg in Stockholm."""
    _, free = answer(capsys, "plan", two_grids(tmp_path))
    assert {line["region"] for line in free["supply"]} == {"europe-west3"}
    _, plan = answer(capsys, "relax", two_grids(tmp_path, max_co2_kg_per_day=1))
    assert {line["region"] for line in plan["supply"]} == {"europe-north2"}
    (state,) = [state for state in plan["constraints"] if state["id"] == "max-co2"]
    replicas = sum(sum(period["replicas"].values()) for period in plan["periods"]) / 2
    assert state["value"] == pytest.approx(replicas * 0.7 * 1.3 * 24 * 2.73 / 1000)
    (price,) = [price for price in plan["prices"] if price["id"] == "max-co2"]
    saved = plan["cost_usd_per_hour"] - free["cost_usd_per_hour"]
    assert price["removed_saves_usd_per_hour"] == pytest.approx(saved)


def test_carbon_dioxide_that_no_grid_keeps_is_relaxed(tmp_path, capsys):
    path = two_grids(tmp_path, max_co2_kg_per_day=0.001)
    _, plan = answer(capsys, "relax", path)
    assert plan["conflicts"] == [["max-co2"]]
    (change,) = next(row["changes"] for row in plan["relaxations"] if row["changes"][0]["id"] == "max-co2")
    assert (change["unit"], change["path"]) == ("kg CO2/day", "fleet.max_co2_kg_per_day")
    setting = f"{change['path']}={change['to']}"
    assert answer(capsys, "whatif", path, "--set", setting)[1]["after"]["status"] == "optimal"


def test_a_region_of_an_unknown_grid_is_refused_by_name(tmp_path, capsys):
    path = two_grids(tmp_path, max_co2_kg_per_day=1)
    path.write_text(path.read_text(encoding="utf-8").replace("europe-north2", "moon"), encoding="utf-8")
    assert cli.run(["plan", str(path)]) == 2
    assert "found h100-sxm/on_demand#2 at moon, expected regions with a figure" in capsys.readouterr().err
    own = "fleet.co2_g_per_kwh={moon: 5}"
    assert cli.run(["whatif", str(path), "--set", own]) == 2  # today's problem is refused as well
