"""Problems as plain values, solved with one catalog, and the changes that tighten them."""

import copy
import functools
import math
import random
from pathlib import Path

from planner.app.plan import answered
from planner.loaders.catalog import load_catalog
from planner.loaders.problem import load_problem_document
from planner.loaders.rules import load_planning_rules
from planner.planning.formulation.study import Study
from planner.planning.run import Run

MODELS = [
    "llama-3.1-8b", "llama-3.3-70b", "qwen3-32b", "mixtral-8x7b", "gpt-oss-120b", "gemma-3-27b",
    "qwen3-30b-a3b", "deepseek-v3", "qwen3-next-80b-a3b", "mistral-7b-v0.1",
]  # fmt: skip
ACCELERATORS = ["h100-sxm", "h200-sxm", "a100-sxm", "l40s", "b200", "mi300x", "l4"]


@functools.cache
def catalog():
    return load_catalog()


@functools.cache
def rules():
    return load_planning_rules()


def new_study(overlays=()):
    """Keeps what several variants of one problem have in common, as a what-if does."""
    return Study(load_catalog(tuple(overlays)) if overlays else catalog(), rules(), Path())


def solved(values, study=None):
    """The plan of a problem in plain values."""
    study = study or new_study()
    problem = load_problem_document(copy.deepcopy(values), study.catalog)
    return answered(study, problem, Run(time_limit_s=60.0))


def cost(values, study=None):
    """Cost of the proved plan; infinite where there is none."""
    plan = solved(values, study)
    assert plan.status in ("optimal", "infeasible")
    return math.inf if plan.cost_usd_per_hour is None else plan.cost_usd_per_hour


def random_problem(seed):
    """An everyday problem: one or two models, a few accelerators, limits that some of them keep."""
    r = random.Random(seed)
    fleet = {"accelerators": r.sample(ACCELERATORS, r.choice([2, 3, 4]))}
    if r.random() < 0.5:
        fleet["prices"] = {name: f"{r.uniform(0.5, 8):.2f} USD/h" for name in fleet["accelerators"]}
        fleet["purchase"] = r.choice(["gpu", "node"])
    else:
        # Named stock is bought in servers, not as instances: a stock that comes later changes the market.
        fleet["stock"] = dict.fromkeys(fleet["accelerators"], 100_000) if r.random() < 0.5 else {}
    if r.random() < 0.3:
        fleet["headroom"] = {"memory": r.choice(["5 %", "15 %"]), "capacity": r.choice(["0 %", "30 %"])}
    if r.random() < 0.3:
        fleet["min_replicas"] = r.choice([2, 3])
    if r.random() < 0.3:
        fleet["redundancy"] = r.choice([1, 2, {"per_option": 1}])
    if r.random() < 0.3:
        fleet["max_utilization"] = r.choice(["60 %", "85 %"])
    return {
        "name": f"random-{seed}",
        "workloads": [_workload(r, name) for name in ("a", "b")[: r.choice([1, 1, 2])]],
        "fleet": fleet,
        "search": {"mix": r.random() < 0.7},
    }


def _workload(r, name):
    prompt, answer = r.choice([120, 600, 2000, 6000]), r.choice([60, 200, 500])
    slo = {"ttft_p99": f"{r.choice([1, 2, 4])} s", "itl_p99": f"{r.choice([60, 100, 200])} ms"}
    if r.random() < 0.3:
        slo = {"e2e_p95": f"{r.choice([20, 60])} s", "tpot_mean": f"{r.choice([40, 80])} ms"}
    return {
        "name": name,
        "model": r.choice(MODELS),
        "demand": {"peak_rps": r.choice([0.5, 3, 12, 40]), "burstiness": r.choice([1, 1, 2])},
        "lengths": {
            "input": {"p50": prompt, "p95": 3 * prompt, "p99": 4 * prompt},
            "output": {"p50": answer, "p95": 3 * answer, "p99": 4 * answer},
        },
        "slo": slo,
    }


def _scaled_slo(factor):
    def change(values, plan):
        for workload in values["workloads"]:
            for name, text in workload["slo"].items():
                number, unit = text.split()
                workload["slo"][name] = f"{float(number) * factor:.6g} {unit}"

    return change


def _fleet(**keys):
    def change(values, plan):
        values["fleet"] |= {key: make(plan) if callable(make) else make for key, make in keys.items()}

    return change


def _one_less(values, plan):
    stock = values["fleet"].get("stock") or dict.fromkeys(values["fleet"].get("prices", {}), 0)
    values["fleet"]["stock"] = {name: max(plan.gpus.get(name, 0) - 1, 0) for name in stock}


def _demand(factor):
    def change(values, plan):
        for workload in values["workloads"]:
            workload["demand"]["peak_rps"] *= factor

    return change


def _fewer_accelerators(values, plan):
    values["fleet"]["accelerators"] = values["fleet"]["accelerators"][:-1]
    for key in ("prices", "stock"):
        named = values["fleet"].get(key, {})
        values["fleet"][key] = {
            name: named[name] for name in named if name in values["fleet"]["accelerators"]
        }
    if not values["fleet"]["prices"]:
        del values["fleet"]["prices"]


def _formats(values, plan):
    for workload in values["workloads"]:
        workload["precision"] = {"weights": ["bf16"], "kv": ["bf16"]}


def _search(**keys):
    def change(values, plan):
        values["search"] |= keys

    return change


TIGHTENED = {
    "slo 10 % shorter": _scaled_slo(0.9),
    "slo halved": _scaled_slo(0.5),
    "memory headroom 20 %": _fleet(headroom={"memory": "20 %", "capacity": "30 %"}),
    "utilization 50 %": _fleet(max_utilization="50 %"),
    "stock of what was bought, less one": _one_less,
    "one GPU fewer": _fleet(max_gpus=lambda plan: max(sum(plan.gpus.values()) - 1, 0)),
    "budget a cent below": _fleet(
        budget=lambda plan: f"{max((plan.cost_usd_per_hour or 0.01) - 0.01, 0):.9g} USD/h"
    ),
    "four replicas at least": _fleet(min_replicas=4),
    "redundancy 3": _fleet(redundancy=3),
    "demand up": _demand(1.3),
    "an accelerator fewer": _fewer_accelerators,
    "bf16 only": _formats,
    "no mix": _search(mix=False),
    "no tensor parallelism above 2": _search(tp=[1, 2]),
    "no pipeline": _search(pp=[1]),
}
"""Each changes plain values in place, given the plan they had; each takes choices away or asks for more."""


def tightened(values, plan, name):
    """A copy of the problem with one change."""
    changed = copy.deepcopy(values)
    TIGHTENED[name](changed, plan)
    return changed
