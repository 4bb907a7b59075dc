"""A fleet of one hour says what the same problem says without a key that only fleets have."""

import copy

import pytest
import yaml

import planner

CHAT = {
    "name": "chat",
    "model": "llama-3.1-8b",
    "demand": {"peak_rps": 30},
    "lengths": {"input": {"p50": 1000, "p95": 3000}, "output": {"p50": 150, "p95": 400}},
    "slo": {"ttft_p99": "1500 ms", "itl_p99": "40 ms"},
    "precision": {"weights": ["bf16"], "kv": ["bf16"]},
    "engine": "vllm",
}
FLEET = {"prices": {"h100-sxm": "2.5 USD/h", "l40s": "1 USD/h", "t4": "0.4 USD/h"}, "network": "50 GB/s"}


def both(folder, **changes):
    """The plans of a problem, and of it with a charge for starts, of which one hour has none."""
    chat = {key: value for key, value in (CHAT | changes.pop("workload", {})).items() if value is not None}
    values = {"name": "p", "workloads": [chat], "fleet": FLEET, **changes}
    plans = []
    for name, extra in (("one", {}), ("fleet", {"start_cost": "10 %"})):
        mine = copy.deepcopy(values)
        mine["fleet"] |= extra
        path = folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(mine), encoding="utf-8")
        plans.append(planner.load(path).solve())
    assert not plans[0].supply
    return plans


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    return both(
        tmp_path_factory.mktemp("told"),
        search={"modes": ["aggregated", "disaggregated"], "tp": [1], "pp": [1]},
    )


def test_it_costs_the_same(plans):
    one, fleet = plans
    assert (one.status, fleet.status) == ("optimal", "optimal")
    assert fleet.cost_usd_per_hour == one.cost_usd_per_hour
    assert fleet.supply


def test_the_next_best_and_what_cannot_serve_are_the_same(plans):
    one, fleet = plans
    assert one.runners_up
    assert fleet.runners_up == one.runners_up
    assert [row.gpu for row in one.why_not] == ["t4"]
    assert fleet.why_not == one.why_not


def test_both_modes_cost_the_same(plans):
    one, fleet = (plan.mode_choice[0] for plan in plans)
    assert fleet.disaggregated_cost_usd_per_hour is not None
    assert fleet.model_copy(update={"text": ""}) == one.model_copy(update={"text": ""})


def test_steps_of_the_ratio_are_the_same(tmp_path):
    one, fleet = both(tmp_path, search={"modes": ["disaggregated"]})
    assert one.pd_steps
    assert fleet.pd_steps == one.pd_steps


def test_what_sessions_imply_is_the_same(tmp_path):
    sessions = {"per_hour": 3600, "turns": 5, "growth": 300, "first_input": 800, "output": 150}
    think = {"think_time": "20 s"}
    one, fleet = both(tmp_path, workload={"demand": {"sessions": sessions | think}, "lengths": None})
    assert one.sessions
    assert fleet.sessions == one.sessions


def test_what_limits_remove_is_the_same(tmp_path):
    one, fleet = both(tmp_path, workload={"slo": {"ttft_p99": "1 ms", "itl_p99": "1 ms"}})
    assert (one.status, fleet.status) == ("infeasible", "infeasible")
    assert one.removed
    assert fleet.removed == one.removed
    assert fleet.provenance.candidates == one.provenance.candidates
