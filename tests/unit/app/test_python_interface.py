"""The Python interface answers with the documents of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import planner
from planner.app import plan as plan_case
from planner.errors import InputError
from planner.report import json_document

PROBLEM = Path(__file__).parents[3] / "problems" / "05-offline-batch.yaml"


def test_a_loaded_problem_solves_to_the_plan_of_the_command():
    (path,) = PROBLEM.parent.glob("05-*.yaml")
    loaded = planner.load(path)
    assert json_document.of_plan(loaded.solve()) == json_document.of_plan(plan_case.plan(path))


def test_a_missing_file_is_a_fault():
    with pytest.raises(InputError):
        planner.load("nowhere.yaml")


def test_estimate_is_offered_at_the_top():
    found = planner.estimate(model="llama-3.1-8b", gpu="h100-sxm", isl=100, osl=10)
    assert found.requests_per_s > 0
