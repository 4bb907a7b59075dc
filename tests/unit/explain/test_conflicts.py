"""Minimal conflicts: all of them, few questions, nothing claimed that no answer says."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest
from plan_table import PlanTable, Row

from planner.explain.conflicts import minimal_conflicts
from planner.explain.hitting_sets import HittingSets
from planner.explain.oracle import Oracle
from planner.schema.choice import Choice
from planner.schema.reasons import NamedLimit

F = Fraction


def switches(conflicts, names, silent=()):
    """Limits that are a yes or no, and plans such that just these sets of them cannot hold together."""
    subsets = itertools.chain.from_iterable(
        itertools.combinations(names, size) for size in range(len(names) + 1)
    )
    rows = [
        Row(1, {"g": 1}, dict.fromkeys(set(names) - set(held), 1))
        for held in subsets
        if not any(set(conflict) <= set(held) for conflict in conflicts)
    ]
    kinds = ("rule", "precision", "service")
    limits = [NamedLimit(name, kinds[place % 3], "") for place, name in enumerate(names)]
    return PlanTable(rows, limits, silent=silent)


@pytest.mark.parametrize("seed", range(40))
def test_hitting_sets_equal_all_subsets(seed):
    rng = random.Random(seed)
    names = "abcdefg"
    family = [frozenset(rng.sample(names, rng.randint(1, 4))) for _ in range(rng.randint(1, 6))]
    found = HittingSets()
    for members in family:
        found.add(members)
    hitting = [
        set(subset)
        for size in range(len(names) + 1)
        for subset in itertools.combinations(names, size)
        if all(set(subset) & members for members in family)
    ]
    minimal = [one for one in hitting if not any(other < one for other in hitting)]
    assert sorted(sorted(one) for one in found.sets) == sorted(sorted(one) for one in minimal)


@pytest.mark.parametrize(
    "conflicts",
    [
        [("a",)],
        [("a", "b", "c", "d", "e", "f", "g", "h")],
        [("a", "b"), ("c", "d"), ("e", "f"), ("g", "h")],
        list(itertools.combinations("abcdef", 3)),
        [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")],
    ],
)
def test_every_conflict_is_found(conflicts):
    table = switches(conflicts, "abcdefgh")
    found = minimal_conflicts(table)
    assert set(found.sets) == {tuple(sorted(conflict)) for conflict in conflicts}
    assert found.complete
    assert list(found.sets) == sorted(found.sets, key=lambda one: (len(one), one))


def test_few_questions():
    """Of twelve limits two matter: each is tried once, and then every correction."""
    table = switches([("a", "l")], "abcdefghijkl")
    assert minimal_conflicts(table).corrections == (("a",), ("l",))
    assert len(table.asked) <= 2 + 12 + 3


def test_the_order_of_the_limits_changes_nothing():
    conflicts = [("a", "b"), ("c",), ("b", "d", "e")]
    assert minimal_conflicts(switches(conflicts, "abcdef")) == minimal_conflicts(
        switches(conflicts, "fedcba")
    )


def test_more_conflicts_than_wanted():
    table = switches(list(itertools.combinations("abcdef", 2)), "abcdef")
    found = minimal_conflicts(table, most=4)
    assert len(found.sets) == 4
    assert not found.complete
    assert len(minimal_conflicts(table, most=15).sets) == 15
    assert minimal_conflicts(table, most=15).complete


def test_more_questions_than_wanted():
    conflicts = [("a", "b"), ("c", "d"), ("e", "f"), ("g", "h")]
    found = minimal_conflicts(switches(conflicts, "abcdefgh"), most_asks=30)
    assert not found.complete
    assert set(found.sets) <= set(conflicts)


@pytest.mark.parametrize(
    "silent",
    [
        *([subset] for size in range(4) for subset in itertools.combinations("abc", size)),
        [("a",), ("c",)],
        [("a", "b"), ("b", "c")],
        [("a",), ("a", "c")],
        [("b",), ("a", "c")],
    ],
)
def test_unknown_is_not_infeasible(silent):
    """Whatever question stays without an answer, only true conflicts are named, or the search says so."""
    true = {("a", "b"), ("b", "c")}
    found = minimal_conflicts(switches(list(true), "abc", silent=silent))
    assert set(found.sets) <= true
    assert found.complete is False or set(found.sets) == true
    assert found.given is False


def test_an_asker_that_never_knows():
    everything = [subset for size in range(4) for subset in itertools.combinations("abc", size)]
    found = minimal_conflicts(switches([("a", "b")], "abc", silent=everything))
    assert (found.sets, found.complete, found.feasible) == ((), False, False)


def test_what_a_choice_takes_answers_questions_about_the_market():
    """The first plan found costs 5 and takes 3 GPUs: looser budgets and stocks need no question."""
    limits = [
        NamedLimit("budget", "budget", "", "USD/h", F(1)),
        NamedLimit("stock:g", "stock", "", "GPUs", F(1), whole=True),
        NamedLimit("max-gpus", "max-gpus", "", "GPUs", F(1), whole=True),
    ]
    table = PlanTable([Row(5, {"g": 3}, {})], limits)
    oracle = Oracle(table)
    assert oracle.feasible({"budget": None, "stock:g": None, "max-gpus": None})
    assert oracle.feasible({"budget": F(5), "stock:g": F(3), "max-gpus": F(3)})
    assert oracle.asks == 1
    assert not oracle.feasible({"budget": F(4), "stock:g": F(9), "max-gpus": F(9)})
    assert not oracle.feasible({"budget": F(3), "stock:g": F(9), "max-gpus": F(9)})
    assert oracle.asks == 2
    assert oracle.bracket("budget", {"stock:g": F(9), "max-gpus": F(3)}) == (F(4), F(5))


def test_an_answer_without_a_plan_tells_nothing_about_the_market():
    table = PlanTable([Row(5, {"g": 3}, {})], [NamedLimit("budget", "budget", "", "USD/h", F(1))])
    table.choice = lambda row, status, by: Choice("feasible")
    oracle = Oracle(table)
    assert oracle.feasible({"budget": None})
    assert not oracle.feasible({"budget": F(4)})


def test_taking_a_limit_away_is_as_good_as_its_loosest_value():
    limits = [
        NamedLimit("x", "latency", "", "s", F(1), values=(F(1), F(3))),
        NamedLimit("spare", "redundancy", "", "", F(2), False, True, True, most=F(0)),
    ]
    table = PlanTable([Row(5, {"g": 3}, {"x": F(3)})], limits)
    oracle = Oracle(table)
    assert oracle.feasible({"x": None, "spare": None})
    assert oracle.feasible({"x": F(3), "spare": F(0)})
    assert oracle.feasible({"x": F(9), "spare": F(0)})
    assert oracle.asks == 1
    budget = NamedLimit("budget", "budget", "", "USD/h", F(1))
    oracle = Oracle(PlanTable(table.rows, [limits[0], budget]))
    assert not oracle.feasible({"x": None})
    assert not oracle.feasible({"x": F(9)})
    assert oracle.asks == 1
