"""Options that no plan needs: copies of another one on the same host do as well."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from planner.schema.choice import Option
from planner.schema.fleet import FleetProblem
from planner.solver.bounds import counted_weights


def undominated(
    options: Sequence[Option], problem: FleetProblem, room: Mapping[str, int | Fraction]
) -> Iterable[Option]:
    """Options that no copies of another one on the same host replace, in the order of their ids.

    ``k`` copies of a smaller one take no more room, carry as much on every bucket and wait no longer. After
    a loss they keep as much too: a lost copy is a part of what the lost replica was.

    Args:
        options: of one pool.
        problem: what is asked.
        room: GPUs that a replica takes, by option id.
    """
    weights = counted_weights(problem, options)
    counted = any(option.counted for option in options)
    total = {option.id: sum(map(float, option.rates_rps)) for option in options}
    order = sorted(options, key=lambda o: (room[o.id], -total[o.id], o.power_w, o.id))
    groups: dict[tuple[str, str], list[Option]] = defaultdict(list)
    for option in order:
        groups[option.supply, option.place].append(option)
    left: set[str] = set()
    for group in groups.values():
        kept: list[Option] = []
        for option, near in _with_near(group, kept, room):
            copies = (room[option.id] // room[other.id] for other in near)
            pairs = zip(near, copies, strict=True)
            if not any(_replaces(other, option, most, weights, counted=counted) for other, most in pairs):
                kept.append(option)
        left |= {option.id for option in kept}
    return [option for option in options if option.id in left]


def _with_near(
    group: Sequence[Option], kept: Sequence[Option], room: Mapping[str, int | Fraction]
) -> Iterator[tuple[Option, list[Option]]]:
    """Each option with those ``kept`` by then of which copies may do for it, by floats."""
    rates = np.array([[float(rate) for rate in option.rates_rps] for option in group])
    rooms = np.array([float(room[option.id]) for option in group])
    # None waits no time for whoever has it, and is all that may replace None.
    waits = np.array([[_wait_s(option.ttft_s), _wait_s(option.transfer_s)] for option in group])
    row = {option.id: number for number, option in enumerate(group)}
    for number, option in enumerate(group):
        before = [row[other.id] for other in kept]
        copies = np.floor(rooms[number] / rooms[before] * (1 + 1e-9))
        near = (copies[:, None] * rates[before] >= rates[number] * (1 - 1e-9)).all(axis=1) & (copies >= 1)
        near &= ((waits[before] < 0) | (waits[before] <= waits[number] * (1 + 1e-9))).all(axis=1)
        yield option, [group[before[one]] for one in np.flatnonzero(near)]


def _wait_s(stated_s: Fraction | None) -> float:
    return -1.0 if stated_s is None else float(stated_s)


def _replaces(
    mine: Option,
    other: Option,
    copies: int,
    weights: Mapping[str, Sequence[Fraction]],
    *,
    counted: bool,
) -> bool:
    if counted:
        widest = mine.replicas_to is None or (
            other.replicas_to is not None and mine.replicas_to >= other.replicas_to
        )
        if copies != 1 or mine.replicas_from > other.replicas_from or not widest:
            return False
    waits = ((mine.ttft_s, other.ttft_s), (mine.transfer_s, other.transfer_s))
    return (
        (mine.gpu, mine.place) == (other.gpu, other.place)
        and _counts_no_more(weights.get(mine.id, ()), weights.get(other.id, ()), copies)
        and (mine.kv is None or mine.kv == other.kv)
        and all(a is None or (b is not None and a <= b) for a, b in waits)
        and all(copies * a >= b for a, b in zip(mine.rates_rps, other.rates_rps, strict=True))
    )


def _counts_no_more(mine: Sequence[Fraction], other: Sequence[Fraction], copies: int) -> bool:
    """For every limit on replicas, at every site: options compared here have the same place and pool."""
    return all(copies * a <= b for a, b in zip(mine, other, strict=True))
