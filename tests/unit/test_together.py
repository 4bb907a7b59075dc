"""Tests that share something run in one process."""

import pytest
from sample_plans import PROBLEMS
from together import scope


@pytest.mark.parametrize("name", [path.stem for path in PROBLEMS])
def test_tests_of_a_sample_problem_run_together(name):
    ids = (
        f"tests/golden/test_plans.py::test_a[{name}]",
        f"tests/verbs/test_every_verb.py::test_b[3-{name}]",
        f"tests/golden/test_exports_beside.py::test_c[{name}-llm-d]",
        f"tests/unit/app/test_safety_steps.py::test_d[{name}]",
    )
    assert {scope(one) for one in ids} == {name}


def test_tests_of_a_file_run_together_by_their_parameters():
    one, other = (scope(f"tests/a/test_b.py::{name}[7]") for name in ("test_c", "test_d"))
    assert one == other
    assert scope("tests/a/test_b.py::test_c[8]") != one
    assert scope("tests/a/test_b.py::test_e") == scope("tests/a/test_b.py::test_f") == "tests/a/test_b.py"


def test_tests_that_share_a_server_run_together_whatever_their_parameters():
    file = "tests/unit/app/test_observe_prometheus.py"
    assert {scope(f"{file}::test_a[{one}]") for one in ("colons", "underscores")} == {file}
