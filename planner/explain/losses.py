"""Everything that may be lost from a fleet in one period, and the replicas that go with it."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from planner.explain.carrying import Carrying
from planner.explain.fillings import fillings
from planner.explain.spot_loss import spot_loss
from planner.schema.fleet import PeriodChoice, Site
from planner.schema.fleet_answers import LossKind

_MOST_PATTERNS = 200
"""Fillings of one server that are tried; of more, all their replicas are taken for lost at once."""


@dataclass(frozen=True)
class Loss:
    """One loss in one period."""

    kind: LossKind
    name: str
    period: int
    gpus: int
    """Idle ones included."""
    replicas: Mapping[str, int]
    """Lost, by option."""
    exact: bool = True
    """False: as many replicas or fewer are lost."""


def losses(fleet: Carrying, period: int) -> Iterator[Loss]:
    """Every loss in one period, the largest of its kind only."""
    yield from _replicas(fleet, period)
    yield from _servers(fleet, period)
    yield from _spot(fleet, period)
    yield from _places(fleet, period)
    if any(share.option in {api.id for api in fleet.problem.apis} for share in _chosen(fleet, period).shares):
        yield Loss("supplier", "outside supplier", period, 0, {})


def _chosen(fleet: Carrying, period: int) -> PeriodChoice:
    return fleet.choice.periods[period]


def _replicas(fleet: Carrying, period: int) -> Iterator[Loss]:
    for name in fleet.counts(period):
        option = fleet.options[name]
        yield Loss("replica", "/".join(option.pool), period, option.gpus, {name: 1})


# -- servers ------------------------------------------------------------------------------------------------


def _servers(fleet: Carrying, period: int) -> Iterator[Loss]:
    """A server full of replicas of one pool: a mixed one takes less from each of its workloads.

    In the same way a GPU that is full of slices of one pool.
    """
    hosts = {host.id: host for host in fleet.problem.hosts}
    placed: dict[tuple[str, Site, tuple[str, str]], dict[str, int]] = defaultdict(dict)
    for (name, site), count in sorted(_chosen(fleet, period).counts.items()):
        option = fleet.options[name]
        if count:
            placed[option.supply, site, option.pool][name] = count
    for (host, _, pool), counts in placed.items():
        rooms = {option: hosts[host].room_gpus(fleet.options[option]) for option in counts}
        whole = Loss("gpu", "/".join(pool), period, 1, {})
        yield from _one_box({o: n for o, n in counts.items() if rooms[o] < 1}, rooms, whole)
        if (server := hosts[host].server_gpus) is not None:
            yield from _one_box(counts, rooms, Loss("server", "/".join(pool), period, server, {}))


def _one_box(counts: Mapping[str, int], rooms: Mapping[str, int | Fraction], box: Loss) -> Iterator[Loss]:
    """Every filling of one server or GPU, as a loss like ``box``."""
    small = {option: rooms[option] for option in counts if rooms[option] < box.gpus}
    for option in counts:
        if option not in small:
            yield replace(box, replicas={option: 1})
    if not small:
        return
    most = {option: min(counts[option], int(box.gpus // room)) for option, room in small.items()}
    patterns = list(itertools.islice(fillings(most, small, box.gpus), _MOST_PATTERNS + 1))
    if len(patterns) > _MOST_PATTERNS:
        yield replace(box, replicas=most, exact=False)
        return
    for pattern in patterns:
        yield replace(box, replicas=pattern)


# -- spot and places ----------------------------------------------------------------------------------------


def _spot(fleet: Carrying, period: int) -> Iterator[Loss]:
    bought = _chosen(fleet, period).bought
    gpus = sum(bought.get(line.id, 0) for line in fleet.problem.lines if line.term == "spot")
    if gpus:
        lost, exact = spot_loss(fleet, period)
        yield Loss("spot", "all spot GPUs", period, gpus, lost, exact)


def _places(fleet: Carrying, period: int) -> Iterator[Loss]:
    """Each zone, each region and each provider by its name; what nobody named cannot be lost apart."""
    chosen = _chosen(fleet, period)
    gpus: dict[Site, int] = defaultdict(int)
    for line in fleet.problem.lines:
        gpus[line.site] += chosen.bought.get(line.id, 0)
    kinds: tuple[tuple[LossKind, int], ...] = (("zone", 3), ("region", 2), ("provider", 1))
    for kind, length in kinds:
        parts = sorted({_parts(site)[:length] for site in gpus if _parts(site)[length - 1]})
        for part in parts:
            hit = {site for site in gpus if _parts(site)[:length] == part}
            lost: dict[str, int] = defaultdict(int)
            for (name, site), count in chosen.counts.items():
                if site in hit and count:
                    lost[name] += count
            total = sum(gpus[site] for site in hit)
            if total or lost:
                yield Loss(kind, "/".join(word for word in part if word), period, total, dict(lost))


def _parts(site: Site) -> tuple[str, str, str]:
    return (site.provider, site.region, site.zone)
