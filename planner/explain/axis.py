"""One limit as something to loosen: which values it may take, and how large a change is."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from planner.explain.oracle import loosest
from planner.schema.reasons import NamedLimit

Value = Fraction | None
"""None: taken away."""

_LEAST_DEMAND = Fraction(1, 1000)
"""Less than this share of the demand is another task."""
_AWAY = Fraction(1000)
"""How large a change it is to take a value away altogether: larger than any that is shown as a value."""


@dataclass(frozen=True)
class Axis:
    """One limit and the values looser than today's."""

    limit: NamedLimit
    weight: Fraction = Fraction(1)
    """What a relative change of one counts."""

    @property
    def form(self) -> Literal["switch", "steps", "whole", "smooth"]:
        """On or off, some values, every whole value, every value."""
        if self.limit.value is None:
            return "switch"
        if self.limit.values:
            return "steps"
        return "whole" if self.limit.whole else "smooth"

    @property
    def exact_by(self) -> str | None:
        """The objective whose optimum without the limit is its smallest sufficient value."""
        if self.limit.per_period:
            return None
        if self.limit.kind == "budget" and self.limit.unit == "USD/h":
            return "cost"
        return "gpus" if self.limit.kind == "max-gpus" else None

    @property
    def today(self) -> Fraction:
        """The value that stands."""
        assert self.limit.value is not None
        return self.limit.value

    def distance(self, value: Fraction) -> Fraction:
        """How far a value is looser than today's, in the unit of the limit."""
        return self.today - value if self.limit.falls else value - self.today

    def at(self, distance: Fraction | int) -> Fraction:
        """The value that far from today's."""
        return self.today - distance if self.limit.falls else self.today + distance

    def size(self, value: Value) -> Fraction:
        """Weight x relative change; turning a yes or no off counts as doubling, a limit of zero as one unit.

        Demand counts by how many times larger today's is: half of it is as far as twice any other limit.
        """
        if value is None:
            return self.weight * (1 if self.form == "switch" else _AWAY)
        of = value if self.limit.kind == "demand" else self.today
        return self.weight * max(Fraction(0), self.distance(value)) / (abs(of) or 1)

    @cached_property
    def end(self) -> Fraction | None:
        """The loosest value worth trying; None: there is none."""
        end = loosest(self.limit)
        if self.limit.kind == "demand":
            return max(end or Fraction(0), self.today * _LEAST_DEMAND)
        return Fraction(0) if end is None and self.limit.falls else end

    @cached_property
    def _stops(self) -> tuple[Fraction, ...]:
        """Distances of the values of ``steps``, ascending."""
        return tuple(sorted(d for value in self.limit.values if (d := self.distance(value)) > 0))

    def stops(self, above: Fraction, to: Fraction) -> Sequence[Fraction | int]:
        """Distances of the values above one and up to another, ascending; only for steps and whole values."""
        low, high = self.distance(above), self.distance(to)
        if self.form == "whole":
            return range(math.floor(low) + 1, math.ceil(high) + 1)
        return self._stops[bisect_right(self._stops, low) : bisect_right(self._stops, high)]

    def first(self) -> Value:
        """The tightest value looser than today's; where every value will do, today's."""
        return self.beyond(self.today)

    def beyond(self, value: Value) -> Value:
        """The next looser value; the value itself where every value will do.

        Raises:
            IndexError: there is none.
        """
        if self.form == "switch" or value is None:
            raise IndexError
        if self.form == "smooth":
            return value
        distance = self.distance(value)
        if self.form == "steps":
            return self.at(self._stops[bisect_right(self._stops, distance)])
        following = Fraction(math.floor(distance) + 1)
        if self.end is not None and following > self.distance(self.end):
            raise IndexError
        return self.at(following)

    def before(self, value: Value) -> Value:
        """The next tighter value, today's at the tightest; the value itself where every value will do.

        Raises:
            IndexError: there is none.
        """
        if self.form == "switch" or value is None:
            raise IndexError
        if self.form == "smooth":
            return value
        distance = self.distance(value)
        if distance <= 0:
            raise IndexError
        if self.form == "steps":
            place = bisect_left(self._stops, distance)
            return self.at(self._stops[place - 1]) if place else self.today
        return self.at(Fraction(math.ceil(distance) - 1))

    def looser(self, one: Value, other: Value) -> bool:
        """The first value is strictly looser than the second."""
        if other is None:
            return False
        return one is None or self.distance(one) > self.distance(other)


def axes_of(limits: Mapping[str, NamedLimit], weights: Mapping[str, Fraction] | None) -> dict[str, Axis]:
    """An axis for every limit, by id."""
    return {name: Axis(limit, (weights or {}).get(name, Fraction(1))) for name, limit in limits.items()}
