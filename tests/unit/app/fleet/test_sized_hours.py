"""Rates by hour: what a layout carries in a pool of that hour's size, and hours that are asked again."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import pytest

from planner.planning.answering import sized_hours as module
from planner.planning.answering.sized_hours import sized_answer, sized_hours, with_more_demand
from planner.schema.choice import Option
from planner.schema.fleet import Deferrable, FleetChoice, FleetDemand, FleetProblem, Host, Line, Site
from planner.solver.solve import solve_fleet

POOL = ("w", "serve")


@pytest.fixture(autouse=True)
def _alone_a_replica_carries_half(monkeypatch):
    monkeypatch.setattr(
        module,
        "rate_of_pool_rps",
        lambda _, option, replicas: option.rates_rps[0] / (2 if replicas == 1 else 1),
    )


def case(**more):
    option = Option("o", "w", "serve", "g", "g", 1, (Fraction(4),))
    demand = FleetDemand("w", "serve", ((Fraction(6),), (Fraction(3),), (Fraction(6),)), **more)
    lines = (Line("l", "g", "g", "on_demand", Fraction(1)),)
    return SimpleNamespace(question=FleetProblem(3, (option,), (Host("g", "g"),), lines, (demand,)))


def counts(choice):
    return [period.counts["o", Site()] for period in choice.periods]


def test_hours_of_one_demand_have_a_rate_of_their_own():
    """Six requests/s take two replicas, which carry 4 each; three take one, which carries 2."""
    question = sized_hours(case())
    assert question.options[0].rates_rps == (2, 4)
    assert question.demands[0].demand_rps == ((0, 6), (3, 0), (0, 6))


def test_work_that_may_wait_is_left_alone():
    waits = Deferrable((Fraction(1),) * 3, 2)
    assert sized_hours(case(deferrable=waits)) is None
    assert sized_answer(case(deferrable=waits), FleetChoice("unknown"), solve_fleet, solve_fleet) is None


def test_nothing_is_asked_where_no_rate_changes(monkeypatch):
    monkeypatch.setattr(module, "rate_of_pool_rps", lambda *_: None)
    assert sized_hours(case()) is None


def test_the_answer_carries_quiet_hours_too(monkeypatch):
    monkeypatch.setattr(module, "too_small", lambda *_: {})
    assert counts(sized_answer(case(), FleetChoice("unknown"), solve_fleet, solve_fleet)) == [2, 2, 2]


def test_hours_that_lack_something_are_asked_again(monkeypatch):
    """The first hour lacks a half: nine requests/s take three replicas; no other hour changes."""
    asked = []

    def hour(question):
        asked.append(question.demands[0].demand_rps)
        return solve_fleet(question)

    def too_small(_, choice):
        return {(*POOL, 0): Fraction(3, 2)} if counts(choice)[0] < 3 else {}

    monkeypatch.setattr(module, "too_small", too_small)
    assert counts(sized_answer(case(), FleetChoice("unknown"), solve_fleet, hour)) == [3, 2, 2]
    assert asked == [((0, 9),)]


def test_hours_that_never_carry_are_left_to_others(monkeypatch):
    """Each question asks the first hour for a tenth more than the one before: the last plan is told."""
    monkeypatch.setattr(module, "too_small", lambda *_: {(*POOL, 0): Fraction(11, 10)})
    found = sized_answer(case(), FleetChoice("unknown"), solve_fleet, solve_fleet)
    assert sum(found.periods[0].counts.values()) > sum(found.periods[2].counts.values())


def test_an_hour_that_is_not_answered_keeps_its_replicas(monkeypatch):
    monkeypatch.setattr(module, "too_small", lambda *_: {(*POOL, 0): Fraction(11, 10)})
    first = sized_answer(case(), FleetChoice("unknown"), solve_fleet, lambda _: FleetChoice("unknown"))
    assert counts(first) == counts(solve_fleet(sized_hours(case())))


def test_more_demand_in_some_hours():
    more = with_more_demand(case().question, {(*POOL, 1): Fraction(2)})
    assert more.demands[0].demand_rps == ((6,), (6,), (6,))
