"""The losses that the spares of one pool must survive in one period."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from planner.constraints.server_losses import ALONE, Stand, server_losses
from planner.schema.choice import Option, PoolDemand
from planner.schema.fleet import FleetProblem, Placement


def stands_of(problem: FleetProblem) -> dict[str, Stand]:
    """Where replicas stand, by option id, on hosts that are servers; servers of all sites count together."""
    hosts = {host.id: host for host in problem.hosts}
    found = {}
    for option in problem.options:
        host = hosts[option.supply]
        if host.server_gpus is not None:
            size = min(host.room_gpus(option), host.server_gpus)
            found[option.id] = Stand(host.id, size, host.server_gpus)
    return found


def losses(
    demand: PoolDemand,
    placed: Mapping[Placement, int],
    used: Mapping[str, Option],
    stands: Mapping[str, Stand],
) -> Iterator[dict[str, int]]:
    """Replicas lost by option id, largest losses only.

    ``servers``: any replicas that fit into so many servers.
    ``zones``, ``providers``: any n of those in use go, with every replica that stands there; all of them
    where there are no more than n.

    Args:
        demand: of the period.
        placed: replicas of the pool, by option and site.
        used: the options of these replicas.
        stands: on servers, by option id.
    """
    counts = dict.fromkeys(sorted(used), 0)
    for (option, _), count in placed.items():
        counts[option] += count
    spares = demand.spares
    if spares.kind == "per_option":
        yield {option: min(spares.count, count) for option, count in counts.items()}
    elif spares.kind == "servers":
        where = [stands.get(option, ALONE) for option in counts]
        for gone in server_losses(list(counts.values()), where, spares.count):
            yield dict(zip(counts, gone, strict=True))
    elif spares.kind == "replicas":
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
