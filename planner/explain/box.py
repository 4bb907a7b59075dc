"""Boxes of changes: from a corner that may suffice to one that is looser in every limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

from planner.explain.axis import Axis, Value
from planner.explain.readable import readable

Corner = tuple[Value, ...]


@dataclass(frozen=True)
class Region:
    """Limits that change together, and how far each may."""

    axes: tuple[Axis, ...]
    low: Corner
    high: Corner
    money: Axis | None = None
    """The budget, where it changes too: what it has to be follows from the others."""
    money_low: Fraction = Fraction(0)
    money_below: Value = None
    """The budget that suffices alone: no mixture reaches it."""
    corner_first: bool = False
    """The tight corner is likely to suffice."""

    @property
    def smooth(self) -> bool:
        """Some limit may take every value: the optimum is approached only."""
        return any(axis.form == "smooth" for axis in self.axes)


@dataclass(frozen=True)
class Box:
    """Part of a region that may hold the smallest change."""

    region: Region
    low: Corner
    high: Corner
    money: Fraction
    """The least the budget has to be."""
    fresh: bool = True
    """Nothing has been tried in it."""

    @property
    def bound(self) -> Fraction:
        """No change in the box is smaller."""
        money = self.region.money
        return self.size(self.low) + (money.size(self.money) if money is not None else 0)

    def size(self, corner: Corner) -> Fraction:
        """Size of a change, that of the budget aside."""
        return sum((a.size(v) for a, v in zip(self.region.axes, corner, strict=True)), Fraction(0))

    def inside(self, target: Fraction) -> Corner:
        """A point of about that size, at most half-way between the corners."""
        low, high = self.size(self.low), self.size(self.high)
        part = min(Fraction(1, 2), (target - low) / (high - low)) if high > low else Fraction(0)
        rows = zip(self.region.axes, self.low, self.high, strict=True)
        return tuple(_between(axis, one, other, part) for axis, one, other in rows)

    def not_within(self, point: Corner) -> Iterator[Box]:
        """The parts in which some limit is looser than at the point."""
        low, high = list(self.low), list(self.high)
        for place in self._widest_first():
            axis = self.region.axes[place]
            with suppress(IndexError):
                beyond = axis.beyond(point[place])
                if _room(axis, beyond, high[place]):
                    yield self._part((*low[:place], beyond, *low[place + 1 :]), high)
            high[place] = point[place]

    def not_beyond(self, point: Corner) -> Iterator[Box]:
        """The parts in which some limit is tighter than at the point."""
        low, high = list(self.low), list(self.high)
        for place in self._widest_first():
            axis = self.region.axes[place]
            with suppress(IndexError):
                before = axis.before(point[place])
                if _room(axis, low[place], before):
                    yield self._part(low, (*high[:place], before, *high[place + 1 :]))
            low[place] = point[place]

    def _widest_first(self) -> list[int]:
        """The first part keeps the others' whole range: cutting the widest limit makes most of the cut."""
        rows = zip(self.region.axes, self.low, self.high, strict=True)
        widths = [axis.size(high) - axis.size(low) for axis, low, high in rows]
        return sorted(range(len(widths)), key=lambda place: (-widths[place], place))

    def within(self, point: Corner, money: Fraction) -> Iterator[Box]:
        """The part up to the point, where the budget has to be at least ``money``."""
        if point != self.low:
            yield replace(self, high=point, money=max(self.money, money), fresh=False)

    def _part(self, low: Sequence[Value], high: Sequence[Value]) -> Box:
        return replace(self, low=tuple(low), high=tuple(high), fresh=False)


def _room(axis: Axis, low: Value, high: Value) -> bool:
    return axis.looser(high, low) or (axis.form != "smooth" and low == high)


def _between(axis: Axis, low: Value, high: Value, part: Fraction) -> Value:
    """A value that part of the way: short to read, or the loosest attainable one up to there."""
    if low is None or high is None or low == high or part == 0:
        return low
    start, width = axis.distance(low), axis.distance(high) - axis.distance(low)
    reached = start + part * width
    if axis.form == "smooth":
        return readable(*sorted((axis.at(start + part * width * Fraction(3, 4)), axis.at(reached))))
    stops = axis.stops(low, axis.at(reached))
    inside = [stop for stop in stops[-2:] if stop <= reached]
    return axis.at(inside[-1]) if inside else low
