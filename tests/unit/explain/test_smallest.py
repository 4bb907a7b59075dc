"""The smallest sufficient change of one limit: exact, or near, safe and short, and found in few questions."""

from __future__ import annotations

from fractions import Fraction

import pytest
from plan_table import PlanTable, Row

from planner.explain.axis import Axis
from planner.explain.oracle import Oracle
from planner.explain.readable import readable, stated
from planner.explain.smallest import smallest
from planner.schema.reasons import NamedLimit

F = Fraction


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ("1510", "1590", "1550"),
        ("1490", "1590", "1500"),
        ("0.0313", "0.0417", "0.04"),
        ("0.99", "1.3", "1"),
        ("9.7", "10.2", "10"),
        ("97", "1020", "1000"),
        ("0.12345", "0.12346", "0.12345"),
        ("123456789.21", "123456789.49", "123456789.4"),
        ("0", "5", "0"),
        ("7", "7", "7"),
    ],
)
def test_the_shortest_number(low, high, expected):
    assert readable(F(low), F(high)) == F(expected)


@pytest.mark.parametrize("value", ["26.1", "0.1", "1e-9", "123456789012345", "0.5"])
def test_numbers_that_a_document_keeps(value):
    assert stated(F(value), up=True) == stated(F(value), up=False) == F(value)


def test_numbers_that_never_end_are_rounded_to_the_safe_side():
    assert stated(F(1, 3), up=False) < F(1, 3) < stated(F(1, 3), up=True)
    assert stated(F(1, 3), up=True) == F("0.333333333334")
    assert F(repr(float(stated(F(2, 3) * 10**9, up=True)))) == stated(F(2, 3) * 10**9, up=True)


def one_limit(today, needed, **more):
    """A single latency, and a plan that needs another value of it."""
    kind = more.pop("kind", "latency")
    limit = NamedLimit("x", kind, "", more.pop("unit", "s"), F(today), **more)
    rows = [Row(7, {"g": 3}, {"x": F(needed)}, replicas=int(F(needed)))]
    return PlanTable(rows, [limit])


def found_in(table, name="x"):
    oracle = Oracle(table)
    found = smallest(oracle, Axis(table.by_id[name]), {})
    return found, oracle.asks


@pytest.mark.parametrize("scale", ["1e-6", "1", "1e9"])
@pytest.mark.parametrize("needed", ["1.00001", "1.0123", "1.1", "1.7321", "2", "5.4321", "123.4"])
def test_every_value_will_do(needed, scale):
    """Between the least and 0.5 % of it or 0.9 % of the change above it."""
    exact = F(needed) * F(scale)
    table = one_limit(F(scale), exact)
    found, asks = found_in(table)
    change = found.value - F(scale)
    assert exact <= found.value
    assert found.value - exact <= min(F(5, 1000) * found.value, F(9, 1000) * change)
    assert not table.feasible({"x": found.value - change / 100})
    assert F(repr(float(found.value))) == found.value
    assert len(f"{float(found.value / F(scale)):.12g}") <= len(needed) + 4
    assert asks <= 22


@pytest.mark.parametrize("needed", ["0.5", "1.5"])
def test_round_needs_are_met_exactly(needed):
    assert found_in(one_limit("0.3", needed))[0].value == F(needed)


def test_the_usual_change_takes_about_ten_questions():
    """One and a half times today's value: today, without it, twice today's, and then the bisection."""
    assert found_in(one_limit(1, "1.4321"))[1] <= 12


@pytest.mark.parametrize(("today", "carried"), [(40, 39), (40, 12), (40, 1), (4000, 5), (10**12, 10**11)])
def test_demand_falls_to_what_can_be_carried(today, carried):
    limit = NamedLimit("demand:w", "demand", "", "requests/s", F(today), falls=True)
    table = PlanTable([Row(1, {"g": 1}, {}, (carried,))], [limit])
    found, asks = found_in(table, "demand:w")
    assert 0 <= carried - found.value <= min(F(5, 1000) * carried, F(9, 1000) * (today - found.value))
    assert asks <= 22


def test_less_than_a_thousandth_of_the_demand_is_no_way_out():
    limit = NamedLimit("demand:w", "demand", "", "requests/s", F(4000), falls=True)
    table = PlanTable([Row(1, {"g": 1}, {}, (3,))], [limit])
    assert found_in(table, "demand:w") == (None, 2)


@pytest.mark.parametrize(("carried", "expected"), [(100, "0"), (110, "0.1"), (119, "0.19")])
def test_headroom_may_fall_to_nothing(carried, expected):
    limits = [
        NamedLimit("demand:w", "demand", "", "requests/s", F(100), falls=True),
        NamedLimit("headroom", "headroom", "", "fraction", F("0.2"), falls=True, most=F(0)),
    ]
    found, _ = found_in(PlanTable([Row(1, {"g": 1}, {}, (carried,))], limits), "headroom")
    assert found.value == F(expected)


@pytest.mark.parametrize(
    ("exact", "most"),
    [("1.0573266", "1.0578"), ("0.9570708", "0.9573"), ("0.9981", "0.9984"), ("0.9999", "1")],
)
def test_no_value_beyond_the_loosest(exact, most):
    """1.058 is shorter than 1.0578, and near enough, but no value that makes sense."""
    found, _ = found_in(one_limit("0.9", exact, most=F(most)))
    assert F(exact) <= found.value <= F(most)


def test_only_without_it():
    """No value up to a thousand times today's suffices: the limit is taken away."""
    table = one_limit(1, 10**9)
    found, asks = found_in(table)
    assert (found.value, found.needed) == (None, True)
    assert asks <= 9


def test_whole_values():
    found, asks = found_in(one_limit(4, 61, whole=True))
    assert found.value == 61
    assert asks <= 12


def test_whole_values_that_fall():
    table = one_limit(9, 3, whole=True, falls=True, kind="replicas", most=F(1))
    assert found_in(table)[0].value == 3


def test_values_of_a_table():
    steps = tuple(F(number, 10) for number in range(1, 65))
    found, asks = found_in(one_limit(2, "4.1", values=steps))
    assert found.value == F("4.1")
    assert asks <= 2 + 6
    assert found_in(one_limit(7, "7.5", values=steps))[0] is None


def test_the_budget_is_the_optimal_cost_without_it():
    table = one_limit(1, 1, kind="budget", unit="USD/h")
    found, asks = found_in(table)
    assert (found.value, asks) == (F(7), 2)


def test_a_budget_in_another_unit_is_searched():
    table = one_limit(1, 1, kind="budget", unit="USD/month")
    found, _ = found_in(table)
    assert F(7) <= found.value <= F("7.035")


def test_the_fewest_gpus():
    found, asks = found_in(one_limit(1, 1, kind="max-gpus", unit="GPUs", whole=True))
    assert (found.value, asks) == (F(3), 2)


def test_nothing_to_change():
    found, asks = found_in(one_limit(5, 3))
    assert (found.needed, asks) == (False, 1)


def test_without_answers_the_smallest_change_is_not_proved():
    table = one_limit(1, "1.5")
    ask = table.ask

    def sometimes(changes, goal="value", objective=None):
        if changes.get("x") is not None and F("1.1") < changes["x"] < F("1.7"):
            return type(ask({}))("unknown")
        return ask(changes, goal, objective)

    table.ask = sometimes
    found, _ = found_in(table)
    assert found.proved is False
    assert table.feasible({"x": found.value})
