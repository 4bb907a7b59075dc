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
    assert fewest.text == "Aggregated serving takes 2 GPUs, disaggregated 8 GPUs (+300 %)."
    assert cheapest.text == "Disaggregated serving costs 4.00 USD/h, aggregated 18.00 USD/h (+350 %)."


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


BUCKETS = "{ttft_p99: 500 ms, itl_p99: 50 ms}, buckets: {a: 0.5, b: 0.5}"


def test_an_option_left_out_of_one_bucket_does_not_report_its_latency_there(tmp_path):
    """``one`` breaks both limits on b, so it serves a; what it waits on b is nobody's wait."""
    rows = [
        "one,,a,,h100,1,3,10,499.9,49.9,0.9,,",
        "one,,b,,h100,1,3,10,900,90,0.95,,",
        "two,,b,,h100,1,3,10,100,10,,,",
    ]
    found = plan(tmp_path, rows, slo=BUCKETS)
    states = {state.id: (state.value, state.slack >= 0) for state in found.constraints}
    assert states == {"ttft:w": (0.4999, True), "itl:w": (0.0499, True), "vram:w": (0.9, True)}
    assert [pool.ttft_s for pool in found.pools] == [{"p99": 0.4999}, {"p99": 0.1}]
    assert [(route.bucket, route.pool) for route in found.routing] == [("a", "w/serve/1"), ("b", "w/serve/2")]


def test_the_slowest_pair_is_stated_not_the_slowest_halves(tmp_path):
    """Late with a short KV transfer, and early with a long one: no pair takes 400 + 300 ms."""
    rows = [
        "late,,a,prefill,h100,1,3,5,400,,,,100",
        "early,,b,prefill,h100,1,3,5,200,,,,300",
        "d,,a,decode,h100,1,3,10,,20,,,",
        "d,,b,decode,h100,1,3,10,,20,,,",
    ]
    found = plan(tmp_path, rows, slo=BUCKETS)
    (ttft,) = (state for state in found.constraints if state.id == "ttft:w")
    assert (ttft.value, ttft.slack, ttft.binding) == (0.5, 0.0, True)


def test_a_value_at_its_limit_is_within_it(tmp_path):
    """1100.1 ms x 0.001 is more than 1.1001 in floats."""
    found = plan(tmp_path, ["a,,,,h100,1,3,10,1100.1,,,,"], slo="{ttft_p99: 1100.1 ms}")
    (state,) = found.constraints
    assert (state.value, state.slack) == (1.1001, 0.0)


def test_rows_that_nobody_asks_for_are_left_out_and_named(tmp_path):
    rows = [
        "one,w,a,,h100,1,3,10,100,10,,,",
        "one,w,b,,h100,1,3,10,100,10,,,",
        "one,w,night,,h100,1,3,1,900,10,,,",
        "one,other,,,h100,1,3,1,900,10,,,",
    ]
    found = plan(tmp_path, rows, slo=BUCKETS)
    assert (found.cost_usd_per_hour, found.pools[0].ttft_s) == (3.0, {"p99": 0.1})
    assert [text for text in found.warnings if "not read" in text] == [
        "rows of the table for workload other are not read: the problem has none",
        "rows of the table for bucket night are not read: no workload asks for them",
    ]


def test_a_workload_without_buckets_reads_the_rows_without_one(tmp_path):
    rows = ["one,,,,h100,1,3,10,,,,,", "one,,x,,h100,1,3,1,,,,,", "one,,y,,h100,1,3,1,,,,,"]
    found = plan(tmp_path, rows)
    assert (found.cost_usd_per_hour, found.routing[0].bucket) == (3.0, "all")


def test_figures_that_nobody_measured_are_named_where_a_limit_reads_them(tmp_path):
    rows = [
        *(f"{name},,,,h100,1,9,5,,30,,," for name in "abcde"),
        "p,,,prefill,l4,2,1,5,200,,,,",
        "q,,,decode,l4,2,1,5,,,,,",
    ]
    assert plan(tmp_path, rows).warnings == (
        "workload w: no ttft_ms is stated for a, b, c and 2 more: it counts as 0 ms",
        "workload w: no itl_ms is stated for q: it counts as 0 ms",
        "workload w: no transfer_ms is stated for p: it counts as 0 ms",
    )
    assert plan(tmp_path, rows, slo="{}").warnings == ()
