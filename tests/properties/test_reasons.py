"""Conflicts, relaxations and prices of random problems equal what looking at every plan says."""

from __future__ import annotations

import dataclasses
import random
from fractions import Fraction

import pytest
from more import seeds
from plan_table import CARRIED, PlanTable, random_table

from planner.explain.axis import Axis
from planner.explain.conflicts import minimal_conflicts
from planner.explain.oracle import Oracle
from planner.explain.prices import prices
from planner.explain.relaxations import relaxations
from planner.explain.steps import step

F = Fraction
PROBLEMS = 300
MOST_ASKS = 200


def explained(seed, **more):
    table = random_table(random.Random(seed), smooth=seed % 2 == 0, **more)
    oracle = Oracle(table)
    conflicts = minimal_conflicts(oracle)
    return table, oracle, conflicts, relaxations(oracle, conflicts)


def values(relaxation):
    """What is stated, as somebody would type it."""
    return {
        change.id: None if isinstance(change.to, str) else F(repr(change.to)) for change in relaxation.changes
    }


def distance(limit, value):
    return limit.value - value if limit.falls else value - limit.value


def shrunk(limit, value):
    """The change as little as 1 % smaller, of its value and of itself; one less for whole numbers."""
    if limit.value is None:
        return []
    steps = [F(1)] if limit.whole else [F(1, 100) * abs(value), F(1, 100) * distance(limit, value)]
    return [value + step if limit.falls else value - step for step in steps if step]


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(PROBLEMS))
def test_conflicts_and_relaxations_equal_enumeration(seed):
    table, oracle, conflicts, found = explained(seed)
    assert conflicts.complete
    assert conflicts.feasible == table.feasible({})
    if conflicts.feasible:
        assert (conflicts.sets, found) == ((), ())
        return
    expected = table.conflicts()
    assert conflicts.given == (expected == ((),))
    assert conflicts.sets == (() if conflicts.given else expected)
    check_corrections(table, conflicts)
    check_singles(table, found)
    for relaxation in found:
        check_stated(table, relaxation)
    if found and not all(len(relaxation.changes) == 1 for relaxation in found):
        assert [relaxation.kind for relaxation in found].count("mixed") == 1
    assert oracle.asks <= MOST_ASKS


def check_corrections(table, conflicts):
    """Without these limits it is feasible, and not without fewer of them."""
    for correction in conflicts.corrections:
        assert table.feasible(dict.fromkeys(correction))
        for name in correction:
            assert not table.feasible(dict.fromkeys(other for other in correction if other != name))


def check_singles(table, found):
    """Every limit that suffices alone is shown, with its smallest value or next to it on the safe side."""
    singles = {
        relaxation.changes[0].id: values(relaxation) for relaxation in found if len(relaxation.changes) == 1
    }
    for limit in table.limits:
        exact = table.smallest_alone(limit.id)
        possible = exact is not False and (exact is None or distance(limit, exact) > 0)
        if limit.kind == "demand" and possible:
            possible = exact >= limit.value / 1000
        assert (limit.id in singles) == possible
        if not possible or exact is None:
            continue
        stated = singles[limit.id][limit.id]
        if limit.values or limit.whole or limit.kind == "budget":
            assert stated == exact
        else:
            over = distance(limit, stated) - distance(limit, exact)
            assert 0 <= over <= min(F(1, 100) * distance(limit, exact), F(1, 200) * exact or 1)


def check_stated(table, relaxation):
    """Feasible as stated at the stated cost, and not when any of its changes is smaller."""
    changes = values(relaxation)
    assert table.best(changes) is not None
    assert float(table.best(changes)[0]) == relaxation.cost_usd_per_hour
    for name, value in changes.items():
        assert not table.feasible({other: kept for other, kept in changes.items() if other != name})
        for less in shrunk(table.by_id[name], value):
            assert not table.feasible({**changes, name: less})


