"""The part of all GPUs of a type that one line may be."""

from dataclasses import replace

from posted_limits import LINES, F, faults, in_cp, in_mip, plan, toy

from planner.constraints.plan.registry import plan_rows
from planner.constraints.plan.share import Share

QUESTION = toy(lines=(LINES[0], replace(LINES[1], max_share=F(1, 4)), LINES[2]))


def test_the_line_brings_it_and_nobody_grants_it():
    (row,) = plan_rows(QUESTION)
    assert (row.id, row.most, row.grantable) == ("share:g/spot", F(1, 4), False)
    assert Share().moved(QUESTION, row.id, F(1)).lines[1].max_share == 1


def test_a_line_that_may_be_all_needs_no_row():
    assert plan_rows(Share().moved(QUESTION, "share:g/spot", F(1))) == ()


def test_both_engines_get_its_row():
    assert "-1 buy[g/owned@0] + 3 buy[g/spot@0] <= 0" in in_cp(QUESTION)
    assert "-0.25 buy[g/owned@0] + 0.75 buy[g/spot@0] <= 0" in in_mip(QUESTION)


def test_feasible_when_enough_others_are_bought():
    assert faults(QUESTION, plan({"g/spot": 1, "g/owned": 3})) == []
    assert faults(QUESTION, plan({})) == []


def test_infeasible_when_they_are_of_another_type():
    assert faults(QUESTION, plan({"g/spot": 1, "h/on_demand": 8})) == ["period 0: share:g/spot: 1 of 0.25"]
