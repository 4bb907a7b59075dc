"""Options that no plan needs: copies of another one on the same host do as well."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
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
    rates = {option.id: np.array([float(rate) for rate in option.rates_rps]) for option in options}
    order = sorted(options, key=lambda o: (room[o.id], -float(rates[o.id].sum()), o.power_w, o.id))
    kept: dict[str, list[Option]] = defaultdict(list)
    for option in order:
        mine = rates[option.id] * (1 - 1e-9)
        for other in kept[option.supply]:
            copies = room[option.id] // room[other.id]
            near = copies >= 1 and bool(np.all(copies * rates[other.id] >= mine))
            if near and _replaces(other, option, copies, weights, counted=counted):
                break
        else:
            kept[option.supply].append(option)
    left = {option.id for group in kept.values() for option in group}
    return [option for option in options if option.id in left]


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
