"""The losses that the spares of one pool must survive in one period."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from planner.schema.choice import Option, PoolDemand
from planner.schema.fleet import Placement


def losses(
    demand: PoolDemand, placed: Mapping[Placement, int], used: Mapping[str, Option]
) -> Iterator[dict[str, int]]:
    """Replicas lost by option id, largest losses only.

    ``servers``: a server is one replica (replicas that share servers are refused before any search).
    ``zones``, ``providers``: any n of those in use go, with every replica that stands there; all of them
    where there are no more than n.

    Args:
        demand: of the period.
        placed: replicas of the pool, by option and site.
        used: the options of these replicas.
    """
    counts = dict.fromkeys(sorted(used), 0)
    for (option, _), count in placed.items():
        counts[option] += count
    spares = demand.spares
    if spares.kind == "per_option":
        yield {option: min(spares.count, count) for option, count in counts.items()}
    elif spares.kind in ("replicas", "servers"):
        yield from _any_of(list(counts.items()), min(spares.count, sum(counts.values())))
    else:
        yield from _parts_lost(demand, placed)


def _any_of(counts: Sequence[tuple[str, int]], lost: int) -> Iterator[dict[str, int]]:
    """Every way to lose so many replicas."""
    if not counts or lost == 0:
        yield {}
        return
    (option, count), rest = counts[0], counts[1:]
    room = sum(other for _, other in rest)
    for here in range(max(0, lost - room), min(lost, count) + 1):
        for others in _any_of(rest, lost - here):
            yield {option: here, **others} if here else others


def _parts_lost(demand: PoolDemand, placed: Mapping[Placement, int]) -> Iterator[dict[str, int]]:
    stands: dict[tuple[str, ...], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for (option, site), count in placed.items():
        stands[site.part(demand.spares.kind)][option] += count
    for gone in itertools.combinations(sorted(stands), min(demand.spares.count, len(stands))):
        lost: dict[str, int] = defaultdict(int)
        for place in gone:
            for option, count in stands[place].items():
                lost[option] += count
        yield dict(lost)
