"""The Python interface answers with the documents of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

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


VALUES = {
    "model": "llama-3.1-8b",
    "demand": {"peak_rps": 2.5},
    "lengths": {"input": {"fixed": 500}, "output": {"fixed": 100}},
    "slo": {"ttft_p99": "2 s"},
}


def small(**workload):
    search = {"modes": ["aggregated"], "tp": [1]}
    fleet = {"accelerators": ["l40s"], "prices": {"l40s": "1 USD/h"}}
    chat = {"name": "chat", **VALUES, **workload}
    return {"name": "small", "workloads": [chat], "fleet": fleet, "search": search}


def test_a_dictionary_is_a_problem(tmp_path):
    file = tmp_path / "small.yaml"
    file.write_text(yaml.safe_dump(small()), encoding="utf-8")
    assert planner.load(small()).solve().to_dict() == planner.load(file).solve().to_dict()


def test_what_is_wrong_with_a_dictionary_is_named():
    with pytest.raises(InputError) as caught:
        planner.load(small(modle="llama", demand={"peak_rps": -1}))
    words = str(caught.value)
    assert "modle" in words
    assert "Maybe" in words
    assert "peak_rps" in words


def test_answers_are_plain_values_tables_and_short_pages():
    plan = planner.load(small()).solve()
    assert plan.to_dict() == json_document.of_plan(plan)
    frame = plan.to_frame()
    assert list(frame["id"]) == [pool.id for pool in plan.pools]
    assert frame["memory_bytes.weights"][0] == plan.pools[0].memory_bytes.weights
    page = plan._repr_html_()
    assert "chat/serve/1" in page
    assert len(page) < 4_000


def test_pages_of_notebooks_are_harmless():
    problem = small()
    problem["name"] = "<script>alert(1)"
    assert "<script" not in planner.load(problem).solve()._repr_html_()


def test_curves_and_fits_are_offered_at_the_top():
    asked = {"model": "llama-3.1-8b", "gpu": "l40s"}
    found = planner.curve(**asked, isl=100, osl=10, concurrency_max=8)
    assert len(found.to_frame()) == len(found.points)
    assert planner.fit("llama-3.1-8b", context_tokens=2000, concurrency=4).rows
