"""The simplest plan near the optimum, through the command line."""

import json

import pytest
import yaml
from day_files import answer, written

from planner import numbers
from planner.interfaces import cli


@pytest.mark.parametrize(
    ("tolerance", "usd_per_h", "pools", "changes"),
    [("15 %", 2, 1, 0), ("14 %", 11 / 6, 2, 2), ("4 %", 1.75, 2, 4)],
)
def test_within_the_tolerance_the_plan_is_the_simplest(
    tmp_path, capsys, tolerance, usd_per_h, pools, changes
):
    """10.50 USD a day with both layouts in turn, 11 (+4.8 %) with two changes, 12 (+14.3 %) with one."""
    code, plan = answer(capsys, "plan", written(tmp_path, simplicity=tolerance))
    assert (code, plan["status"], plan["objective"]["gap"]) == (0, "optimal", 0)
    assert plan["cost_usd_per_hour"] == pytest.approx(usd_per_h)
    assert plan["objective"]["lower_bound"] == pytest.approx(10.5)
    told = plan["simplicity"]
    assert (told["pools"], told["changes"], told["proved"]) == (pools, changes, True)
    assert len(plan["pools"]) == pools
    assert told["optimum_usd_per_hour"] == pytest.approx(1.75)
    assert told["costs_usd_per_hour"] == pytest.approx(usd_per_h - 1.75)


def test_the_page_says_what_simplicity_costs(tmp_path, capsys):
    cli.run(["plan", str(written(tmp_path, simplicity="15 %"))])
    page = " ".join(capsys.readouterr().out.split())
    assert "proved: nothing simpler exists this near the proved optimum" in page
    assert "1 pool, 0 changes a day; 2 pools with 4 changes a day would save 12.5 % (0.250 USD/h)." in page


def test_a_table_of_workers_keeps_its_optimum(tmp_path, capsys):
    _, plan = answer(capsys, "plan", written(tmp_path))
    assert plan["simplicity"] is None
    assert plan["cost_usd_per_hour"] == 1.75


def test_limits_stay_limits_of_the_simple_plan(tmp_path, capsys):
    """One place is asked for in any case, and nothing is left to simplify."""
    _, plan = answer(capsys, "plan", written(tmp_path, simplicity="15 %", mix_places=False))
    told = plan["simplicity"]
    assert (told["pools"], told["optimum_usd_per_hour"], told["costs_usd_per_hour"]) == (1, 2, 0)
    assert told["text"] == "1 pool, 0 changes a day: the simplest of the cheapest plans"


def test_prices_are_those_of_the_optimum(tmp_path, capsys):
    _, plan = answer(capsys, "relax", written(tmp_path, simplicity="15 %", max_layouts_per_workload=1))
    assert plan["simplicity"] is None
    (price,) = [p for p in plan["prices"] if p["id"] == "max-layouts"]
    assert price["saves_usd_per_hour"] == pytest.approx(0.25)


def predicted(tmp_path, hours, **fleet):
    """One predicted workload on single GPUs and pairs of them."""
    problem = {
        "name": "calm",
        "workloads": [
            {
                "name": "chat",
                "model": "llama-3.1-8b",
                "demand": {"hourly_rps": hours},
                "lengths": {"input": {"p50": 1000, "p95": 2000}, "output": {"p50": 100, "p95": 200}},
                "slo": {"ttft_p95": "3 s", "itl_p95": "60 ms"},
            }
        ],
        "fleet": {"prices": {"h100-sxm": "2.5 USD/h", "l40s": "0.9 USD/h"}, **fleet},
        "search": {"modes": ["aggregated"], "tp": [1]},
    }
    path = tmp_path / "calm.yaml"
    path.write_text(yaml.safe_dump(problem), encoding="utf-8")
    return path


HOURS = [1, 1, 4, 4, 20, 4, 4, 1]


def lives(plan):
    """Hours in a row of the shortest-lived pool."""
    shortest = len(plan["periods"])
    for pool in plan["pools"]:
        used = "".join("x" if hour["replicas"].get(pool["id"]) else " " for hour in plan["periods"])
        if " " in used:
            start = used.index(" ")
            shortest = min(shortest, *map(len, (used[start:] + used[:start]).split()))
    return shortest


