"""Time to plan the first and the sixth problem, in a warm process."""

from __future__ import annotations

from pathlib import Path

import pytest

import planner
from planner.app import plan as plan_case
from planner.planning.formulation.study import Study

PROBLEMS = Path(__file__).parents[2] / "problems"


@pytest.mark.bench
@pytest.mark.parametrize("number", ["01", "06"])
def test_plan(benchmark, number):
    (path,) = PROBLEMS.glob(f"{number}-*.yaml")
    plan = benchmark.pedantic(plan_case.plan, args=(path,), rounds=5, warmup_rounds=1)
    benchmark.extra_info["candidates"] = plan.provenance.candidates
    assert plan.status == "optimal"


@pytest.mark.bench
def test_candidates_of_all_accelerators(benchmark):
    """From a checked problem to the solver's question, nothing remembered: enumerate, evaluate, judge."""
    (path,) = PROBLEMS.glob("01-*.yaml")
    session = planner.load(path)

    def formulation():
        return Study(session.catalog, session.rules, session.folder).formulate(session.problem)

    found = benchmark.pedantic(formulation, rounds=3)
    benchmark.extra_info["options"] = len(found.question.options)
    assert {option.role for option in found.question.options} == {"serve", "prefill", "decode"}
