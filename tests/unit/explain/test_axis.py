"""How large a change is, and which values a limit may take."""

from __future__ import annotations

from fractions import Fraction

import pytest

from planner.explain.axis import Axis
from planner.schema.reasons import NamedLimit

F = Fraction


def axis(kind, value, weight=1, **more):
    return Axis(NamedLimit("x", kind, "", "", None if value is None else F(value), **more), F(weight))


@pytest.mark.parametrize(
    ("moved", "value", "size"),
    [
        (axis("latency", 2), 3, F(1, 2)),
        (axis("latency", 2, weight=3), 3, F(3, 2)),
        (axis("latency", 2), 1, 0),  # tighter is no change to ask for
        (axis("headroom", "0.2", falls=True), "0.1", F(1, 2)),
        (axis("redundancy", 1, falls=True), 0, 1),
        (axis("demand", 20, falls=True), 10, 1),  # half the demand is as far as twice a limit
        (axis("demand", 20, falls=True), 5, 3),
        (axis("stock", 0), 3, 3),
        (axis("rule", None), None, 1),
        (axis("latency", 2), None, 1000),
    ],
)
def test_sizes(moved, value, size):
    assert moved.size(None if value is None else F(value)) == size


STEPS = axis("latency", 2, values=(F(1), F(3), F(5)))
WHOLE = axis("stock", 2, whole=True, most=F(4))
FALLING = axis("redundancy", 2, falls=True, whole=True, most=F(0))
SMOOTH = axis("latency", 2)


@pytest.mark.parametrize(
    ("moved", "ladder"),
    [(STEPS, [3, 5]), (WHOLE, [3, 4]), (FALLING, [1, 0])],
    ids=["steps", "whole", "falls"],
)
def test_attainable_values(moved, ladder):
    assert moved.first() == ladder[0]
    assert moved.beyond(F(ladder[0])) == ladder[1]
    assert moved.before(F(ladder[1])) == ladder[0]
    assert moved.before(F(ladder[0])) == moved.today
    for over in (moved.beyond, moved.before):
        with pytest.raises(IndexError):
            over(F(ladder[-1]) if over == moved.beyond else moved.today)


def test_between_attainable_values():
    assert (STEPS.beyond(F("3.5")), STEPS.before(F("3.5"))) == (5, 3)
    assert (WHOLE.beyond(F("2.5")), WHOLE.before(F("3.5"))) == (3, 3)


def test_every_value_is_its_own_neighbor():
    assert SMOOTH.first() == SMOOTH.today
    assert SMOOTH.beyond(F(3)) == SMOOTH.before(F(3)) == 3


def test_a_yes_or_no_has_one_value():
    for move in (axis("rule", None).beyond, axis("rule", None).before):
        with pytest.raises(IndexError):
            move(None)


def test_the_loosest_value():
    assert SMOOTH.end is None
    assert STEPS.end == 5
    assert axis("headroom", "0.2", falls=True).end == 0
    assert axis("demand", 20, falls=True).end == F(1, 50)
    assert axis("latency", 9, values=(F(1), F(3))).end == 9
