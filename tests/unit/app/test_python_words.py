"""A problem in the words of the command line, as arguments of a function."""

from __future__ import annotations

import ast
import inspect
import json
from pathlib import Path

import pytest

import planner
from planner.errors import InputError
from planner.interfaces import cli
from planner.interfaces.problem_flags import FLAGS
from planner.report import json_document
from planner.schema.problem_words import ProblemWords

NOTEBOOK = Path(__file__).parents[3] / "docs" / "notebook.ipynb"
SMALL = {"model": "Qwen/Qwen3-8B", "rps": 5, "isl": "0.5k", "osl": 300, "ttft": "1s", "itl": "50ms"}
TYPED = [word for name, value in SMALL.items() for word in (f"--{name}", str(value))]
GPU = {"gpu": {"l40s": 2}}


@pytest.fixture(scope="module")
def plan():
    return planner.plan(**SMALL, **GPU)


def test_words_mean_what_flags_mean(plan, capsys):
    assert cli.run(["plan", *TYPED, "--gpu", "l40s=2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json_document.of_plan(plan)


def test_every_flag_of_a_problem_is_an_argument():
    assert set(ProblemWords.__annotations__) == set(FLAGS)


@pytest.mark.parametrize("gpu", ["l40s=2", ["l40s=2"], {"l40s": 2}])
def test_gpus_are_text_a_list_or_a_mapping(gpu, plan):
    assert planner.plan(**SMALL, gpu=gpu) == plan


def test_several_formats_are_a_list():
    words = {"model": "Qwen/Qwen3-8B", "rps": 1, "isl": 500, "osl": 100, **GPU}
    listed = planner.plan(**words, weights=["bf16", "fp8"])
    assert listed == planner.plan(**words, weights="bf16,fp8")
    assert listed.inputs.problem["workloads"][0]["precision"]["weights"] == ["bf16", "fp8"]


def test_a_whole_problem_is_planned_too(plan):
    again = planner.plan(plan.inputs.problem)
    assert again.pools == plan.pools
    assert planner.plan(planner.load(plan.inputs.problem)).pools == plan.pools


def test_the_largest_load_of_words(plan):
    most = planner.capacity(**SMALL, **GPU)
    (rps,) = most.capacity.rps.values()
    assert rps > 5
    assert most.capacity.stopped_by
    assert planner.plan(**(SMALL | {"rps": rps}), **GPU).status == "optimal"
    assert planner.plan(**(SMALL | {"rps": 1.01 * rps}), **GPU).status == "infeasible"


def test_a_plan_is_exported_from_memory_as_from_its_document(plan, tmp_path):
    file = tmp_path / "plan.json"
    file.write_bytes(json_document.encode(json_document.of_plan(plan)))
    for source, out in ((plan, "memory"), (file, "document"), (str(file), "name")):
        found = planner.export(source, to="vllm", out=tmp_path / out)
        assert found.files
    scripts = {path.read_bytes() for path in tmp_path.glob("*/*.sh")}
    assert len(scripts) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({}, "problem: found nothing"),
        ({"modle": "x"}, 'Maybe "model"?'),
        ({"model": "Qwen/Qwen3-8B"}, 'Maybe "rps=5"?'),
        (SMALL | {"users": 3}, "rps and users together"),
        (SMALL | {"rps": -1}, "rps: found -1"),
        (SMALL | {"ttft": 1}, "ttft: found"),
        (SMALL | {"gpu": {"l40s": -1}}, 'gpu: found "l40s=-1"'),
        (SMALL | {"golden": True}, "archetype='chat'"),
    ],
)
def test_what_is_wrong_is_named_as_it_was_written(words, told):
    with pytest.raises(InputError) as caught:
        planner.plan(**words)
    assert told in str(caught.value)
    assert "--" not in str(caught.value)


def test_a_problem_and_words_are_one_too_many():
    with pytest.raises(InputError, match="beside a whole problem"):
        planner.plan({"name": "x"}, **SMALL)


def test_an_unknown_target_is_named(plan, tmp_path):
    with pytest.raises(InputError, match='Maybe "kubernetes"'):
        planner.export(plan, to="kubernets", out=tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_functions_tell_their_arguments_with_types():
    for name in planner.__all__:
        function = getattr(planner, name)
        parameters = inspect.signature(function).parameters.values()
        assert all(parameter.annotation is not parameter.empty for parameter in parameters), name
        assert function.__doc__
    assert set(planner.__all__) <= set(dir(planner))
    with pytest.raises(AttributeError, match="no attribute 'plans'"):
        _ = planner.plans


def test_the_notebook_runs():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    codes = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert not any(cell.get("outputs") for cell in cells), "a notebook without outputs has no paths in them"
    space = {}
    shown = [_shown(code, space) for code in codes]
    assert space["plan"].status == "optimal"
    assert shown[-1][0] == "README.md"
    assert all(value is not None for value in shown if value != ())


def _shown(code, space):
    """What a cell shows below itself: its last line, where that is a value."""
    *body, last = ast.parse(code).body
    if not isinstance(last, ast.Expr):
        body, last = [*body, last], None
    exec(compile(ast.Module(body, []), "cell", "exec"), space)
    return () if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), space)
