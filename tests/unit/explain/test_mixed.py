"""The smallest change of several limits together equals looking at every plan."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from plan_table import PlanTable, Row

from planner.explain.axis import Axis
from planner.explain.box import Region
from planner.explain.mixed import MixedSearch, settled
from planner.explain.oracle import Oracle
from planner.schema.reasons import NamedLimit

F = Fraction
MANY = 10**6
NEAR = F(1, 50)


def problem(rng, count, form, money):
    """Plans that need more of every limit than today allows, and the region up to twelve times today."""
    names = ["x", "y", "z"][:count]
    rows = [
        Row(rng.randint(5, 40), {"g": 1}, {name: F(rng.randint(3, 24)) for name in names})
        for _ in range(rng.randint(2, 12))
    ]
    steps = tuple(F(value) for value in range(3, 25)) if form == "steps" else ()
    limits = [
        NamedLimit(name, "latency", "", "s", F(2), whole=form == "whole", values=steps) for name in names
    ]
    if money:
        limits.append(NamedLimit("budget", "budget", "", "USD/h", F(4)))
    table = PlanTable(rows, limits)
    axes = {limit.id: Axis(limit, F(rng.randint(1, 3))) for limit in limits}
    free = tuple(axes[name] for name in names)
    region = Region(
        free,
        tuple(axis.first() for axis in free),
        (F(24),) * count,
        axes.get("budget"),
        F(4),
        corner_first=rng.random() < 0.3,
    )
    return table, axes, region


def least(table, axes):
    """The smallest sum over all plans."""
    budget = [axes["budget"]] if "budget" in axes else []
    return min(
        sum(axes[name].size(value) for name, value in row.needs.items())
        + sum(axis.size(F(row.usd)) for axis in budget)
        for row in table.rows
    )


@pytest.mark.parametrize("form", ["steps", "whole"])
@pytest.mark.parametrize("money", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_steps_and_whole_values_are_exact(seed, money, form):
    table, axes, region = problem(random.Random(seed), 2, form, money)
    search = MixedSearch(Oracle(table), [region], MANY)
    best = search.run()
    assert search.complete
    assert best.size == least(table, axes)
    assert table.feasible(best.changes)


@pytest.mark.parametrize("seed", range(30))
def test_a_limit_that_takes_every_value_beside_the_budget_comes_near(seed):
    table, axes, region = problem(random.Random(seed), 1, "smooth", money=True)
    search = MixedSearch(Oracle(table), [region], MANY)
    best = search.run()
    assert search.complete
    assert least(table, axes) <= best.size <= least(table, axes) / (1 - NEAR)
    assert len(table.asked) <= 20


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("seed", range(20))
def test_few_questions_still_give_a_change_that_is_minimal_in_every_limit(seed, count):
    table, axes, region = problem(random.Random(seed), count, "smooth", money=seed % 2 == 0)
    oracle = Oracle(table)
    best = MixedSearch(oracle, [region], 24).run()
    assert oracle.asks <= 24
    final = settled(oracle, axes, best)
    assert least(table, axes) <= final.size <= best.size
    assert table.feasible(final.changes)
    for name, value in final.changes.items():
        less = value - (value - axes[name].today) / 100
        assert not table.feasible({**final.changes, name: less})


def test_the_best_of_several_regions_and_few_questions():
    rng = random.Random(1)
    table, axes, region = problem(rng, 3, "whole", money=False)
    tight = Region(region.axes, region.low, (F(3),) * 3)
    assert not table.feasible(dict.fromkeys("xyz", F(3)))
    assert MixedSearch(Oracle(table), [tight], MANY).run() is None
    assert MixedSearch(Oracle(table), [tight, region], MANY).run().size == least(table, axes)
    hasty = MixedSearch(Oracle(table), [region], 2)
    assert hasty.run().size >= least(table, axes)
    assert not hasty.complete


def test_a_budget_that_suffices_alone_is_no_mixture():
    table, axes, region = problem(random.Random(0), 1, "whole", money=True)
    dearest = max(row.usd for row in table.rows)
    for below in (F(5), F(dearest + 1)):
        bounded = Region(region.axes, region.low, region.high, region.money, F(4), below)
        best = MixedSearch(Oracle(table), [bounded], MANY).run()
        fine = [row for row in table.rows if row.usd < below]
        assert (best is None) == (not fine)
        if best is not None:
            assert best.size == least(PlanTable(fine, table.limits), axes)
