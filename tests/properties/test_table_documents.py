"""Plans over random tables of workers never state a limit as broken, and add up, counted again by hand."""

from __future__ import annotations

import json

import pytest
from documents import against_table, contradictions
from random_tables import random_table, written
from solved_problems import catalog, rules

from planner.app.plan import solve_problem
from planner.loaders.problem import load_problem
from planner.planning.run import Run

SEEDS = range(60)


def document(folder, seed):
    path = written(folder, seed)
    problem = load_problem(path, catalog(), [rule.id for rule in rules()])
    return json.loads(solve_problem(problem, folder, catalog(), rules(), Run(), str(path)).model_dump_json())


@pytest.mark.parametrize("seed", SEEDS)
def test_a_plan_does_not_contradict_itself(tmp_path, seed):
    plan = document(tmp_path, seed)
    assert plan["status"] in ("optimal", "infeasible")
    assert [*contradictions(plan), *against_table(plan, *random_table(seed))] == []
