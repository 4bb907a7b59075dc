"""Conditions over what is known, in three-valued logic: a comparison holds, does not hold, or is unknown.

``None`` is unknown (Kleene): "all" is false as soon as one part is, "any" is true as soon as one part is,
and whatever cannot be decided stays unknown. An interval decides a comparison only when all its values agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from planner.schema.conditions import Condition, Threshold
from planner.schema.known import Known, Value
from planner.schema.metrics import METRICS, UNLIMITED
from planner.schema.readings import Reading

Truth = bool | None
Thresholds = Mapping[str, Threshold]
Right = Value | tuple[str, ...] | None
"""The right side of a comparison; None where it is not known."""

NEGATED = {
    "==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "in": "not-in", "not-in": "in",
}  # fmt: skip


@dataclass(frozen=True)
class Ground:
    """A comparison that holds, as it is shown."""

    metric: str
    reading: Value
    op: str
    right: Value | tuple[str, ...]
    basis: str


def judge(condition: Condition, thresholds: Thresholds, known: Known) -> Truth:
    """Whether a condition holds for what was observed."""
    if condition.metric is not None:
        return _compare(
            known.get(condition.metric), str(condition.op), right_side(condition, thresholds, known)
        )
    if condition.none_of is not None:
        return negated(judge(condition.none_of, thresholds, known))
    truths = [judge(part, thresholds, known) for part in condition.parts()]
    return every(truths) if condition.all_of is not None else some(truths)


def every(truths: list[Truth]) -> Truth:
    """Kleene's and."""
    return False if False in truths else None if None in truths else True


def some(truths: list[Truth]) -> Truth:
    """Kleene's or."""
    return True if True in truths else None if None in truths else False


def negated(truth: Truth) -> Truth:
    """Kleene's not."""
    return None if truth is None else not truth


def grounds(
    condition: Condition, thresholds: Thresholds, known: Known, wanted: bool = True
) -> Iterator[Ground]:
    """The comparisons that make a condition true (or false, where that is wanted), from left to right.

    Of alternatives only those that hold; nothing for a condition whose truth is another one.
    """
    if judge(condition, thresholds, known) is not wanted:
        return
    if condition.metric is not None:
        right = right_side(condition, thresholds, known)
        reading = known.get(condition.metric)
        if right is not None and reading is not None:
            op = str(condition.op) if wanted else NEGATED[str(condition.op)]
            yield Ground(condition.metric, reading, op, right, basis(condition, known))
    else:
        wanted_inside = not wanted if condition.none_of is not None else wanted
        for part in condition.parts():
            yield from grounds(part, thresholds, known, wanted_inside)


def right_side(condition: Condition, thresholds: Thresholds, known: Known) -> Right:
    """What a comparison compares with."""
    if condition.threshold is not None:
        return threshold_value(thresholds[condition.threshold], known)
    if condition.of is not None:
        return _other_metric(condition, thresholds, known)
    return _constant(condition)


def basis(condition: Condition, known: Known) -> str:
    """Where the right side comes from, in a word."""
    if condition.of is None:
        return condition.threshold or "value"
    if condition.of not in known and condition.otherwise is not None:
        return condition.otherwise
    return f"{condition.times} of {condition.of}" if condition.times else condition.of


def _constant(condition: Condition) -> Right:
    value = condition.value
    if value == UNLIMITED and METRICS[str(condition.metric)].kind == "limit":
        return Reading.exactly(math.inf)
    if isinstance(value, bool | str | tuple):
        return value
    return None if value is None else Reading.exactly(float(value))


def _other_metric(condition: Condition, thresholds: Thresholds, known: Known) -> Right:
    other = known.get(str(condition.of))
    if isinstance(other, Reading):
        factor = float(thresholds[condition.times].value) if condition.times else 1.0
        return Reading(other.value * factor, other.low * factor, other.high * factor)
    if condition.otherwise is not None:
        return threshold_value(thresholds[condition.otherwise], known)
    return None


def threshold_value(threshold: Threshold, known: Known) -> Reading:
    """A threshold; where it follows from a prediction that is known, that many times the prediction."""
    predicted = known.get(threshold.of) if threshold.of is not None else None
    if isinstance(predicted, Reading) and threshold.times is not None:
        return Reading.exactly(predicted.value * float(threshold.times))
    return Reading.exactly(float(threshold.value))


def _compare(left: Value | None, op: str, right: Right) -> Truth:
    if left is None or right is None:
        return None
    if isinstance(left, Reading) and isinstance(right, Reading):
        return _compare_intervals(left, op, right)
    if op in ("in", "not-in"):
        return (left in right if isinstance(right, tuple) else left == right) is (op == "in")
    return (left == right) is (op == "==")


def _compare_intervals(left: Reading, op: str, right: Reading) -> Truth:
    if op in ("<", "<=", "!="):
        return negated(_compare_intervals(left, NEGATED[op], right))
    if op == "==":
        if left.exact and right.exact and left.low == right.low:
            return True
        return False if left.high < right.low or left.low > right.high else None
    surely = left.low > right.high if op == ">" else left.low >= right.high
    surely_not = left.high <= right.low if op == ">" else left.high < right.low
    return True if surely else False if surely_not else None
