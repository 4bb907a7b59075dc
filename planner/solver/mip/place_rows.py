"""Rows of prefill and decode at several places: each place decodes what it prefills, after every loss.

sum_p s_pb = q_b           parts of the buckets by place, chosen anew for every loss
shares of both pools at p carry s_pb
"""

from __future__ import annotations

import itertools
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
    for hit, left in _losses(writers):
        _write(writers, served, hit, left)


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
