"""Fronts and alternatives of fleets, against a look at every plan."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from fractions import Fraction

import pytest
from fleet_table import EAST, WEST, api, enumerated, fleet, line, need, option, plans, random_fleet
from plan_limits import plan_limits

from planner.errors import InputError
from planner.planning.answering.several import suppliers_of
from planner.planning.asking.front import fleet_front, front_value
from planner.planning.asking.kinds import fleet_alternatives
from planner.schema.fleet import FleetChoice, Site

F = Fraction
AXES = [
    ("cost", "gpus"),
    ("cost", "power"),
    ("cost", "providers"),
    ("cost", "gpus", "power"),
    ("gpus", "cost", "providers"),
    ("gpus", "power"),
    ("cost", "gpus", "power", "providers"),
]


def values(question, total, periods, axes):
    found = {
        "cost": total.usd,
        "gpus": F(max(sum(period.gpus.values()) for period in total.periods)),
        "power": max(period.power_w for period in total.periods),
        "providers": F(len(suppliers_of(question, FleetChoice("feasible", periods)))),
    }
    return tuple(found[axis] for axis in axes)


def front_by_hand(question, axes):
    points = {values(question, *plan, axes) for plan in plans(question)}

    def beaten(mine):
        return any(o != mine and all(a <= b for a, b in zip(o, mine, strict=True)) for o in points)

    return sorted(point for point in points if not beaten(point))


def open_fleet(seed, periods):
    """Nothing but the supply limits it; three providers."""
    rng = random.Random(seed)
    found = random_fleet(rng, periods, tight=False)
    third = line("h", "spot", rng.randint(2, 6), 4, unit_gpus=2, site=Site("r", "north"))
    limits = replace(found.limits, rows=(), changes=None, objective="cost")
    # Faster ones take more power, so that the axes disagree.
    options = (*found.options[:1], replace(found.options[1], power_w=F(rng.choice([150, 500]))))
    return replace(found, lines=(*found.lines, third), limits=limits, options=options)


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize(("seed", "periods"), [(0, 1), (1, 1), (2, 1), (3, 2)])
def test_fronts_are_complete_and_nothing_on_them_is_beaten(axes, seed, periods):
    question = open_fleet(seed, periods)
    front = fleet_front(question, axes, enumerated)
    assert front.exhausted
    found = [tuple(front_value(question, plan, axis) for axis in axes) for plan in front.choices]
    assert found == front_by_hand(question, axes)


def test_an_outside_supplier_counts_as_one_to_buy_from():
    lines = [line("g", "on_demand", 1, 1, site=EAST), line("h", "on_demand", 3, 1, site=WEST)]
    options = [option("a", "g", 1, 1), option("b", "h", 1, 1)]
    question = fleet(options, lines, [need(3)], apis=(api("w/api", 90),))
    front = fleet_front(question, ("providers", "cost"), enumerated)
    # 90 for all of it; a third less with one GPU, and again with the second.
    points = [(len(suppliers_of(question, plan)), plan.cost_usd) for plan in front.choices]
    assert points == [(1, 90), (2, 61), (3, 34)]


def test_a_front_that_questions_end_is_not_complete():
    question = open_fleet(1, 1)
    front = fleet_front(question, ("cost", "gpus", "providers"), enumerated, most_solves=2)
    assert not front.exhausted
    assert len(front.choices) >= 1


def test_a_front_of_nothing():
    question = fleet([option("a", "g", 1, 1)], [line("g", "owned", 1, 1)], [need(2)])
    front = fleet_front(question, ("cost", "gpus"), enumerated)
    assert (front.choices, front.exhausted) == ((), True)


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        (("cost", "gpu"), 'Maybe "gpus"'),
        (("cost", "cost"), "every axis once"),
        (("cost",), "two axes or more"),
    ],
)
def test_axes_are_checked(axes, words):
    with pytest.raises(InputError, match=words):
        fleet_front(open_fleet(0, 1), axes, enumerated)


# -- alternatives --------------------------------------------------------------------------------------------


def three_kinds(seed):
    rng = random.Random(seed)
    lines = [
        line("g", "on_demand", rng.randint(1, 4), rng.randint(2, 4), site=EAST),
        line("h", "on_demand", rng.randint(1, 4), rng.randint(2, 4), site=WEST),
    ]
    options = [
        option("a", "g", 1, rng.randint(1, 3)),
        option("b", "g", 2, rng.randint(3, 5)),
        option("c", "h", 1, rng.randint(1, 4)),
    ]
    apis = (api("w/api", rng.randint(5, 25)),) if rng.random() < 0.5 else ()
    return fleet(options, lines, [need(rng.randint(2, 7))], plan_limits(), apis=apis)


def kinds_of(question, choice, by):
    gpus = {one.id: one.gpu for one in question.options}
    used = {name if by == "options" else gpus[name] for period in choice.periods for name, _ in period.counts}
    names = {one.id for one in question.apis}
    return used | {
        share.option for period in choice.periods for share in period.shares if share.option in names
    }


def values_by_hand(question, k, by):
    """The least cost of the plans that do without some kind of every plan before; as many as there are."""
    costs = {}
    for total, periods in plans(question):
        kinds = frozenset(kinds_of(question, FleetChoice("feasible", periods), by))
        costs[kinds] = min(total.usd, costs.get(kinds, total.usd))
    found, used = [], []
    while len(found) < k:
        left = [(usd, kinds) for kinds, usd in costs.items() if not any(one <= kinds for one in used)]
        if not left:
            break
        usd = min(left, key=lambda pair: pair[0])[0]
        # Of equally cheap sets of kinds, those that hold no other of them.
        ties = [kinds for cost, kinds in left if cost == usd]
        used.append(next(one for one in ties if not any(other < one for other in ties)))
        found.append(usd)
    return found


KINDS = {"options": lambda one: one.id, "gpus": lambda one: one.gpu}


@pytest.mark.parametrize("by", list(KINDS))
@pytest.mark.parametrize("seed", range(8))
def test_alternatives_come_in_the_order_of_their_cost(seed, by):
    question = three_kinds(seed)
    found = fleet_alternatives(question, 20, enumerated, KINDS[by])
    assert found.exhausted
    costs = [plan.cost_usd for plan in found.choices]
    assert costs == sorted(costs)
    sets = [kinds_of(question, plan, by) for plan in found.choices]
    assert not any(one <= other for one, other in itertools.combinations(sets, 2))
    assert costs[0] == enumerated(question).cost_usd
    assert costs == values_by_hand(question, 20, by)


def test_no_more_than_asked_for():
    question = three_kinds(0)
    asked = []

    def solve(one):
        asked.append(one)
        return enumerated(one)

    few = fleet_alternatives(question, 1, solve)
    assert (len(few.choices), len(asked), few.exhausted) == (1, 1, False)
    cut = fleet_alternatives(question, 20, enumerated, most_solves=2)
    assert not cut.exhausted


def test_an_unproved_solve_makes_no_proof():
    def unsure(question):
        choice = enumerated(question)
        return replace(choice, status="feasible") if choice.status == "optimal" else choice

    found = fleet_alternatives(three_kinds(0), 20, unsure)
    assert len(found.choices) > 1
    assert not found.exhausted
