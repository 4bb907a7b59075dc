"""Whatever a valid problem asks for, the answer is a plan, an honest no or a named fault."""

import math
from contextlib import suppress

import pytest
import yaml
from documents import contradictions
from extreme_problems import extreme_problem
from more import seeds

from planner.app.plan import solve_problem
from planner.errors import InputError
from planner.loaders.catalog import load_catalog
from planner.loaders.problem import load_problem
from planner.loaders.rules import load_planning_rules
from planner.planning.run import Run
from planner.report import json_document, plan_text

SEEDS = seeds(40)
SEARCH_S = 4.0
"""Time limit of the search."""


@pytest.fixture(scope="module")
def catalog():
    return load_catalog()


@pytest.fixture(scope="module")
def rules():
    return load_planning_rules()


def numbers(value, path=""):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from numbers(inner, path)
    elif isinstance(value, float):
        yield path, value


def check_plan(plan):
    document = json_document.of_plan(plan)
    assert not [path for path, number in numbers(document) if not math.isfinite(number)]
    assert json_document.encode(document)
    assert plan.status in ("optimal", "feasible", "infeasible", "unknown")
    if plan.status in ("optimal", "feasible"):
        assert plan.pools
        assert plan.cost_usd_per_hour is not None
    else:
        assert not plan.pools
        assert plan.cost_usd_per_hour is None
    assert list(contradictions(document)) == []
    plan_text.view(plan)


@pytest.mark.more
@pytest.mark.parametrize("seed", SEEDS)
def test_an_extreme_problem_gets_an_answer(seed, catalog, rules, tmp_path):
    path = tmp_path / "problem.yaml"
    path.write_text(yaml.safe_dump(extreme_problem(seed, catalog), sort_keys=False))
    problem = load_problem(path, catalog)  # the generator writes only what the schema allows
    with suppress(InputError):  # a named fault, such as a fleet that nobody sells
        check_plan(solve_problem(problem, tmp_path, catalog, rules, Run(time_limit_s=SEARCH_S), str(path)))


def test_the_problems_are_extreme_but_not_hopeless(catalog):
    """Guards the generator: most models, engines and kinds of demand come up."""
    problems = [extreme_problem(seed, catalog) for seed in range(400)]
    workloads = [workload for problem in problems for workload in problem["workloads"]]
    models = {workload["model"] for workload in workloads}
    assert len(models) == len(catalog.by_folder["models"])
    assert {workload.get("engine") for workload in workloads} >= set(catalog.by_folder["engines"])
    keys = {key for workload in workloads for key in workload}
    assert keys >= {"lora", "images", "archetype", "redundancy", "precision", "prefix_cache_hit", "headroom"}
    fleet_keys = {key for problem in problems for key in problem["fleet"]}
    assert fleet_keys >= {"stock", "budget", "max_gpus", "providers", "regions", "purchase", "node_size"}
    search_keys = {key for problem in problems for key in problem["search"]}
    assert search_keys >= {"tp", "pp", "ep", "attention_dp", "max_batch", "batched_tokens", "mix"}
