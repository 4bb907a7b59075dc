"""GPUs added or removed against today."""

from posted_limits import F, faults, in_cp, in_mip, plan, toy

from planner.constraints.plan.registry import CHANGES
from planner.schema.fleet import Changes

QUESTION = toy(changes=Changes({"g": 4, "old": 1}, 3))


def test_it_moves_and_goes():
    assert CHANGES.moved(QUESTION, "changes", F(5)).limits.changes == Changes({"g": 4, "old": 1}, 5)
    assert CHANGES.moved(QUESTION, "changes", None).limits.changes is None


def test_both_engines_get_a_column_for_every_type():
    """Of the three changes one is the old GPU that goes in any case."""
    assert "change + change <= 2" in in_cp(QUESTION)
    assert "x + x + x <= 3" in in_mip(QUESTION)


def test_feasible_when_few_gpus_come_or_go():
    assert faults(QUESTION, plan({"g/owned": 4, "h/on_demand": 2})) == []


def test_infeasible_when_many_do():
    assert faults(QUESTION, plan({"g/owned": 3, "h/on_demand": 2})) == ["period 0: changes: 4 of 3"]
