"""Planning rules (data) evaluated over the candidates, all at once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from planner.schema.candidates import BoolArray, Column, IntArray
from planner.schema.rules import Condition, PlanningRule

_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda column, names: np.isin(column.astype(str), names),
    "not-in": lambda column, names: np.isin(column.astype(str), names, invert=True),
}
"""Comparisons of a column with a value, a list of names, or another column."""


def finds(rule: PlanningRule, attributes: Mapping[str, Column]) -> BoolArray:
    """Where a rule finds a candidate: ``when`` holds and ``require``, if there is one, does not.

    Args:
        rule: the rule.
        attributes: one array an attribute that the rule names, all of one length.
    """
    found = holds(rule.when, attributes)
    return found if rule.require is None else found & ~holds(rule.require, attributes)


def holds(condition: Condition, attributes: Mapping[str, Column]) -> BoolArray:
    """Where a condition holds."""
    if condition.all_of is not None:
        return np.asarray(np.logical_and.reduce([holds(part, attributes) for part in condition.all_of]))
    if condition.any_of is not None:
        return np.asarray(np.logical_or.reduce([holds(part, attributes) for part in condition.any_of]))
    if condition.none_of is not None:
        return ~holds(condition.none_of, attributes)
    assert condition.attribute is not None
    assert condition.op is not None
    if condition.attribute2 is not None:
        other: object = attributes[condition.attribute2]
    elif isinstance(condition.value, tuple):
        other = list(condition.value)
    else:
        other = float(condition.value) if isinstance(condition.value, Decimal) else condition.value
    return np.asarray(_COMPARE[condition.op](attributes[condition.attribute], other), dtype=bool)


def active(rules: Iterable[PlanningRule], off: Collection[str]) -> tuple[PlanningRule, ...]:
    """The rules that the user has not switched off."""
    return tuple(rule for rule in rules if rule.id not in off)


def depends_on(flag: str, rules: Iterable[PlanningRule], attributes: Mapping[str, Column]) -> BoolArray:
    """Where what some rule finds of a candidate would change with a flag."""
    unset, set_ = ({**attributes, flag: np.full_like(attributes[flag], value)} for value in (False, True))
    found = np.zeros(attributes[flag].shape, dtype=bool)
    for rule in rules:
        found |= finds(rule, unset) != finds(rule, set_)
    return found


def refusals(rules: Iterable[PlanningRule], attributes: Mapping[str, Column]) -> dict[str, BoolArray]:
    """Violation bits of every refusing rule, by rule id."""
    return {rule.id: finds(rule, attributes) for rule in rules if rule.effect == "refuse"}


def penalties(rules: Iterable[PlanningRule], attributes: Mapping[str, Column]) -> IntArray:
    """Number of preferences that each candidate departs from: ranks it behind equals."""
    size = next(iter(attributes.values())).shape
    total = np.zeros(size, dtype=np.int64)
    for rule in rules:
        if rule.effect == "prefer":
            total += finds(rule, attributes)
    return total
