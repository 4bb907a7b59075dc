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


def rounds(monkeypatch, *lacking, grown=None):
    """What falls short in each round, and what the plan costs with the replicas that it lacks."""
    short = list(lacking)
    monkeypatch.setattr(small_pools, "too_small", lambda case, found: short.pop(0) if short else {})
    monkeypatch.setattr(small_pools, "with_idle_gpus", lambda case, found, more: None)
    monkeypatch.setattr(small_pools, "with_more_replicas", lambda case, found: grown)


def with_bound(value, bound, status="optimal"):
    return replace(day(value), status=status, lower_bound=Fraction(bound))


SHORT = {NIGHT: Fraction(3, 2)}


@pytest.mark.parametrize(
    ("again", "status", "gap"), [(12, "feasible", Fraction(1, 6)), (10, "optimal", Fraction(0))]
)
def test_the_best_plan_of_more_demand_is_bounded_by_the_question_itself(monkeypatch, again, status, gap):
    rounds(monkeypatch, SHORT)
    answers = [with_bound(10, 10), with_bound(again, again)]
    case, found = small_pools.settled_sizes(one_option(), lambda _: answers.pop(0))
    assert (found.status, found.value, found.lower_bound, found.gap or 0) == (status, again, 10, gap)
    assert case.settled.demands[0].demand_rps[0][0] == 3


def test_near_an_unproved_plan_questions_are_asked_from_it(monkeypatch):
    """Each begins from the plan before, though that be the best of its own few layouts."""
    rounds(monkeypatch, SHORT, SHORT)
    asked = []

    def again(question, near):
        asked.append(near.value)
        return with_bound(11 + len(asked), 11 + len(asked))

    first = with_bound(10, 8, "feasible")
    _, found = small_pools.settled_sizes(one_option(), lambda _: first, again=again)
    assert asked == [10, 12]
    assert (found.status, found.value, found.lower_bound) == ("feasible", 13, 8)


def test_near_a_proved_plan_questions_need_no_proof(monkeypatch):
    """Nothing is asked as the first question was; its bound holds."""
    rounds(monkeypatch, SHORT, SHORT)
    answers = [with_bound(12, 11, "feasible"), with_bound(13, 11, "feasible")]
    asked = []

    def soon(question):
        asked.append(question)
        return answers.pop(0)

    def solve(question):
        raise AssertionError

    _, found = small_pools.settled_sizes(one_option(), solve, with_bound(10, 10), soon=soon)
    assert len(asked) == 2
    assert (found.status, found.value, found.lower_bound) == ("feasible", 13, 10)


@pytest.mark.parametrize(("grown", "expected"), [(11, 11), (14, 13)])
def test_of_more_replicas_and_another_answer_the_cheaper_is_taken(monkeypatch, grown, expected):
    rounds(monkeypatch, SHORT, grown=with_bound(grown, 10, "feasible"))
    answers = [with_bound(10, 10), with_bound(13, 13)]
    _, found = small_pools.settled_sizes(one_option(), lambda _: answers.pop(0))
    assert (found.status, found.value, found.lower_bound) == ("feasible", expected, 10)


@pytest.mark.parametrize(("grown", "expected"), [("10.1", ("10.1", 0)), ("10.2", ("10.2", 1))])
def test_a_plan_that_costs_hardly_more_with_what_it_lacks_is_taken(monkeypatch, grown, expected):
    """Beyond 1 % one more question is asked near it, here without a better answer."""
    rounds(monkeypatch, SHORT, grown=with_bound(Fraction(grown), 10, "feasible"))
    asked = []

    def again(question, near):
        asked.append(near)
        return with_bound(13, 13)

    first = with_bound(10, 10, "feasible")
    _, found = small_pools.settled_sizes(one_option(), lambda _: first, again=again)
    assert (found.value, len(asked)) == (Fraction(expected[0]), expected[1])


@pytest.mark.parametrize(("status", "bound"), [("optimal", 10), ("feasible", 8)])
@pytest.mark.parametrize(("lone", "expected"), [(11, ("feasible", 11)), (14, ("optimal", 13))])
def test_what_replicas_carry_alone_bounds_plans_of_proved_and_unproved_questions(
    monkeypatch, status, bound, lone, expected
):
    """No plan of more demand costs less than one that is allowed to count them at what they carry alone."""
    rounds(monkeypatch, SHORT)
    monkeypatch.setattr(small_pools, "bound_of_lone_replicas", lambda case, prove: Fraction(lone))
    answers = [with_bound(10, bound, status), with_bound(13, 13)]
    case = of_two_hours()
    _, found = small_pools.settled_sizes(case, lambda _: answers.pop(0), prove=lambda _: cost(lone))
    assert (found.status, found.value, found.lower_bound) == (expected[0], 13, expected[1])


def of_two_hours():
    case = one_option()
    (demand,) = case.question.demands
    twice = (replace(demand, demand_rps=demand.demand_rps * 2),)
    return Asked(replace(case.question, periods=2, demands=twice))


@pytest.mark.parametrize(
    ("bounds", "carries", "expected"),
    [
        ((11, 12), False, ("feasible", 13, 11)),
        ((13, 14), False, ("optimal", 13, 13)),
        # The plan of one of the questions carries its demand, and is cheaper: it is taken.
        ((12, 12), True, ("optimal", 12, 12)),
    ],
)
def test_one_hour_is_bounded_by_what_replicas_carry_at_the_size_of_their_pool(
    monkeypatch, bounds, carries, expected
):
    rounds(monkeypatch, SHORT, {}, {}, *([] if carries else [SHORT, SHORT]))
    given = []

    def at_real_sizes(case, factors, prove):
        given.append(factors)
        return [with_bound(bound, bound) for bound in bounds]

    monkeypatch.setattr(small_pools, "answers_at_real_sizes", at_real_sizes)
    answers = [with_bound(10, 10), with_bound(13, 13)]
    case, found = small_pools.settled_sizes(one_option(), lambda _: answers.pop(0), prove=cost)
    assert (found.status, found.value, found.lower_bound) == expected
    # Asked at last for one and a half times the demand.
    assert given == [SHORT]
    assert (case.settled is None) == carries
