"""Demand as people say it, through the command line: the rate that is planned for, and what is refused."""

import math

import pytest
import yaml

from planner.interfaces import cli

WORKLOAD = {
    "name": "chat",
    "model": "qwen3-8b",
    "lengths": {"input": {"fixed": 800}, "output": {"fixed": 300}},
    "slo": {"ttft_p95": "1 s", "itl_p95": "50 ms"},
}
FLEET = {"accelerators": ["h100-sxm"], "prices": {"h100-sxm": "2.5 USD/h"}}
SMALL = {"modes": ["aggregated"], "tp": [1]}


def file(tmp_path, demand, **changes):
    workload = {**WORKLOAD, "demand": demand, **changes}
    problem = {"name": "t", "workloads": [{k: v for k, v in workload.items() if v is not None}]}
    path = tmp_path / "p.yaml"
    path.write_text(yaml.safe_dump({**problem, "fleet": FLEET, "search": SMALL}))
    return path


@pytest.mark.parametrize("people", [37, 200, 1500])
def test_requests_in_flight_are_held_by_the_plan_and_no_more(told, tmp_path, people):
    plan = told("plan", str(file(tmp_path, {"concurrency": people})))
    (taken,) = plan["demand"]
    pools = plan["pools"]
    held = sum(pool["replicas"] * pool["load_rps"] * pool["e2e_s"]["mean"] for pool in pools)
    assert people <= held <= people * 1.001
    assert math.isclose(held, taken["requests_in_flight"], rel_tol=1e-6)
    assert math.isclose(sum(pool["replicas"] * pool["load_rps"] for pool in pools), taken["peak_rps"])


def test_users_ask_at_the_rate_of_the_limits_where_limits_say_one(told, tmp_path):
    plan = told("plan", str(file(tmp_path, {"users": 200, "think_time": "20 s"})))
    (taken,) = plan["demand"]
    e2e_s = 1 + 299 * 0.05
    assert taken["e2e_is_limit"]
    assert math.isclose(taken["e2e_s"], e2e_s)
    assert math.isclose(taken["peak_rps"], 200 / (20 + e2e_s), rel_tol=1e-5)
    assert told("plan", str(file(tmp_path, {"users": 200})))["demand"][0]["peak_rps"] == taken["peak_rps"]


def test_users_without_limits_ask_as_fast_as_the_plan_answers(told, tmp_path):
    plan = told("plan", str(file(tmp_path, {"users": 200, "think_time": "5 s"}, slo=None)))
    (taken,) = plan["demand"]
    mean_s = plan["pools"][0]["e2e_s"]["mean"]
    assert 200 <= taken["peak_rps"] * (5 + mean_s) <= 200 * 1.001


@pytest.mark.parametrize(
    ("demand", "mean_rps"),
    [
        ({"requests_per_day": 864000, "shape": "office"}, 10),
        ({"tokens_per_day": 864000 * 300, "shape": "consumer"}, 10),
        ({"requests_per_day": 864000, "shape": "flat"}, 10),
    ],
)
def test_a_day_with_a_shape_is_24_hours_of_people_who_wait(told, tmp_path, demand, mean_rps):
    plan = told("plan", str(file(tmp_path, demand)))
    (taken,) = plan["demand"]
    hours = plan["inputs"]["problem"]["workloads"][0]["demand"]["hourly_rps"]
    assert len(hours) == len(plan["periods"]) == 24
    assert math.isclose(taken["mean_rps"], mean_rps)
    assert math.isclose(max(map(float, hours)), taken["peak_rps"])
    assert (taken["peak_rps"] > 1.5 * mean_rps) == (demand["shape"] != "flat")


def test_without_a_shape_the_day_may_wait_as_before(told, tmp_path):
    plan = told("plan", str(file(tmp_path, {"requests_per_day": 864000}, slo=None)))
    assert plan["demand"] == []
    assert "requests_per_day" in plan["inputs"]["problem"]["workloads"][0]["demand"]


def test_the_page_states_the_rate(tmp_path, capsys):
    assert cli.run(["plan", str(file(tmp_path, {"users": 200, "think_time": "20 s"}))]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "users: 200, think_time: 20 s = 5.56 req/s; whole answers take 16.0 s at their limits" in said


@pytest.mark.parametrize(
    ("demand", "words"),
    [
        ({"users": 0}, "demand.users: found 0"),
        ({"think_time": "20 s", "peak_rps": 1}, "think_time without users"),
        ({"peak_rps": 1, "shape": "office"}, "shape without work by the day"),
        ({"concurrency": 5, "users": 5}, "2 forms of demand"),
        ({"users": 5, "mean_rps": 1}, "mean_rps beside work without a rate"),
        ({"requests_per_day": 5, "shape": "offce"}, 'Maybe "office"?'),
        ({"users": 5, "think_time": 20}, "Maybe 20 s?"),
        ({"requests_per_day": 5, "shape": "office", "deadline": "8 h"}, "a deadline for interactive work"),
    ],
)
def test_what_makes_no_demand_is_told(tmp_path, capsys, demand, words):
    assert cli.run(["plan", str(file(tmp_path, demand))]) == 2
    assert words in capsys.readouterr().err


def test_people_are_refused_where_nobody_knows_how_long_answers_take(tmp_path, capsys):
    path = tmp_path / "p.yaml"
    (tmp_path / "t.csv").write_text("option,gpu,gpus,usd_per_hour,max_rps\na,h100,1,3,2.5\n")
    path.write_text("name: t\nworkers: t.csv\nworkloads: [{name: w, demand: {concurrency: 10}}]\n")
    assert cli.run(["plan", str(path)]) == 2
    assert (
        "workloads.w.demand.concurrency: found concurrency with a table of workers" in capsys.readouterr().err
    )


def test_the_same_problem_answers_every_verb(told, tmp_path):
    path = str(file(tmp_path, {"users": 200}))
    found = told("whatif", path, "--set", "workloads.chat.demand.users=400")
    rates = [found[when]["demand"][0]["peak_rps"] for when in ("before", "after")]
    assert math.isclose(rates[1], 2 * rates[0], rel_tol=1e-5)
    assert told("alternatives", path, "-k", "1")["plans"][0]["pools"]
    prices = {price["id"]: price["path"] for price in told("relax", path)["prices"]}
    assert prices["demand:chat"] is None
    assert prices["ttft:chat"] == "workloads.chat.slo.ttft_p95"


def test_more_than_there_is_is_a_no_at_the_rate_of_everybody(told, tmp_path):
    few = {**FLEET, "stock": {"h100-sxm": 2}}
    path = file(tmp_path, {"concurrency": 100_000})
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), "fleet": few}))
    plan = told("relax", str(path), code=0)
    assert plan["status"] == "infeasible"
    (taken,) = plan["demand"]
    assert taken["peak_rps"] > 100_000 / 30  # answers of 300 tokens within 50 ms each take 16 s at most
    enough = [change for one in plan["relaxations"] for change in one["changes"]]
    assert max(change["to"] for change in enough if change["id"] == "stock:h100-sxm") > 500
    assert {change["path"] for change in enough if change["id"] == "demand:chat"} <= {None}


def test_limits_that_nothing_keeps_are_a_no_at_the_rate_without_them(told, tmp_path):
    slo = {"ttft_p95": "1 ms", "itl_p95": "50 ms"}
    plan = told("plan", str(file(tmp_path, {"concurrency": 100}, slo=slo)), code=1)
    assert 10 < plan["demand"][0]["peak_rps"] < 100
