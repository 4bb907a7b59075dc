"""GPUs that the market has under one term."""

from dataclasses import replace

from posted_limits import LINES, faults, in_cp, in_mip, plan, toy

from planner.constraints.plan.registry import plan_rows
from planner.constraints.plan.supply import Supply

QUESTION = toy(lines=(LINES[0], replace(LINES[1], max_gpus=2), LINES[2]))


def test_the_line_brings_it_and_nobody_grants_it():
    (row,) = plan_rows(QUESTION)
    assert (row.id, row.most, row.grantable) == ("supply:g/spot", 2, False)
    assert Supply().moved(QUESTION, row.id, None).lines == LINES


def test_both_engines_get_it_as_a_bound():
    assert in_cp(QUESTION) == in_mip(QUESTION) == ["buy[g/spot@0] <= 2"]


def test_feasible_when_the_line_keeps_it():
    assert faults(QUESTION, plan({"g/spot": 2, "g/owned": 9})) == []


def test_infeasible_when_it_does_not():
    assert faults(QUESTION, plan({"g/spot": 3})) == ["period 0: supply:g/spot: 3 of 2"]
