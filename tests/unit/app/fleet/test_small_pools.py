"""Variants of a question are answered by plans whose small pools carry their hours, or are left open."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import pytest

from planner.planning.answering import small_pools
from planner.planning.answering.small_pools import carried
from planner.schema.fleet import FleetChoice, FleetDemand, FleetProblem

NIGHT = ("w", "serve", 0)


def needing(rps):
    return FleetProblem(1, (), (), (), (FleetDemand("w", "serve", ((Fraction(rps),),)),))


QUESTION = needing(2)
CASE = SimpleNamespace(question=QUESTION)


def cost(value, status="optimal"):
    return FleetChoice(status, value=None if value is None else Fraction(value))


@pytest.fixture
def asked(monkeypatch):
    """What was asked for in turn, and the factor by which plans that cost less than 12 fall short."""

    def lacking(case, found):
        return {NIGHT: Fraction(3, 2)} if found.value < 12 else {}

    monkeypatch.setattr(small_pools, "too_small", lacking)
    return SimpleNamespace(needs=[])


def answering(asked, *answers):
    left = list(answers)

    def solve(question):
        asked.needs.append(question.demands[0].demand_rps[0][0])
        return left.pop(0)

    return solve


@pytest.mark.parametrize(
    ("found", "answers", "expected"),
    [
        (cost(12), (), cost(12)),
        # Dearer than anybody asks: not worth a question.
        (cost(31), (), cost(31)),
        (cost(None, "infeasible"), (), cost(None, "infeasible")),
        (cost(10), (cost(13),), cost(13)),
        (cost(10), (cost(11), cost(12)), cost(12)),
        # That more than the demand is not carried says nothing of the demand.
        (cost(10), (cost(None, "infeasible"),), FleetChoice("unknown")),
        (cost(9), (cost(10), cost(11)), FleetChoice("unknown")),
    ],
)
def test_what_carries_its_hours_is_an_answer(asked, found, answers, expected):
    told = carried(CASE, QUESTION, found, answering(asked, *answers), Fraction(30))
    assert (told.status, told.value) == (expected.status, expected.value)
    assert asked.needs == [3] * len(answers)


@pytest.mark.parametrize(("already", "expected"), [(Fraction(5, 2), 3), (Fraction(4), 4)])
def test_what_is_lacking_is_of_the_demand_and_not_on_top_of_what_was_added(asked, already, expected):
    carried(CASE, needing(already), cost(10), answering(asked, cost(12)), Fraction(30))
    assert asked.needs == [expected]