def test_a_predicted_day_is_calm_unless_it_says_otherwise(tmp_path, capsys):
    _, free = answer(capsys, "plan", predicted(tmp_path, HOURS, simplicity="0 %"))
    _, plan = answer(capsys, "plan", predicted(tmp_path, HOURS))
    _, said = answer(capsys, "plan", predicted(tmp_path, HOURS, simplicity="2 %"))
    assert free["simplicity"] is None
    told = plan["simplicity"]
    assert told == said["simplicity"]
    assert told["optimum_usd_per_hour"] <= free["cost_usd_per_hour"]
    assert told["pools_at_least"] <= told["pools"]
    assert plan["cost_usd_per_hour"] <= 1.02 * free["cost_usd_per_hour"]
    assert (told["pools"], told["changes"]) <= (len(free["pools"]), told["optimum_changes"])
    given_up = any("hours without a break" in line for line in plan["warnings"])
    assert given_up == (lives(plan) < 3)


def test_one_predicted_hour_is_its_optimum(tmp_path, capsys):
    assert answer(capsys, "plan", predicted(tmp_path, [4], simplicity="0 %"))[1]["simplicity"] is None


def test_short_lives_are_given_up_and_said(tmp_path, capsys):
    """Without tolerance worth the name, the peak hour keeps the layout that only it needs."""
    _, plan = answer(capsys, "plan", predicted(tmp_path, HOURS, simplicity="0.01 %"))
    assert lives(plan) < 3
    assert any("in which every layout is in use for 3 hours without a break" in w for w in plan["warnings"])
    cli.run(["plan", str(predicted(tmp_path, HOURS, simplicity="0.01 %"))])
    page = " ".join(capsys.readouterr().out.split())
    assert "some layout lives less than 3 hours, none was found that need not." in page


def test_starts_on_rented_gpus_are_paid_unless_the_problem_says_otherwise(tmp_path, capsys):
    calm = {"simplicity": "0 %"}
    _, plan = answer(capsys, "plan", predicted(tmp_path, HOURS, **calm))
    _, free = answer(capsys, "plan", predicted(tmp_path, HOURS, start_cost="0 %", **calm))
    _, quarter = answer(capsys, "plan", predicted(tmp_path, HOURS, start_cost="25 %", **calm))
    paid = [sum(hour["start_usd"] for hour in one["periods"]) for one in (free, plan, quarter)]
    assert paid[0] == 0
    assert free["cost_usd_per_hour"] < plan["cost_usd_per_hour"] < quarter["cost_usd_per_hour"]
    for one in (plan, quarter):
        costs = one["costs"]
        for way in ("by_workload", "by_place", "by_term"):
            assert sum(costs[way].values()) == pytest.approx(one["cost_usd_per_hour"])
        assert costs["by_term"]["start"] == pytest.approx(
            sum(hour["start_usd"] for hour in one["periods"]) / len(HOURS)
        )
    # Each start is (cold start + drain) x GPUs x price: never less than the cold start alone.
    least = 0.0
    price = {"h100-sxm": 2.5, "l40s": 0.9}
    for pool in plan["pools"]:
        counts = [hour["replicas"].get(pool["id"], 0) for hour in plan["periods"]]
        starts = sum(max(0, now - before) for before, now in zip([counts[-1], *counts], counts, strict=False))
        least += starts * pool["cold_start_s"] / 3600 * pool["gpus_per_replica"] * price[pool["gpu"]]
    assert least < paid[1] < 2 * least
    # GPUs are ordered so much earlier as their replicas take to start.
    risen = [order for order in plan["orders"] if order["gpus"] > 0]
    assert risen
    assert all(order["lead_s"] >= min(pool["cold_start_s"] for pool in plan["pools"]) for order in risen)


