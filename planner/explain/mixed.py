"""The smallest change of several limits together."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.explain.axis import Axis, Value
from planner.explain.box import Box, Corner, Region
from planner.explain.oracle import Oracle
from planner.explain.readable import stated
from planner.explain.smallest import smallest

_NEAR = Fraction(1, 50)
"""With limits that take every value, a sum this near to the smallest is good enough to be made exact."""
_MOST_BOXES = 500


@dataclass(frozen=True)
class Mixed:
    """Several limits moved together."""

    changes: Mapping[str, Value]
    size: Fraction
    """Sum of weight x relative change."""


class MixedSearch:
    """Branch and bound over boxes of changes, the most promising first.

    An infeasible point rules out every tighter one; a feasible one makes every looser one no better. In a
    region with the budget, one question for the optimal cost gives both: the budget that the point needs.
    """

    def __init__(self, oracle: Oracle, regions: Iterable[Region], most_asks: int) -> None:
        """``regions`` in the order of their promise; ``most_asks`` questions at most."""
        self.oracle = oracle
        self.last_ask = oracle.asks + most_asks
        self.best: Mixed | None = None
        self.complete = True
        """The best is proved, within `_NEAR` where limits take every value."""
        self._heap: list[tuple[Fraction, int, Box]] = []
        self._count = 0
        for region in regions:
            self._push(Box(region, region.low, region.high, region.money_low))

    def run(self) -> Mixed | None:
        """The smallest change found; `settled` makes it minimal in every limit."""
        while self._heap and not self._good_enough(self._heap[0][2]):
            if self.oracle.asks >= self.last_ask or self._count > _MOST_BOXES:
                self.complete = False
                break
            self._split(heapq.heappop(self._heap)[2])
        return self.best

    def _good_enough(self, box: Box) -> bool:
        if self.best is None:
            return False
        return box.bound >= self.best.size * (1 - _NEAR if box.region.smooth else 1)

    def _push(self, box: Box) -> None:
        if not self._good_enough(box) and not self._too_dear(box.region, box.money):
            self._count += 1
            heapq.heappush(self._heap, (box.bound, self._count, box))

    def _too_dear(self, region: Region, money: Fraction) -> bool:
        return region.money is not None and not region.money.looser(region.money_below, money)

    def _split(self, box: Box) -> None:
        point = self._point(box)
        feasible, money = self._try(box.region, point)
        if feasible is None:
            self.complete = False
        if feasible:
            self._offer(box, point, money)
        if box.region.money is not None and feasible:
            parts = [*box.within(point, money), *box.not_within(point)]
        elif feasible:
            parts = [*box.not_beyond(point)]
        else:
            parts = [*box.not_within(point)]
        for part in parts:
            self._push(part)

    def _point(self, box: Box) -> Corner:
        """Where to ask: the loose corner first, for where it does not suffice nothing in the box does."""
        if box.fresh:
            return box.low if box.region.corner_first else box.high
        if self.best is None:
            return box.high
        return box.inside((self.best.size + box.bound) / 2 - (box.bound - box.size(box.low)))

    def _try(self, region: Region, point: Corner) -> tuple[bool | None, Fraction]:
        """Whether the point suffices, and the budget that it then needs."""
        changes = _changes(region.axes, point)
        if region.money is None:
            return self.oracle.feasible(changes), Fraction(0)
        name = region.money.limit.id
        if self.oracle.known({**changes, name: None}) is False:
            return False, Fraction(0)
        choice = self.oracle.ask({**changes, name: None}, "value", "cost")
        if choice.status in ("optimal", "feasible"):
            return True, stated(choice.cost_usd_per_h, up=True)
        return (None if choice.status == "unknown" else False), Fraction(0)

    def _offer(self, box: Box, point: Corner, money: Fraction) -> None:
        region = box.region
        changes, size = _changes(region.axes, point), box.size(point)
        if region.money is not None:
            if self._too_dear(region, money):
                return
            changes[region.money.limit.id] = max(money, region.money.today)
            size += region.money.size(money)
        if self.best is None or size < self.best.size:
            self.best = Mixed(changes, size)


def _changes(axes: Sequence[Axis], point: Corner) -> dict[str, Value]:
    return {axis.limit.id: value for axis, value in zip(axes, point, strict=True)}


def settled(oracle: Oracle, axes: Mapping[str, Axis], mixed: Mixed) -> Mixed:
    """No change can be made smaller: each in turn, the largest first and the budget last.

    One round suffices as long as no change becomes larger: what was too little beside looser limits is too
    little beside tighter ones.
    """
    changes = dict(mixed.changes)
    order = sorted(changes, key=lambda name: (_last(axes[name]), -axes[name].size(changes[name]), name))
    for name in order:
        others = {other: value for other, value in changes.items() if other != name}
        found = smallest(oracle, axes[name], others)
        if found is not None and not found.needed:
            changes = others
        elif found is not None and axes[name].looser(changes[name], found.value):
            changes[name] = found.value
    size = sum((axes[name].size(value) for name, value in changes.items()), Fraction(0))
    return Mixed(dict(sorted(changes.items())), size)


def _last(axis: Axis) -> int:
    return {"gpus": 1, "cost": 2}.get(axis.exact_by or "", 0)
