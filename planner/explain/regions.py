"""Which limits may change together, and how far: where the smallest mixed change is looked for."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from planner.explain.axis import Axis, Value
from planner.explain.box import Region
from planner.explain.conflicts import Conflicts
from planner.explain.oracle import Oracle
from planner.explain.smallest import Found, smallest
from planner.schema.reasons import Changes

_MOST_PAIRS = 8
_BESIDE_MONEY = 16
"""Beside a budget so many times the least change of each other limit is looked at."""
_WIDER = 4
"""A set of limits of which each must give is looked for up to so many times the least change of each."""


def pairs(
    axes: Mapping[str, Axis], singles: Mapping[str, Found], conflicts: Conflicts, reach: Fraction
) -> list[Region]:
    """Pairs of limits that may suffice together, neither changing as much as it would have to alone.

    The eight most promising ones: limits that suffice alone or stand in a conflict come first, then those
    whose changes alone are smallest; a limit that does not suffice alone counts as doubled.

    Args:
        axes: limits worth changing, by id.
        singles: the smallest change of each limit that suffices alone.
        conflicts: what cannot hold together.
        reach: share of the change alone that is allowed where every value will do.
    """
    named = {name for conflict in conflicts.sets for name in conflict} | set(singles)

    def promise(pair: tuple[str, str]) -> tuple[int, Fraction, tuple[str, str]]:
        alone = [singles[name].value if name in singles else None for name in pair]
        size = sum((axes[n].size(v) for n, v in zip(pair, alone, strict=True)), Fraction(0))
        return len(set(pair) - named), size, pair

    found: list[Region] = []
    for pair in sorted(itertools.combinations(sorted(axes), 2), key=promise):
        if len(found) < _MOST_PAIRS and _may_suffice(pair, axes, conflicts):
            region = _region([axes[name] for name in pair], singles, reach)
            found += [region] if region is not None else []
    return found


def _may_suffice(names: Sequence[str], axes: Mapping[str, Axis], conflicts: Conflicts) -> bool:
    """They touch every conflict, or something given changes."""
    if any(not axes[name].limit.grantable for name in names):
        return True
    return not conflicts.given and all(set(conflict) & set(names) for conflict in conflicts.sets)


def _region(members: Sequence[Axis], singles: Mapping[str, Found], reach: Fraction) -> Region | None:
    """The changes of several limits below those that suffice alone; None where there are none."""
    money, free = _split(members)
    try:
        low = tuple(axis.first() if axis.form != "switch" else None for axis in free)
        high = tuple(_below(axis, singles.get(axis.limit.id), reach) for axis in free)
    except IndexError:
        return None
    if any(axis.looser(one, other) for axis, one, other in zip(free, low, high, strict=True)):
        return None
    if money is None:
        return Region(free, low, high)
    alone = singles.get(money.limit.id)
    return Region(free, low, high, money, money.today, None if alone is None else alone.value)


def _split(members: Sequence[Axis]) -> tuple[Axis | None, tuple[Axis, ...]]:
    money = next((axis for axis in members if axis.exact_by == "cost"), None)
    return money, tuple(axis for axis in members if axis is not money)


def _below(axis: Axis, alone: Found | None, reach: Fraction) -> Value:
    """How far a limit may change in a mixture.

    Raises:
        IndexError: any change of it suffices alone.
    """
    if axis.form == "switch":
        if alone is not None:
            raise IndexError
        return None
    if alone is None or alone.value is None:
        doubled = axis.at(abs(axis.today) or Fraction(1))
        return doubled if axis.end is None else axis.end
    if axis.form == "smooth":
        return axis.at(axis.distance(alone.value) * reach)
    return axis.before(alone.value)


def all_needed(oracle: Oracle, members: Sequence[Axis]) -> Region | None:
    """A region for limits of which each must change: from what each needs when the others are taken away."""
    needs: dict[str, Value] = {}
    for axis in members:
        found = smallest(oracle, axis, away(other for other in members if other is not axis))
        if found is None or not found.needed:
            return None
        needs[axis.limit.id] = found.value
    money, free = _split(members)
    low = tuple(needs[axis.limit.id] for axis in free)
    high = _wide(oracle, free, low, money)
    if money is None:
        return Region(free, low, high, corner_first=True)
    least = needs[money.limit.id]
    if least is None:
        return None
    return Region(free, low, high, money, least, corner_first=True)


def _wide(
    oracle: Oracle, free: Sequence[Axis], low: tuple[Value, ...], money: Axis | None
) -> tuple[Value, ...]:
    """Values that suffice together: the corner where it does, else the loosest ones or some times as far.

    Beside a budget never the corner alone: what just suffices with all the money may be far from cheap.
    """
    names = [axis.limit.id for axis in free]
    spent: Changes = {} if money is None else {money.limit.id: None}
    first = [1] if money is None else [_BESIDE_MONEY]
    for widths in itertools.chain(first, (_WIDER**n for n in range(1, 7))):
        high = tuple(_widened(axis, value, widths) for axis, value in zip(free, low, strict=True))
        if oracle.feasible({**spent, **dict(zip(names, high, strict=True))}):
            break
    return high


def _widened(axis: Axis, value: Value, widths: int) -> Value:
    if value is None or widths == 1:
        return value
    if axis.end is not None and (axis.form == "steps" or axis.limit.falls):
        return axis.end
    far = axis.at(axis.distance(value) * widths)
    return axis.end if axis.end is not None and axis.looser(far, axis.end) else far


def away(members: Iterable[Axis]) -> dict[str, Value]:
    """The changes that take limits away, as far as they can be."""
    return dict(_gone(axis) for axis in members)


def _gone(axis: Axis) -> tuple[str, Value]:
    return axis.limit.id, axis.end if axis.limit.kind == "demand" else None


def corrections(oracle: Oracle, axes: Mapping[str, Axis], conflicts: Conflicts) -> Iterator[tuple[Axis, ...]]:
    """Sets of limits that suffice together and not without any one: granted ones, else given ones too."""
    if conflicts.corrections or not conflicts.given:
        yield from (tuple(axes[name] for name in names) for names in conflicts.corrections if len(names) > 1)
        return
    kept = dict(axes)
    if not oracle.feasible(away(kept.values())):
        return
    for name in sorted(axes, key=lambda name: (not axes[name].limit.grantable, name)):
        rest = [axis for other, axis in kept.items() if other != name]
        if oracle.feasible(away(rest)):
            del kept[name]
    if len(kept) > 1:
        yield tuple(kept.values())
