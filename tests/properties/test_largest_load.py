"""The largest load of a fleet is where ordinary planning, asked at one load after the other, ends."""

from __future__ import annotations

import copy
import json
import random
from decimal import Decimal

import pytest
from random_tables import random_table, written
from solved_problems import catalog, rules

from planner.app.plan import solve_problem
from planner.loaders.problem import load_problem_document
from planner.planning.run import Run

FEW = 8
MANY = 100
STEPS = 14
"""Halvings: 1 / 16,384 of the first bracket."""


def limited(folder, seed):
    """A random problem over a table, with a fleet that something limits."""
    written(folder, seed)
    problem, _ = random_table(seed)
    r = random.Random(seed)
    fleet = problem["fleet"]
    fleet.pop("budget", None)
    for owner in (fleet, *problem["workloads"]):
        if not isinstance(owner.get("redundancy"), int) and "supply" not in fleet:
            owner.pop("redundancy", None)  # of zones and providers, which only lines of supply name
    if r.random() < 0.5 or "supply" in fleet:
        fleet["max_gpus"] = r.choice([4, 7, 12])
    else:
        fleet["stock"] = {gpu: r.choice([2, 5, 8]) for gpu in ("g0", "g1", "g2")}
    return problem


def at(problem, factor):
    """The problem with every rate times a factor."""
    scaled = copy.deepcopy(problem)
    for workload in scaled["workloads"]:
        demand = workload["demand"]
        for key, value in demand.items():
            if key in ("peak_rps", "mean_rps"):
                demand[key] = str(Decimal(str(value)) * factor)
            elif key == "hourly_rps":
                demand[key] = [str(Decimal(str(rate)) * factor) for rate in value]
    return json.loads(json.dumps(scaled))


def planned(folder, values, **more):
    ids = [rule.id for rule in rules()]
    problem = load_problem_document(values | more, catalog(), "problem", folder, ids)
    return solve_problem(problem, folder, catalog(), rules(), Run(), "problem")


def feasible(folder, problem, factor):
    plan = planned(folder, at(problem, factor))
    assert plan.status != "unknown"
    return plan.status != "infeasible"


def by_halving(folder, problem, steps):
    """The largest factor that has a plan, by ordinary planning alone; 0 where none does."""
    low, high = Decimal(0), Decimal(1)
    while feasible(folder, problem, high):
        low, high = high, high * 4
    for _ in range(steps):
        middle = ((low + high) / 2).normalize()
        low, high = (middle, high) if feasible(folder, problem, middle) else (low, middle)
    return low, high


def agree(folder, problem, steps=STEPS):
    found = planned(folder, problem, objective="throughput")
    low, high = by_halving(folder, problem, steps)
    if found.status == "infeasible":
        assert low == 0
        assert set(found.capacity.rps.values()) == {0.0}
        return
    assert found.status == "optimal"
    assert float(low) * (1 - 1e-4) <= found.capacity.of_demand <= float(high) * (1 + 1e-4), (low, high)
    assert found.objective.value == pytest.approx(sum(found.capacity.rps.values()))


@pytest.mark.parametrize("seed", range(FEW))
def test_the_largest_load_is_found_by_halving_over_ordinary_plans(tmp_path, seed):
    agree(tmp_path, limited(tmp_path, seed))


@pytest.mark.judge
@pytest.mark.parametrize("seed", range(FEW, MANY))
def test_many_more(tmp_path, seed):
    agree(tmp_path, limited(tmp_path, seed))


def predicted(seed):
    """A random predicted problem over a few GPUs that are there."""
    r = random.Random(seed)
    chat = {
        "name": "chat",
        "model": "llama-3.1-8b",
        "demand": {"peak_rps": r.choice([2, 15, 60]), "burstiness": r.choice([1, 1, 2])},
        "lengths": {
            "input": {"p50": r.choice([300, 1500]), "p99": 3000},
            "output": {"p50": r.choice([60, 250]), "p99": 600},
        },
        "slo": r.choice(
            [{}, {"ttft_p99": "300 ms"}, {"itl_p99": "30 ms"}, {"ttft_p95": "800 ms", "itl_p99": "60 ms"}]
        ),
    }
    docs = chat | {"name": "docs", "demand": {"peak_rps": 3}, "slo": {}}
    fleet = {"owned": {"h100": r.choice([1, 2, 3, 5])}, "redundancy": r.choice([0, 0, 1])}
    if r.random() < 0.4:
        fleet = {
            "stock": {"l40s": r.choice([2, 4]), "h100": 1},
            "prices": {"l40s": "1 USD/h", "h100": "3 USD/h"},
        }
    accelerators = [*fleet.get("owned", {}), *fleet.get("stock", {})]
    modes = r.choice([["aggregated"], ["aggregated", "disaggregated"], ["disaggregated"]])
    workloads = [chat, docs] if r.random() < 0.3 else [chat]
    return {
        "name": f"predicted-{seed}",
        "workloads": workloads,
        "fleet": fleet | {"accelerators": accelerators, "headroom": {"capacity": r.choice(["0 %", "20 %"])}},
        "search": {"modes": modes},
    }


@pytest.mark.judge
@pytest.mark.parametrize("seed", range(12))
def test_predictions_too(tmp_path, seed):
    agree(tmp_path, predicted(seed), steps=7)
