"""The plans of problems/: their cost, their proof, and that the same input gives the same bytes."""

import copy
import json
from pathlib import Path

import pytest
import yaml
from json_schema import faults
from sample_plans import ANSWERED, EACH, PROBLEMS, sample

from planner.app.plan import answered
from planner.interfaces import cli
from planner.loaders.problem import load_problem_document
from planner.planning.answering.real_sizes import too_small
from planner.planning.run import Run
from planner.report import json_document

TABLE = yaml.safe_load((Path(__file__).parent / "plans.yaml").read_text(encoding="utf-8"))


@pytest.fixture(params=EACH)
def path(request):
    return request.param


@pytest.fixture
def session(path):
    return sample(path)[0]


@pytest.fixture
def plan(path):
    return sample(path)[1]


def near(*numbers):
    return [None if number is None else pytest.approx(number, rel=1e-5) for number in numbers]


def encoded(plan):
    return json_document.encode(json_document.of_plan(plan))


@pytest.fixture(scope="module")
def schema():
    from planner.schema.plan import Plan

    return Plan.model_json_schema(by_alias=True, mode="serialization")


def test_every_problem_has_a_row():
    assert list(TABLE) == [path.stem for path in PROBLEMS]


CUT_WITHIN = 3e-2
"""Of days, whose search for calm the clock may end: their tolerance for simplicity."""
_OPEN = 1e-2
"""Of days, what the search of the optimum itself leaves unproved."""
_ROUNDED = 1.05
"""The gaps of the table have two digits."""
CUT = "the clock ended its search, and the plan says so"


def test_the_plan_is_the_one_of_the_table(path, plan):
    row = TABLE[path.stem]
    if plan.simplicity is not None:
        assert plan.status in ("feasible", "optimal")
        assert plan.cost_usd_per_hour == pytest.approx(row["cost"], rel=CUT_WITHIN)
        return
    assert plan.status == row["status"]
    assert [plan.cost_usd_per_hour, plan.objective.value] == near(row["cost"], row["value"])
    assert plan.gpus == row["gpus"]
    assert sum(pool.replicas for pool in plan.pools) == row["replicas"]


def test_the_plan_is_proved(path, plan):
    if plan.status == "infeasible":
        assert plan.removed
        return
    told = plan.simplicity
    if told is not None:
        hours = len(plan.periods)
        # Beyond that only what the table says, which is looked at when it changes.
        assert plan.objective.gap <= max(0.02 + _OPEN, TABLE[path.stem]["gap"] * _ROUNDED)
        if plan.status == "optimal":
            assert (plan.objective.gap, told.proved) == (0.0, True)
        assert plan.objective.lower_bound <= told.optimum_usd_per_hour * hours * (1 + 1e-12)
        assert plan.objective.value <= told.optimum_usd_per_hour * hours * (1 + 0.02 + 1e-12)
        assert told.pools_at_least <= told.pools
        return
    assert plan.status == "optimal"
    assert plan.objective.gap == 0.0
    assert plan.objective.lower_bound == plan.objective.value


def test_every_pool_carries_every_hour_at_the_size_that_it_has_then(path, plan):
    if plan.status == "infeasible":
        pytest.skip("there is no plan")
    told = ANSWERED[path]
    assert too_small(told.case, told.choice) == {}


def test_the_document_keeps_its_schema(plan, schema):
    document = json.loads(encoded(plan))
    assert faults(document, schema) == []
    assert faults(document | {"surprise": 1}, schema) == ["$.surprise: not allowed"]


def test_the_command_gives_the_same_bytes_with_two_workers(path, plan, tmp_path, capsys):
    if plan.status == "feasible":
        pytest.skip(CUT)
    out = tmp_path / "plan.json"
    assert cli.run(["plan", str(path), "--json", "--out", str(out), "--workers", "2"]) in (0, 1)
    if json.loads(out.read_bytes())["status"] == "feasible":
        pytest.skip(CUT)
    assert capsys.readouterr().out.encode() == out.read_bytes() == encoded(plan)


def test_a_second_run_from_the_plan_s_own_inputs_gives_the_same_bytes(session, plan, tmp_path):
    """Nor does what the first run has kept, or a file that lay beside the problem, change the answer."""
    if plan.status == "feasible":
        pytest.skip(CUT)
    study = copy.copy(session.study)
    study.folder = tmp_path
    values = json.loads(encoded(plan))["inputs"]["problem"]
    problem = load_problem_document(values, session.catalog)
    again = answered(study, problem, Run())
    if again.status == "feasible":
        pytest.skip(CUT)
    assert encoded(again) == encoded(plan)
