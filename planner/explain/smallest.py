"""The smallest change of one limit that suffices, other changes given."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction

from planner.explain.axis import Axis, Value
from planner.explain.oracle import Oracle
from planner.explain.readable import readable, stated
from planner.schema.reasons import Changes

_OF_CHANGE = Fraction(9, 1000)
_OF_VALUE = Fraction(5, 1000)
_FAR = 4
"""Beyond this ratio between what suffices and what does not, their geometric middle is tried."""
_MOST_STEPS = 6
"""A limit that takes every value is tried up to 4^5 times as large as today, then only taken away."""
_MOST_TRIES = 64


@dataclass(frozen=True)
class Found:
    """A value that suffices."""

    value: Value
    needed: bool = True
    """False: today's value suffices."""
    proved: bool = True
    """No smaller change suffices; False where a limit of time left that open."""


def smallest(oracle: Oracle, axis: Axis, others: Changes) -> Found | None:
    """The smallest change of one limit that suffices beside other changes; None where none does.

    Exact for limits that are on or off, whole or have steps, and for budget (optimal cost without it) and
    number of GPUs (fewest GPUs without it): one question each, log2(values) for the others. Else within 0.5 %
    of the value and 0.9 % of the change, on the safe side and short to read: about eight questions, and one
    more for every factor of four between the first guess and the answer. Taken away where no value up to a
    thousand times today's suffices.
    """
    name = axis.limit.id
    if oracle.feasible(others):
        return Found(axis.limit.value, needed=False)
    if axis.form == "switch":
        return Found(None) if oracle.feasible({**others, name: None}) else None
    if axis.exact_by is not None:
        found = _optimum(oracle, axis, others)
        if found is None or oracle.feasible({**others, name: found.value}):
            return found
    search = _Search(oracle, axis, others)
    if search.reach():
        return search.on_stops() if axis.form in ("steps", "whole") else search.anywhere()
    return Found(None, proved=search.proved) if oracle.known({**others, name: None}) else None


def _optimum(oracle: Oracle, axis: Axis, others: Changes) -> Found | None:
    """The optimum without the limit is the limit that just suffices."""
    choice = oracle.ask({**others, axis.limit.id: None}, "value", axis.exact_by)
    if choice.status not in ("optimal", "feasible"):
        return None
    gpus = Fraction(sum(choice.gpus.values()))
    value = gpus if axis.exact_by == "gpus" else stated(choice.cost_usd_per_h, up=True)
    return Found(value, proved=choice.status == "optimal")


class _Search:
    """The loosest value that does not suffice and the tightest that does."""

    def __init__(self, oracle: Oracle, axis: Axis, others: Changes) -> None:
        self.oracle, self.axis, self.others = oracle, axis, others
        self.low: Fraction = axis.today
        self.high: Fraction = axis.today
        """Today's value until one is known that suffices."""
        self.proved = True

    def reach(self) -> bool:
        """Set `high` to a value that suffices."""
        removable = self.axis.limit.kind != "demand"
        if removable and self.oracle.feasible({**self.others, self.axis.limit.id: None}) is False:
            return False
        self._recall()
        if self.high != self.axis.today:
            return True
        if self.axis.end is not None:
            return self.axis.end != self.axis.today and self._try(self.axis.end)
        distance = abs(self.axis.today) or Fraction(1)
        for _ in range(_MOST_STEPS):
            if self._try(self.axis.at(distance)):
                return True
            distance *= _FAR
        return False

    def _recall(self) -> None:
        """What earlier questions showed."""
        low, high = self.oracle.bracket(self.axis.limit.id, self.others)
        if low is not None and self.axis.looser(low, self.low):
            self.low = low
        known = self.high != self.axis.today
        if high is not None and self.axis.looser(self.high if known else high, high if known else self.low):
            self.high = high

    def _try(self, value: Fraction) -> bool:
        answer = self.oracle.feasible({**self.others, self.axis.limit.id: value})
        if answer:
            self.high = value
            self._recall()
        else:
            self.low = value
            self.proved = self.proved and answer is False
        return bool(answer)

    def on_stops(self) -> Found:
        """The tightest of the attainable values that suffices."""
        stops = self.axis.stops(self.low, self.high)
        low, high = 0, len(stops) - 1
        while low < high:
            middle = (low + high) // 2
            if self._try(self.axis.at(stops[middle])):
                high = min(middle, bisect_left(stops, self.axis.distance(self.high)))
            else:
                low = middle + 1
        return Found(self.axis.at(stops[high]), proved=self.proved)

    def anywhere(self) -> Found:
        """A readable value within the tolerance of the tightest one that suffices."""
        for _ in range(_MOST_TRIES):
            if self.axis.distance(self.high) - self.axis.distance(self.low) <= self._tolerance():
                break
            self._try(self._middle())
        safe = self.axis.at(self.axis.distance(self.low) + self._tolerance())
        if self.axis.looser(self.high, safe):
            safe = self.high
        if self.axis.end is not None and self.axis.looser(safe, self.axis.end):
            safe = self.axis.end
        if safe == self.high:
            return Found(stated(safe, up=not self.axis.limit.falls), proved=self.proved)
        return Found(readable(*sorted((self.high, safe))), proved=self.proved)

    def _tolerance(self) -> Fraction:
        """How far above the largest insufficient value the answer may be."""
        distance = self.axis.distance(self.high)
        parts = [_OF_CHANGE * distance]
        if self.high:
            parts.append(_OF_VALUE * abs(self.high))
        return min(parts)

    def _middle(self) -> Fraction:
        """A readable value between what does not suffice and what does."""
        low, high = self.axis.distance(self.low), self.axis.distance(self.high)
        ends = sorted((self.low, self.high))
        if self.axis.limit.falls and 0 < ends[0] * _FAR < ends[1]:
            center = self.axis.distance(_geometric(*ends))
        elif low == 0:
            center = high / _FAR
        else:
            center = _geometric(low, high) if low * _FAR < high else (low + high) / 2
        radius = min(center - low, high - center) / 2
        return readable(*sorted((self.axis.at(center - radius), self.axis.at(center + radius))))


def _geometric(one: Fraction, other: Fraction) -> Fraction:
    return Fraction(math.sqrt(one * other))