def test_explain_tells_what_every_start_costs(tmp_path, capsys):
    file = tmp_path / "plan.json"
    for paid in ({}, {"start_cost": "25 %"}):
        code, plan = answer(capsys, "plan", predicted(tmp_path, HOURS, simplicity="0 %", **paid))
        assert code == 0
        starts = [(hour, start) for hour in plan["periods"] for start in hour["starts"]]
        for hour in plan["periods"]:
            assert sum(start["usd"] for start in hour["starts"]) == pytest.approx(hour["start_usd"])
        file.write_text(json.dumps(plan), encoding="utf-8")
        cli.run(["explain", str(file)])
        page = " ".join(capsys.readouterr().out.split())
        for hour, start in starts:
            assert f"{hour['period']:02}:00 {start['count']} × {start['what']}" in page
        assert f"{numbers.count(len(starts), 'start')} for" in page
        if not paid:
            leads = {pool["id"]: pool["cold_start_s"] for pool in plan["pools"]}
            assert all(leads[one["what"]] <= one["lead_s"] < leads[one["what"]] + 1 for _, one in starts)


def test_a_day_without_starts_has_no_such_section(tmp_path, capsys):
    _, plan = answer(capsys, "plan", predicted(tmp_path, [4] * 8))
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan), encoding="utf-8")
    cli.run(["explain", str(file)])
    assert "Starts" not in capsys.readouterr().out


@pytest.mark.parametrize("demand", [{"peak_rps": 300}, {"requests_per_day": 5_000_000}])
def test_offers_of_an_hour_or_of_a_day_stand_at_one_place(tmp_path, capsys, demand):
    path = predicted(tmp_path, [300])
    problem = yaml.safe_load(path.read_text(encoding="utf-8"))
    problem["workloads"][0]["demand"] = demand
    problem["fleet"] = {}
    cost = {}
    for mix in (None, True):
        problem["fleet"] = {} if mix is None else {"mix_places": mix}
        path.write_text(yaml.safe_dump(problem), encoding="utf-8")
        _, plan = answer(capsys, "plan", path)
        cost[mix] = plan["cost_usd_per_hour"]
        sites = {pool["site"] for pool in plan["pools"]}
        saved = any("mixing places would save" in line for line in plan["warnings"])
        if mix is None:
            assert len(sites) == 1
            assert plan["status"] == "optimal"
            says = saved
    assert says == (cost[True] < cost[None])


def test_each_workload_of_a_day_stands_at_one_place(tmp_path, capsys):
    path = predicted(tmp_path, [20, 90, 40])
    problem = yaml.safe_load(path.read_text(encoding="utf-8"))
    (chat,) = problem["workloads"]
    problem["workloads"].append(chat | {"name": "more", "demand": {"hourly_rps": [200, 30, 10]}})
    fleet = {"accelerators": ["h100-sxm", "l40s"], "simplicity": "0 %"}
    found = {}
    for mix in (False, True):
        problem["fleet"] = fleet | ({"mix_places": True} if mix else {})
        path.write_text(yaml.safe_dump(problem), encoding="utf-8")
        _, found[mix] = answer(capsys, "plan", path)
    sites = {(pool["workload"], pool["site"]) for pool in found[False]["pools"]}
    assert sorted(name for name, _ in sites) == ["chat", "more"]
    assert found[False]["status"] == "optimal"
    assert found[True]["objective"]["lower_bound"] <= found[False]["cost_usd_per_hour"] * 3
    said = any("mixing places would save at most" in line for line in found[False]["warnings"])
    assert said >= (found[True]["cost_usd_per_hour"] < found[False]["cost_usd_per_hour"])


def test_no_plan_is_said_to_have_no_pools(tmp_path, capsys):
    _, plan = answer(capsys, "plan", written(tmp_path, simplicity="15 %"))
    path = tmp_path / "plan.json"
    for pools_at_least, words in ((1, "whether fewer pools do is not proved"), (2, "fewer than 2 pools are")):
        told = plan["simplicity"] | {"pools": 3, "proved": False, "pools_at_least": pools_at_least}
        path.write_text(json.dumps(plan | {"simplicity": told}))
        cli.run(["explain", str(path)])
        said = " ".join(capsys.readouterr().out.split())
        assert words in said
        assert "fewer than 1 pool" not in said
