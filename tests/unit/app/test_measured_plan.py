"""Plans from tables of measured workers, aggregated against disaggregated."""

from __future__ import annotations

import pytest

import planner
from planner.app import plan as plan_case

HEADER = (
    "option,workload,bucket,role,gpu,gpus,usd_per_hour,max_rps,ttft_ms,itl_ms,memory_fraction,kv,transfer_ms"
)


def plan(tmp_path, rows, more="", slo="{ttft_p99: 500 ms, itl_p99: 50 ms}", rps=10):
    (tmp_path / "t.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    (tmp_path / "p.yaml").write_text(
        f"name: t\nworkers: t.csv\nworkloads:\n"
        f"  - {{name: w, demand: {{peak_rps: {rps}}}, slo: {slo}}}\n"
        f"fleet: {{headroom: {{capacity: 0 %}}}}\n{more}"
    )
    return plan_case.plan(tmp_path / "p.yaml")


def test_capacity_that_equals_demand_is_enough(tmp_path):
    found = plan(tmp_path, ["a,,,,h100,1,3,2.5,,,,,"])
    assert (found.status, found.cost_usd_per_hour, found.pools[0].replicas) == ("optimal", 12.0, 4)
    assert found.pools[0].utilization == 1.0


def test_one_more_request_needs_one_more_replica(tmp_path):
    found = plan(tmp_path, ["a,,,,h100,1,3,2.5,,,,,"], rps="10.001")
    assert found.pools[0].replicas == 5


def test_disaggregated_wins_when_cheaper_and_states_its_ratio(tmp_path):
    rows = [
        "whole,,,,h100,4,12,2,200,30,,,",
        "p,,,prefill,h100,1,3,5,200,,,fp8,100",
        "d,,,decode,h100,1,3,10,,20,,fp8,100",
    ]
    found = plan(tmp_path, rows)
    assert found.cost_usd_per_hour == 9.0
    assert found.pd_ratio == {"gpus": "2:1", "replicas": "2:1"}
    assert {pool.mode for pool in found.pools} == {"disaggregated"}
    assert next(s for s in found.constraints if s.id == "ttft:w").value == pytest.approx(0.3)


def test_the_ways_to_serve_are_compared_by_what_is_minimized(tmp_path):
    rows = [
        "whole,,,,h100,1,9,5,200,30,,,",
        "p,,,prefill,l4,2,1,5,200,,,,",
        "d,,,decode,l4,2,1,5,,20,,,",
    ]
    fewest = plan(tmp_path, rows, "objective: gpus\n").mode_choice[0]
    cheapest = plan(tmp_path, rows).mode_choice[0]
    assert fewest.text == "Served together the plan takes 2 GPUs, apart 8 GPUs (+300 %)."
    assert cheapest.text == "Served apart the plan costs 4.00 USD/h, together 18.00 USD/h (+350 %)."


def test_an_infeasible_table_counts_rows_by_limit(tmp_path):
    rows = ["slow,,,,h100,1,3,5,600,30,,,", "both,,,,h100,1,3,5,900,90,,,", "jerky,,,,h100,1,3,5,100,60,,,"]
    found = plan(tmp_path, rows)
    counts = {item.id: (item.alone, item.total, item.nearest) for item in found.removed}
    assert found.status == "infeasible"
    assert counts["ttft:w"] == (1, 2, "slow")
    assert counts["itl:w"] == (1, 2, "jerky")


def test_mixing_is_an_option_that_can_be_refused(tmp_path):
    rows = ["big,,,,h100,1,10,6,,,,,", "small,,,,l4,1,3,1.5,,,,,"]
    mixed = plan(tmp_path, rows, rps=7)
    one = plan(tmp_path, rows, "search: {mix: false}\n", rps=7)
    assert (mixed.cost_usd_per_hour, one.cost_usd_per_hour) == (13.0, 15.0)


def test_a_relaxed_share_can_be_fed_back_with_its_unit(tmp_path):
    limits = "{headroom: {capacity: 0 %}, budget: 6 USD/h, max_utilization: 90 %}"
    plan(tmp_path, ["a,,,,h100,1,3,10,,,,,"], rps="18.01")
    text = (tmp_path / "p.yaml").read_text().replace("{headroom: {capacity: 0 %}}", limits)
    (tmp_path / "p.yaml").write_text(text)
    problem = planner.load(tmp_path / "p.yaml")
    moved = {one.changes[0].id: one for one in problem.relax().relaxations if len(one.changes) == 1}
    (change,) = moved["max_utilization"].changes
    assert (change.to, change.unit) == (0.9005, "fraction")
    after = problem.whatif({change.path: f"{change.to} {change.unit}"}).after
    assert after.cost_usd_per_hour == moved["max_utilization"].cost_usd_per_hour == 6.0
