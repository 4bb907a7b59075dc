"""Planning rules: the files, their fixtures, and what a bad rule file says."""

import operator
from pathlib import Path

import pytest

from planner.errors import InputError
from planner.loaders.rules import load_planning_rules, planning_rule_ids
from planner.loaders.yaml_source import read_document
from planner.schema.rules import ATTRIBUTES

ROOT = Path(__file__).parents[3]
RULES = {rule.id: rule for rule in load_planning_rules()}
FIXTURES = sorted(path for name in RULES for path in (ROOT / "tests" / "rules" / name).glob("*.yaml"))

COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda value, names: value in names,
    "not-in": lambda value, names: value not in names,
}


def holds(condition, values):
    if condition.attribute is not None:
        other = condition.value if condition.attribute2 is None else values[condition.attribute2]
        return COMPARE[condition.op](values[condition.attribute], other)
    if condition.all_of is not None:
        return all(holds(part, values) for part in condition.all_of)
    if condition.any_of is not None:
        return any(holds(part, values) for part in condition.any_of)
    return not holds(condition.none_of, values)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_rules_fire_and_stay_silent_as_their_examples_say(path):
    rule = RULES[path.parent.name]
    values = read_document(path).value
    assert set(values) == rule.attributes()
    fires = holds(rule.when, values) and not (rule.require is not None and holds(rule.require, values))
    assert fires == path.stem.startswith("fires-")


def test_every_rule_has_both_kinds_of_example():
    for name in RULES:
        stems = [path.stem for path in FIXTURES if path.parent.name == name]
        assert any(stem.startswith("fires-") for stem in stems), name
        assert any(stem.startswith("silent-") for stem in stems), name


def test_ids_come_from_file_names():
    assert planning_rule_ids() == tuple(RULES)
    assert "whole-servers" in RULES


GOOD = """\
id: mine
title: A rule
effect: refuse
because: For the test.
when: {attribute: tp, op: ">", value: 2}
knob: tp
source: {document: here, section: "1"}
"""


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "attribute: tp,",
            "attribute: tpp,",
            '5: when: found the attribute "tpp", expected a declared attribute. Maybe "tp"?',
        ),
        ('op: ">"', "op: in", '5: when: found op "in" on tp, expected one of ==, !=, <, <=, >, >=.'),
        ('op: ">"', "op: gt", '5: when.op: found "gt", expected one of ==, !=, <, <=, >, >=, in, not-in.'),
        ("value: 2", "value: two", "5: when: found value two for tp, expected a number."),
        ("value: 2", "value: true", "5: when: found value True for tp, expected a number."),
        (", value: 2", "", "5: when: found both or neither of value and attribute2, expected one of them."),
        (
            "value: 2",
            "attribute2: engine",
            "5: when: found tp compared with engine, expected another number.",
        ),
        (
            '{attribute: tp, op: ">", value: 2}',
            "{all: []}",
            "5: when.all: found an empty list, expected a list that is not empty.",
        ),
        (
            '{attribute: tp, op: ">", value: 2}',
            "{}",
            "5: when: found no comparison and no join, expected attribute and op, or one of all, any, not.",
        ),
        (
            "refuse",
            "refused",
            '3: effect: found "refused", expected one of refuse, prefer, adjust. Maybe "refuse"?',
        ),
        ("id: mine", "id: other", '1: id: found "other", expected the name of the file, "mine".'),
    ],
)
def test_bad_rules_say_why(tmp_path, before, after, message):
    (tmp_path / "planning").mkdir()
    path = tmp_path / "planning" / "mine.yaml"
    assert before in GOOD
    path.write_text(GOOD.replace(before, after, 1))
    with pytest.raises(InputError) as problem:
        load_planning_rules([tmp_path])
    assert str(problem.value) == f"{path}:{message}"


def test_an_overlay_adds_and_replaces(tmp_path):
    (tmp_path / "planning").mkdir()
    (tmp_path / "planning" / "mine.yaml").write_text(GOOD)
    (tmp_path / "planning" / "whole-servers.yaml").write_text(GOOD.replace("id: mine", "id: whole-servers"))
    rules = {rule.id: rule for rule in load_planning_rules([tmp_path])}
    assert set(rules) == {*RULES, "mine"}
    assert rules["whole-servers"].title == "A rule"


def test_declared_attributes_are_used_or_reserved():
    used = {name for rule in RULES.values() for name in rule.attributes()}
    assert used <= set(ATTRIBUTES)
    assert set(ATTRIBUTES) - used == {"kv_format"}
