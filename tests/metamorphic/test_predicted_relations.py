"""The same of problems that are answered from the performance model: order, prices, and what relax offers."""

import copy
import math

import pytest
from more import seeds
from solved_problems import new_study, random_problem, solved
from table_problems import number

from planner.app.session import Session
from planner.loaders.problem import load_problem_document

SCALE = 4


def priced_problem(seed):
    """A random problem whose prices are its own."""
    values = random_problem(seed)
    prices = {
        name: f"{1 + place * 0.75:g} USD/h" for place, name in enumerate(values["fleet"]["accelerators"])
    }
    values["fleet"] = {"prices": prices, **{k: v for k, v in values["fleet"].items() if k != "stock"}}
    return values


def cost(plan):
    return math.inf if plan.cost_usd_per_hour is None else plan.cost_usd_per_hour


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(3, start=400))
def test_order_and_scale_of_prices(seed):
    values, study = priced_problem(seed), new_study()
    before = cost(solved(values, study))
    turned = dict(reversed(copy.deepcopy(values).items()))
    turned["workloads"].reverse()
    turned["fleet"]["accelerators"].reverse()
    turned["fleet"]["prices"] = dict(reversed(turned["fleet"]["prices"].items()))
    assert cost(solved(turned)) == pytest.approx(before, rel=1e-9)
    dearer = copy.deepcopy(values)
    prices = dearer["fleet"]["prices"]
    dearer["fleet"]["prices"] = {name: f"{SCALE * number(text):g} USD/h" for name, text in prices.items()}
    assert cost(solved(dearer, study)) == pytest.approx(SCALE * before, rel=1e-9)


@pytest.mark.judge
@pytest.mark.parametrize("seed", seeds(2, start=500))
def test_ways_out_of_a_budget_hold(seed, tmp_path):
    """A budget below the cost: each way out that moves money or demand is a plan at the stated cost."""
    values, study = priced_problem(seed), new_study()
    plan = solved(values, study)
    if plan.cost_usd_per_hour is None:
        return
    values["fleet"]["budget"] = f"{0.7 * plan.cost_usd_per_hour:.6f} USD/h"
    told = relaxed(values, study, tmp_path)
    assert told.status == "infeasible"
    assert any("budget" in group for group in told.conflicts)
    for way in told.relaxations:
        wider = copy.deepcopy(values)
        if all(typed(wider, change.id, change.to) for change in way.changes):
            found = solved(wider, study)
            assert cost(found) == pytest.approx(way.cost_usd_per_hour, rel=1e-6), way


def relaxed(values, study, folder):
    problem = load_problem_document(copy.deepcopy(values), study.catalog)
    session = Session(problem, values, folder, study.catalog, study.rules)
    session.__dict__["study"] = study
    return session.relax()


def typed(values, name, to):
    """One limit moved; False where it is not typed in here."""
    kind, _, owner = name.partition(":")
    if kind == "budget" and not isinstance(to, str):
        values["fleet"]["budget"] = f"{to!r} USD/h"
        return True
    if kind == "demand" and not isinstance(to, str):
        workload = next(item for item in values["workloads"] if owner in ("", item["name"]))
        workload["demand"]["peak_rps"] = to
        return True
    return False
