"""Time to plan the first and the sixth problem, in a warm process."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.app import plan as plan_case

PROBLEMS = Path(__file__).parents[2] / "problems"


@pytest.mark.bench
@pytest.mark.parametrize("number", ["01", "06"])
def test_plan(benchmark, number):
    (path,) = PROBLEMS.glob(f"{number}-*.yaml")
    plan = benchmark.pedantic(plan_case.plan, args=(path,), rounds=5, warmup_rounds=1)
    benchmark.extra_info["candidates"] = plan.provenance.candidates
    assert plan.status == "optimal"
