"""Variants of a question are answered by plans whose small pools carry their hours, or are left open."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from types import SimpleNamespace

import pytest

from planner.planning.answering import small_pools
from planner.planning.answering.small_pools import carried
from planner.schema.choice import Option
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


@dataclass
class Asked:
    question: FleetProblem
    warnings: tuple[str, ...] = ()
    settled: FleetProblem | None = None


def slower_twice(monkeypatch):
    """Layout ``a`` carries half of what was planned in the hours in which it is used, twice."""
    slow = [{"a": Fraction(2)}, {"a": Fraction(2)}, {}]
    monkeypatch.setattr(small_pools, "_slow_options", lambda case, choice: slow.pop(0))
    monkeypatch.setattr(small_pools, "too_small", lambda case, choice: {})


def one_option():
    made = Option("a", "w", "serve", "h", "g", 1, (Fraction(10), Fraction(4)))
    return Asked(replace(QUESTION, options=(made, replace(made, id="b"))))


def day(value):
    return replace(cost(value), periods=(SimpleNamespace(),))


def test_a_layout_that_is_too_slow_counts_as_a_little_slower_each_time(monkeypatch):
    slower_twice(monkeypatch)
    rates = []

    def solve(question):
        rates.append([[float(rate) for rate in option.rates_rps] for option in question.options])
        return day(11 + len(rates))

    case, found = small_pools._step_by_step(one_option(), solve, day(10), Fraction(9))
    # 5/4 each time, and the other layout keeps its rates.
    assert rates == [[[8.0, 3.2], [10.0, 4.0]], [[6.4, 2.56], [10.0, 4.0]]]
    assert case.settled is not None
    # Of the question with the rates of large pools the bound holds; that of the slower one is none.
    assert (found.status, found.value, found.lower_bound) == ("feasible", 13, 9)
    assert found.gap == Fraction(4, 13)


def test_where_no_other_layout_carries_it_there_is_no_plan(monkeypatch):
    slower_twice(monkeypatch)
    assert small_pools._step_by_step(one_option(), lambda _: cost(None, "infeasible"), day(10), None) is None
