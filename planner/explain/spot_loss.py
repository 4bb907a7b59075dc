"""Which replicas go when all spot GPUs do: those whose loss takes the least from the workload hit hardest."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.constraints.packing import rooms
from planner.explain.carrying import Carried, Carrying
from planner.explain.fillings import fillings
from planner.schema.choice import Option
from planner.schema.fleet import Site

_MOST_SETS = 256
"""Sets of replicas to keep that are all tried; of more, replicas go one by one."""
Kept = dict[str, int]


@dataclass(frozen=True)
class _Short:
    """One host at one site with fewer GPUs left than its replicas take."""

    counts: Mapping[str, int]
    rooms: Mapping[str, int | Fraction]
    """GPUs that one replica takes."""
    gpus: int
    """Left."""


def worst(carried: tuple[Carried, ...]) -> tuple[Fraction, Fraction]:
    """The share of the workload hit hardest, then that of all requests."""
    whole = sum((one.requests_rps for one in carried), Fraction(0))
    if not whole:
        return Fraction(1), Fraction(1)
    over_all = sum((one.share * one.requests_rps for one in carried), Fraction(0)) / whole
    return min(one.share for one in carried), over_all


def spot_loss(fleet: Carrying, period: int) -> tuple[Kept, bool]:
    """Replicas lost by option when the GPUs of all spot lines vanish; and whether fewer could not be lost.

    What stays of a host at a site holds any replicas whose rooms (`planner.constraints.packing.rooms`) it has
    GPUs for. Where there are few ways to choose, all are tried; else the replica goes whose pool has most
    left, one by one.
    GPUs held in reserve on other lines may be used.
    """
    short = _short_places(fleet, period)
    if not short:
        return {}, True
    ways = [found for place in short if (found := _ways(place)) is not None]
    if len(ways) < len(short) or math.prod(map(len, ways)) > _MOST_SETS:
        lost = _one_by_one(fleet, period, short)
        return lost, worst(fleet.carried(period, _left(fleet, period, lost)))[0] == 1
    sets = [_lost(short, kept) for kept in itertools.product(*ways)]
    return max(sets, key=lambda lost: worst(fleet.carried(period, _left(fleet, period, lost)))), True


def _lost(short: Sequence[_Short], kept: Sequence[Kept]) -> Kept:
    lost: dict[str, int] = defaultdict(int)
    for place, stays in zip(short, kept, strict=True):
        for name, count in place.counts.items():
            lost[name] += count - stays.get(name, 0)
    return {name: count for name, count in lost.items() if count}


def _left(fleet: Carrying, period: int, lost: Mapping[str, int]) -> dict[str, int]:
    return {name: count - lost.get(name, 0) for name, count in fleet.counts(period).items()}


def _short_places(fleet: Carrying, period: int) -> list[_Short]:
    chosen = fleet.choice.periods[period]
    room = rooms(fleet.problem)
    gpus: dict[tuple[str, Site], int] = defaultdict(int)
    for line in fleet.problem.lines:
        if line.term != "spot":
            gpus[line.host, line.site] += chosen.bought.get(line.id, 0)
    placed: dict[tuple[str, Site], dict[str, int]] = defaultdict(dict)
    for (name, site), count in sorted(chosen.counts.items()):
        if count:
            placed[fleet.options[name].supply, site][name] = count
    found = []
    for (host, site), counts in placed.items():
        mine = {name: room[name] for name in counts}
        if sum(mine[name] * count for name, count in counts.items()) > gpus[host, site]:
            found.append(_Short(counts, mine, gpus[host, site]))
    return found


def _ways(place: _Short) -> list[Kept] | None:
    """Largest sets to keep; None where there are too many to look at."""
    if math.prod(count + 1 for count in place.counts.values()) > 100 * _MOST_SETS:
        return None
    most = {n: min(count, int(place.gpus // place.rooms[n])) for n, count in place.counts.items()}
    ways = list(itertools.islice(fillings(most, place.rooms, place.gpus), _MOST_SETS + 1))
    return ways if len(ways) <= _MOST_SETS else None


def _one_by_one(fleet: Carrying, period: int, short: list[_Short]) -> Kept:
    """The replica goes whose pool carries most without it; of equals the one with more GPUs."""
    weights: dict[str, Fraction] = {}
    score: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    counts = fleet.counts(period)
    for demand, _ in fleet.pools(period):
        for name, weight in fleet.weights(demand, period).items():
            weights[name] = weight
            score[demand.pool] += weight * counts[name]
    lost: dict[str, int] = defaultdict(int)
    for place in short:
        left = dict(place.counts)
        over = sum(place.rooms[name] * count for name, count in left.items()) - place.gpus
        while over > 0:
            ranks = {
                name: (*_after(score, weights, fleet.options[name]), place.rooms[name], name)
                for name, count in left.items()
                if count
            }
            gone = max(ranks, key=ranks.__getitem__)
            score[fleet.options[gone].pool] -= weights.get(gone, Fraction(0))
            left[gone] -= 1
            lost[gone] += 1
            over -= place.rooms[gone]
    return dict(lost)


def _after(
    score: Mapping[tuple[str, str], Fraction], weights: Mapping[str, Fraction], option: Option
) -> tuple[bool, Fraction]:
    """Whether nobody asks for the pool, else what it carries without one replica."""
    if option.id not in weights:
        return True, Fraction(0)
    return False, score.get(option.pool, Fraction(0)) - weights[option.id]
