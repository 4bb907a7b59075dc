"""Every verb on every file of problems/, as programs: `make verbs`; with LIMIT=S no search goes on longer."""

import json
import os

import pytest
from asked import OBSERVATIONS, PROBLEMS, ROOT, of_observation, of_plan, of_problem, plan_of
from told import as_program, not_json

pytestmark = pytest.mark.verbs
HANG_S = 900
"""No command may take longer on two busy cores."""
LIMIT_S = os.environ.get("PLANNER_VERBS_LIMIT_S") or None
"""None: every search goes on until it is proved."""
NUMBERS = range(len(of_problem(PROBLEMS[0])))
by_problem = pytest.mark.parametrize("path", PROBLEMS, ids=lambda path: path.stem)


def faults_of(asked, document, limit_s=LIMIT_S):
    """As text with the document beside it, and as JSON alone where that is another way."""
    out = ("--out", str(document)) if asked.json and "--out" not in asked.arguments else ()
    ended = as_program((*asked.within(limit_s), *out), ROOT, HANG_S)
    faults = ended.faults(asked.refused)
    stopped = ended.code == 3
    return faults + (not_json(document) if out and not (asked.refused or stopped or faults) else [])


@by_problem
@pytest.mark.parametrize("number", NUMBERS)
def test_a_search(path, number, tmp_path):
    assert faults_of(of_problem(path)[number], tmp_path / "answer.json") == []


@by_problem
def test_a_plan_and_what_takes_it(path, tmp_path):
    plan, first, document = (tmp_path / name for name in ("plan.json", "first.json", "answer.json"))
    faults = faults_of(plan_of(path, plan), document, None) + not_json(plan)
    faults += faults_of(plan_of(PROBLEMS[0], first), document, None)
    for asked in of_plan(path, plan, first):
        faults += faults_of(asked, document)
    for observed in OBSERVATIONS[PROBLEMS.index(path) :: len(PROBLEMS)]:
        faults += faults_of(of_observation(observed, path, plan), document)
    as_json = as_program(("plan", str(path), "--json", "--workers", "2"), ROOT, HANG_S)
    assert not faults, "\n".join(faults)
    assert as_json.out == plan.read_text(encoding="utf-8")
    # Days whose small pools lack what the question did not ask for are told with a gap.
    assert json.loads(as_json.out)["status"] in ("optimal", "feasible", "infeasible")


@pytest.mark.parametrize("observed", OBSERVATIONS, ids=lambda path: path.stem)
@pytest.mark.parametrize("name", ["01-chat-70b", "13-two-regions"])
def test_the_debugger_held_against_a_plan(observed, name, tmp_path_factory):
    path = ROOT / "problems" / f"{name}.yaml"
    folder = tmp_path_factory.getbasetemp()
    plan = folder / f"{name}.json"
    if not plan.exists():
        assert faults_of(plan_of(path, plan), plan, None) == []
    assert faults_of(of_observation(observed, path, plan), folder / "answer.json") == []
