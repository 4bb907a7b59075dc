"""Rows of prefill and decode at several places: each place decodes what it prefills, after every loss.

sum_p s_pb = q_b           parts of the buckets by place, chosen anew for every loss
shares of both pools at p carry s_pb
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from planner.solver.mip.mip import Model
from planner.solver.mip.pool_rows import PoolWriter, Served, Terms

_Left = list[dict[int, Terms]]
"""By pool: replicas by option."""


def write_places(writers: Sequence[PoolWriter], served: Mapping[int, Served]) -> None:
    """The shares of the pools of one workload and period, for every loss that their spares must survive.

    Args:
        writers: of the pools, with their replicas written.
        served: the part of every bucket that they serve.
    """
    spared = [writer for writer in writers if writer.pool.spares_of("replicas", "servers")]
    if spared and len(served) == 1:
        (bucket,) = served
        for writer in spared:
            _OneBucket(writers, served[bucket], bucket).survives(writer)
        if all(writer in spared or not writer.pool.spares for writer in writers):
            return
    for hit, left in _losses(writers):
        if writers[hit] not in spared or len(served) > 1:
            _write(writers, served, hit, left)


class _OneBucket:
    """Rows of one bucket, in which a place carries the sum of what its replicas carry.

    s_p need <= cap_p - D_p,k   for every way in which the lost replicas may lie over the places
    D_p,k >= sum of the rates of any k replicas at p that are in use

    Every loss by itself would take shares of all options: of one replica rows by the square of these.
    """

    def __init__(self, writers: Sequence[PoolWriter], whole: Served, bucket: int) -> None:
        self.writers, self.whole, self.bucket = writers, whole, bucket
        self.model: Model = writers[0].model
        self.places = sorted({option.place for writer in writers for option in writer.pool.options})
        self.capacity = [{place: self._carried(writer, place) for place in self.places} for writer in writers]

    def _options(self, writer: PoolWriter, place: str) -> list[int]:
        return [option for option in writer.of_option if writer.pool.options[option].place == place]

    def _carried(self, writer: PoolWriter, place: str) -> int:
        """Column: what all replicas of a pool at a place carry."""
        column = self.model.column(0, math.inf)
        terms = [
            (replica, amount * writer.pool.rates_f[option, self.bucket])
            for option in self._options(writer, place)
            for replica, amount in writer.of_option[option]
        ]
        self.model.row([(column, 1.0), *((at, -amount) for at, amount in terms)], upper=0)
        return column

    def _lost(self, hit: PoolWriter, place: str, count: int) -> int | None:
        """Column: the most that so many replicas at a place carry; None for none."""
        options = self._options(hit, place)
        if not count or not options:
            return None
        column = self.model.column(0, math.inf)
        for gone in itertools.combinations_with_replacement(options, count):
            carried: dict[int, float] = defaultdict(float)
            for option in set(gone):
                for number in range(gone.count(option)):
                    rate = hit.pool.rates_f[option, self.bucket]
                    carried[hit.at_least(option, number + 1)] += rate
            self.model.row([(column, -1.0), *carried.items()], upper=0)
        return column

    def survives(self, hit: PoolWriter) -> None:
        """Whatever replicas of one pool are lost, every place decodes what it prefills."""
        lost = hit.pool.spares_of("replicas", "servers")
        most = float(hit.level)
        losses = {
            (place, count): self._lost(hit, place, count)
            for place in self.places
            for count in range(lost + 1)
        }
        for gone in itertools.combinations_with_replacement(self.places, lost):
            parts = {place: self.model.column(0, most) for place in self.places}
            given = [(column, -entry) for column, entry in self.whole.terms]
            shares = [(column, 1.0) for column in parts.values()]
            self.model.row([*shares, *given], self.whole.constant, self.whole.constant)
            for writer, capacity in zip(self.writers, self.capacity, strict=True):
                need = writer.pool.demand_f[writer.period][self.bucket]
                for place, part in parts.items():
                    missing = losses[place, gone.count(place)] if writer is hit else None
                    less = [] if missing is None else [(missing, 1.0)]
                    self.model.row([(part, need), (capacity[place], -1.0), *less], upper=0)


def _losses(writers: Sequence[PoolWriter]) -> Iterator[tuple[int, _Left]]:
    """The pool that is hit and what is left after every loss; with nothing to lose that is all."""
    whole: _Left = [dict(writer.of_option) for writer in writers]
    lossless = True
    for number, writer in enumerate(writers):
        lost = writer.pool.spares_of("replicas", "servers")
        if lost and writer.of_option:
            lossless = False
            for gone in itertools.combinations_with_replacement(writer.of_option, lost):
                yield number, [*whole[:number], writer.without(gone), *whole[number + 1 :]]
        elif writer.pool.spares_of("zones", "providers"):
            lossless = False
            yield from ((number, left) for left in _parts(writers, writer))
        elif writer.pool.spares:
            lossless = False
            yield number, whole
    if lossless:
        yield 0, whole


def _parts(writers: Sequence[PoolWriter], hit: PoolWriter) -> Iterator[_Left]:
    """The loss of as many zones or providers as may go, with all replicas that stand there."""
    kind = hit.pool.demand.spares.kind
    parts = sorted({place.site.part(kind) for writer in writers for place in writer.pool.places})
    for gone in itertools.combinations(parts, min(hit.pool.spares, len(parts))):
        found: _Left = []
        for writer in writers:
            left: dict[int, Terms] = {}
            for index, place in enumerate(writer.pool.places):
                column = writer.block.counts.get((writer.period, writer.number, index))
                if column is not None and place.site.part(kind) not in gone:
                    left.setdefault(place.option, []).append((column, 1.0))
            found.append(left)
        yield found


def _write(writers: Sequence[PoolWriter], served: Mapping[int, Served], hit: int, left: _Left) -> None:
    model: Model = writers[0].model
    places = sorted({option.place for writer in writers for option in writer.pool.options})
    most = float(writers[0].level)
    parts: dict[str, dict[int, Served]] = {place: {} for place in places}
    for b, whole in served.items():
        columns = [model.column(0, most) for _ in places]
        for place, column in zip(places, columns, strict=True):
            parts[place][b] = Served([(column, 1.0)], 0.0)
        given = [(column, -entry) for column, entry in whole.terms]
        model.row([*((column, 1.0) for column in columns), *given], whole.constant, whole.constant)
    for number, (writer, mine) in enumerate(zip(writers, left, strict=True)):
        for place in places:
            here = {o: terms for o, terms in mine.items() if writer.pool.options[o].place == place}
            writer.shares(parts[place], here, spared=number == hit)