@pytest.mark.parametrize("seed", range(0, PROBLEMS, 4))
def test_a_looser_limit_never_needs_more(seed):
    """After one limit is loosened, no conflict is new and no limit has to give more than before."""
    table, _, conflicts, before = explained(seed)
    rng = random.Random(seed)
    moved = rng.choice([limit for limit in table.limits if limit.value])
    share = F(1) - F(1, 5) if moved.falls else F(1) + F(1, 5)
    value = F(round(moved.value * share)) if moved.whole else moved.value * share
    limits = [dataclasses.replace(limit, value=value) if limit is moved else limit for limit in table.limits]
    looser = PlanTable(table.rows, limits, table.objective)
    after = minimal_conflicts(looser)
    if conflicts.feasible:
        assert after.feasible
        return
    if not conflicts.given:
        assert all(any(set(old) <= set(new) for old in conflicts.sets) for new in after.sets)
    needed = {r.changes[0].id: values(r) for r in relaxations(looser, after) if r.kind == "single"}
    for relaxation in before:
        name = relaxation.changes[0].id
        limit = table.by_id[name]
        if relaxation.kind != "single" or name == moved.id or name not in needed or limit.value is None:
            continue
        near = 0 if limit.values or limit.whole else F(1, 100) * distance(limit, values(relaxation)[name])
        assert distance(limit, needed[name][name]) <= distance(limit, values(relaxation)[name]) + near


@pytest.mark.parametrize("seed", range(1, PROBLEMS, 2))
def test_the_mixed_change_is_as_small_as_any_pair_that_must_change(seed):
    """Where some granted limit suffices alone: the smallest sum over all plans that need just two changes."""
    table, _, conflicts, found = explained(seed)
    alone = {r.changes[0].id for r in found if r.kind == "single"}
    if conflicts.feasible or not any(table.by_id[name].grantable for name in alone):
        return
    pairs = least_pairs(table)
    if pairs:
        mixed = next(relaxation for relaxation in found if relaxation.kind == "mixed")
        assert mixed.relative_change <= float(min(pairs)) * 1.02 + 1e-9


def least_pairs(table):
    """Sizes of the changes of two limits, carried load aside, that no smaller change of other plans beats."""
    limits = [limit for limit in table.limits if limit.kind not in CARRIED]
    today = {
        limit.id: table.allowed(limit, limit.value if limit.value is not None else True) for limit in limits
    }
    standing = table.carried(table.today())
    changes = set()
    for place in range(len(table.rows)):
        if standing[place]:
            moved = [limit for limit in limits if not today[limit.id][place]]
            changes.add(frozenset((limit.id, size_needed(table, limit, place)) for limit in moved))
    sizes = [dict(change) for change in changes]
    return [
        sum(change.values())
        for change in sizes
        if len(change) == 2 and not any(smaller(other, change) for other in sizes)
    ]


def size_needed(table, limit, place):
    if limit.value is None:
        return F(1)
    distinct, places = table.places[limit.id]
    return distance(limit, distinct[places[place]]) / (limit.value or 1)


def smaller(one, other):
    return one != other and all(name in other and size <= other[name] for name, size in one.items())


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(120))
def test_prices_equal_enumeration(seed):
    rng = random.Random(seed)
    table = random_table(rng, tight=False)
    while not table.feasible({}):
        table = random_table(rng, tight=False)
    found = prices(table, table.ask({}, "value"))
    today = table.best({})
    assert [price.id for price in found] == [limit.id for limit in table.limits]
    for price, limit in zip(found, table.limits, strict=True):
        away = limit.value / 1000 if limit.kind == "demand" else None
        stepped, removed = table.best({limit.id: step(Axis(limit)).value}), table.best({limit.id: away})
        assert price.saves_usd_per_hour == today[0] - stepped[0]
        assert price.removed_saves_usd_per_hour == today[0] - removed[0]
        if table.objective == "gpus":
            assert price.saves_objective == today[1] - stepped[1]
            assert price.removed_saves_objective == today[1] - removed[1]
        assert price.proved
    assert len(table.asked) <= 2 + 3 * len(table.limits)


def test_reasons_take_few_questions():
    """Conflicts and relaxations together, over problems with five to ten limits that somebody could grant."""
    asks = []
    for seed in range(80):
        table, oracle, conflicts, _ = explained(seed)
        if not conflicts.feasible and sum(limit.grantable for limit in table.limits) >= 5:
            asks.append(oracle.asks)
    asks.sort()
    assert len(asks) >= 40
    assert asks[len(asks) // 2] <= 60
    assert asks[-1] <= MOST_ASKS
