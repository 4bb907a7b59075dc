"""Every number that a formula takes says its unit in its name."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PLANNER = Path(__file__).resolve().parents[2] / "planner"
FORMULAS = sorted(path for layer in ("physics", "queueing") for path in (PLANNER / layer).rglob("*.py"))

NUMBERS = re.compile(r"\b(float|Floats|FloatArray|ArrayLike|float64)\b")
"""Annotations of numbers that are not whole by type."""

UNITS = "s|bytes|flops|usd|h|w|rps|tokens|sequences|bits"
COUNTED = (
    "adapters|blocks|chunks|copies|elements|experts|gpus|heads|images|layers|levels|matrices|params|parallel|passes"
    "|prompts|ranks|requests|rows|stages|values"
)
RATIOS = "fraction|ratio|probability|share|exponent|multiple|score|size|efficiency|rank|row"
PER = "s|h|token|token_layer|context_token|sequence|layer|logit|element|value|rank|request|step|gpu"
SUFFIX = re.compile(rf"(^|_)({UNITS}|{COUNTED}|{RATIOS})(_per_({PER}))?(_[ab])?$")
"""The last part tells two of a kind apart."""


def parameters(path: Path) -> list[tuple[str, str, str]]:
    """(function, parameter, annotation) of every function and method in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            found += [(node.name, a.arg, ast.unparse(a.annotation)) for a in arguments if a.annotation]
    return found


@pytest.mark.parametrize("path", FORMULAS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_numbers_carry_their_unit(path: Path):
    bare = [
        f"{function}({name})"
        for function, name, annotation in parameters(path)
        if NUMBERS.search(annotation) and not SUFFIX.search(name.rstrip("_"))
    ]
    assert not bare, f"{path.name}: a unit suffix is missing: {', '.join(bare)}"


@pytest.mark.parametrize("name", ["latency", "time", "bandwidth", "rate", "x", "memory", "p99", "flops_rate"])
def test_names_without_a_unit_are_seen(name: str):
    assert not SUFFIX.search(name)


@pytest.mark.parametrize(
    "name", ["latency_s", "link_bytes_per_s", "peak_flops_per_s", "context_tokens", "layers"]
)
def test_names_with_a_unit_pass(name: str):
    assert SUFFIX.search(name)


def test_there_are_formulas_to_look_at():
    assert {"roofline.py", "waiting.py"} <= {path.name for path in FORMULAS}
