"""Every planning rule finds its firing examples and no silent one, with the evaluator that plans use."""

from pathlib import Path

import numpy as np
import pytest
from candidate_samples import holds_at_least, lot, space
from step_samples import DENSE, MOE

from planner.candidates.enumerate import enumerate_candidates
from planner.constraints.planning_rules import active, finds, holds, penalties, refusals
from planner.loaders.rules import load_planning_rules
from planner.loaders.yaml_source import read_document
from planner.schema.rules import ATTRIBUTES, Condition, PlanningRule
from planner.schema.search import Search

RULES = {rule.id: rule for rule in load_planning_rules()}
EXAMPLES = sorted(
    path for name in RULES for path in (Path(__file__).parents[1] / "rules" / name).glob("*.yaml")
)
DTYPES = {"number": np.int64, "flag": np.bool_, "name": object}


def columns(rows):
    """Rows of attributes as the arrays that the search builds."""
    return {
        name: np.array([row[name] for row in rows], dtype=DTYPES[ATTRIBUTES[name].kind]) for name in rows[0]
    }


def values(path):
    return dict(read_document(path).value)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_rules_find_what_their_examples_say(path):
    found = finds(RULES[path.parent.name], columns([values(path)]))
    assert found.dtype == np.bool_
    assert found.tolist() == [path.stem.startswith("fires-")]


@pytest.mark.parametrize("name", sorted(RULES))
def test_many_candidates_at_once_are_judged_one_by_one(name):
    paths = [path for path in EXAMPLES if path.parent.name == name]
    found = finds(RULES[name], columns([values(path) for path in paths]))
    assert found.tolist() == [path.stem.startswith("fires-") for path in paths]


def condition(**fields):
    return Condition.model_validate(fields)


MOE_ONLY = {"attribute": "is_moe", "op": "==", "value": True}
TABLE = {
    "tp": np.array([1, 2, 4]),
    "node_gpus": np.array([1, 1, 8]),
    "is_moe": np.array([True, False, True]),
    "engine": np.array(["vllm", "sglang", "vllm"], dtype=object),
}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"attribute": "tp", "op": "==", "value": 2}, [0, 1, 0]),
        ({"attribute": "tp", "op": "!=", "value": 2}, [1, 0, 1]),
        ({"attribute": "tp", "op": "<", "value": 2}, [1, 0, 0]),
        ({"attribute": "tp", "op": "<=", "value": 2}, [1, 1, 0]),
        ({"attribute": "tp", "op": ">", "value": "1.5"}, None),
        ({"attribute": "tp", "op": ">=", "value": 2}, [0, 1, 1]),
        ({"attribute": "tp", "op": ">", "attribute2": "node_gpus"}, [0, 1, 0]),
        ({"attribute": "is_moe", "op": "==", "value": True}, [1, 0, 1]),
        ({"attribute": "is_moe", "op": "!=", "value": True}, [0, 1, 0]),
        ({"attribute": "engine", "op": "==", "value": "vllm"}, [1, 0, 1]),
        ({"attribute": "engine", "op": "!=", "value": "vllm"}, [0, 1, 0]),
        ({"attribute": "engine", "op": "in", "value": ["sglang", "trt"]}, [0, 1, 0]),
        ({"attribute": "engine", "op": "not-in", "value": ["sglang", "trt"]}, [1, 0, 1]),
        ({"not": {"attribute": "tp", "op": "==", "value": 2}}, [1, 0, 1]),
        (
            {"all": [{"attribute": "tp", "op": ">", "value": 1}, MOE_ONLY]},
            [0, 0, 1],
        ),
        (
            {"any": [{"attribute": "tp", "op": "==", "value": 2}, MOE_ONLY]},
            [1, 1, 1],
        ),
    ],
)
def test_every_operator(fields, expected):
    if expected is None:
        with pytest.raises(ValueError, match="a number"):
            condition(**fields)
        return
    assert holds(condition(**fields), TABLE).tolist() == [bool(value) for value in expected]


def rule(name, effect, **when):
    return PlanningRule.model_validate(
        {
            "id": name,
            "title": name,
            "effect": effect,
            "because": "For the test.",
            "when": when,
            "knob": "tp",
            "source": {"document": "here", "section": "1"},
        }
    )


MINE = (
    rule("wide", "refuse", attribute="tp", op=">", value=2),
    rule("not-single", "prefer", attribute="tp", op=">", value=1),
    rule("experts", "prefer", attribute="is_moe", op="==", value=True),
    rule("counted", "adjust", attribute="tp", op=">", value=0),
)


def test_only_refusing_rules_refuse_and_only_preferences_count():
    assert {name: bit.tolist() for name, bit in refusals(MINE, TABLE).items()} == {
        "wide": [False, False, True]
    }
    assert penalties(MINE, TABLE).tolist() == [1, 1, 2]


def test_rules_that_are_off_do_nothing():
    left = active(MINE, ("wide", "experts"))
    assert [item.id for item in left] == ["not-single", "counted"]
    assert refusals(left, TABLE) == {}
    assert penalties(left, TABLE).tolist() == [0, 1, 1]
    assert penalties((), TABLE).tolist() == [0, 0, 0]


@pytest.mark.parametrize("model", [DENSE, MOE])
def test_rules_read_what_the_search_builds(model):
    found = enumerate_candidates(
        space(model=model, search=Search(attention_dp=(1, 2))), [lot()], holds_at_least(2)
    )
    refused = refusals(RULES.values(), found.attributes)
    assert {bit.shape for bit in refused.values()} == {(len(found),)}
    assert refused["attention-dp-of-dense-model"].any() == (model is DENSE)
    assert penalties(RULES.values(), found.attributes).shape == (len(found),)
