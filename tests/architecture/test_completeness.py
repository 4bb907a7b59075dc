"""Nothing is added by half: every constraint has its words and test, every rule its examples."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

import planner.constraints
from planner.constraints.plan.registry import PLAN_LIMITS
from planner.constraints.registry import CANDIDATE_CONSTRAINTS
from planner.loaders.rules import load_planning_rules

ROOT = Path(__file__).parents[2]
MODULES = sorted(path.stem for path in Path(planner.constraints.__path__[0]).glob("*.py"))
KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
PLAN_UNITS = {
    "GPUs",
    "replicas",
    "USD/h",
    "W",
    "fraction",
    "kg CO2/day",
    "layouts",
    "changes",
    "hours",
    "places",
}
PLAN_PARTS = {"day_limit", "day_usage", "limit", "of_line", "registry", "usage"}
"""Modules that limits of plans are made of."""
UNITS = {"", "B", "s", "tokens", "GPUs", "USD/h", "fraction"}


def module_of(constraint):
    return type(constraint).__module__.rsplit(".", 1)[1]


def constraint_classes():
    """Every class named ``…Constraint`` in planner.constraints, the protocol left out."""
    return {
        kind
        for name in MODULES
        for _, kind in inspect.getmembers(
            importlib.import_module(f"planner.constraints.{name}"), inspect.isclass
        )
        if kind.__module__ == f"planner.constraints.{name}"
        and kind.__name__.endswith("Constraint")
        and not getattr(kind, "_is_protocol", False)
    }


@pytest.mark.parametrize("constraint", CANDIDATE_CONSTRAINTS, ids=lambda constraint: constraint.id)
def test_every_constraint_has_its_words(constraint):
    assert KEBAB.fullmatch(constraint.id)
    assert constraint.title
    assert constraint.unit in UNITS
    assert constraint.source
    assert type(constraint).__doc__
    assert type(constraint).check.__doc__


@pytest.mark.parametrize("constraint", CANDIDATE_CONSTRAINTS, ids=lambda constraint: constraint.id)
def test_every_constraint_has_a_test_of_both_kinds(constraint):
    path = ROOT / "tests" / "constraints" / f"test_{module_of(constraint)}.py"
    assert path.is_file(), f"{constraint.id}: no {path.relative_to(ROOT)}"
    text = path.read_text(encoding="utf-8")
    for kind in ("def test_feasible_when", "def test_infeasible_when"):
        assert kind in text, f"{constraint.id}: {path.name} has no {kind}…"


@pytest.mark.parametrize("limit", PLAN_LIMITS, ids=lambda limit: limit.kind)
def test_every_limit_of_a_plan_has_its_words(limit):
    assert KEBAB.fullmatch(limit.kind)
    assert limit.title
    assert limit.unit in PLAN_UNITS
    assert limit.source
    assert limit.path
    assert "=" in limit.meaning
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert f"| `{limit.form}` | {limit.meaning} |" in page


@pytest.mark.parametrize("limit", PLAN_LIMITS, ids=lambda limit: limit.kind)
def test_every_limit_of_a_plan_has_a_test_of_both_kinds(limit):
    path = ROOT / "tests" / "constraints" / "plan" / f"test_{module_of(limit)}.py"
    text = path.read_text(encoding="utf-8")
    for kind in ("def test_both_engines_get", "def test_feasible_when", "def test_infeasible_when"):
        assert kind in text, f"{limit.kind}: {path.name} has no {kind}…"


def test_every_limit_of_a_plan_that_is_written_is_registered():
    folder = Path(planner.constraints.__path__[0]) / "plan"
    written = {path.stem for path in folder.glob("*.py")} - {"__init__", *PLAN_PARTS}
    assert {module_of(limit) for limit in PLAN_LIMITS} == written
    assert len({limit.kind for limit in PLAN_LIMITS}) == len(PLAN_LIMITS)


def test_ids_of_constraints_and_rules_differ():
    ids = [constraint.id for constraint in CANDIDATE_CONSTRAINTS]
    ids += [limit.kind for limit in PLAN_LIMITS]
    ids += [rule.id for rule in load_planning_rules()]
    assert len(set(ids)) == len(ids)


def test_every_constraint_that_is_written_is_registered():
    assert {kind.__name__ for kind in constraint_classes()} == {
        type(constraint).__name__ for constraint in CANDIDATE_CONSTRAINTS
    }


@pytest.mark.parametrize("rule", load_planning_rules(), ids=lambda rule: rule.id)
def test_every_rule_has_firing_and_silent_examples(rule):
    stems = [path.stem for path in (ROOT / "tests" / "rules" / rule.id).glob("*.yaml")]
    assert any(stem.startswith("fires-") for stem in stems)
    assert any(stem.startswith("silent-") for stem in stems)
    assert all(stem.startswith(("fires-", "silent-")) for stem in stems)


def test_no_examples_are_left_of_a_rule_that_is_gone():
    """Folders of the debugger's rules stand beside those of planning."""
    folders = {path.name for path in (ROOT / "tests" / "rules").iterdir() if path.is_dir()}
    known = {path.stem for path in (ROOT / "rules").rglob("*.yaml")}
    assert folders - {"__pycache__"} <= known
