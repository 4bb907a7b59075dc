"""Runs whose clients saw fewer gaps than tokens: their host, and not the engine, sets what they measured.

The mean of ITL is taken over gaps and that of TPOT over requests. Where every token comes alone both share
out the same time, and ITL is the smaller: short answers, which count less among gaps, meet more prompts each.
A mean ITL well above the mean TPOT says that several tokens came in one chunk: the front end or the client
fell behind the engine, and what it handed on late is in first tokens and gaps alike. Where a third of the
runs of a server show it, and at least three, all of them are in doubt, as with start-ups
(`planner.calibration.doubts`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from planner.schema.percentiles import PercentileRow

IN_GROUPS = "tokens come in groups: mean ITL above mean TPOT, so fewer gaps than tokens"
SERVER_IN_GROUPS = "a third of the runs of its server hand tokens on in groups"
_ABOVE = 1.1
"""Of mean ITL over mean TPOT; runs of equal steps differ by a few percent."""
_THIRD, _FEWEST = 1.0 / 3.0, 3


def with_groups(rows: Sequence[PercentileRow]) -> tuple[PercentileRow, ...]:
    """The rows, those in doubt whose tokens came in groups."""
    servers: dict[tuple[object, ...], list[PercentileRow]] = defaultdict(list)
    for row in rows:
        servers[_server(row)].append(row)
    doubts: dict[str, str] = {}
    for alike in servers.values():
        shown = [row for row in alike if _in_groups(row)]
        if len(shown) >= max(_FEWEST, _THIRD * len(alike)):
            doubts |= {row.measured.id: SERVER_IN_GROUPS for row in alike}
        doubts |= {row.measured.id: IN_GROUPS for row in shown}
    return tuple(replace(row, doubt=row.doubt or doubts.get(row.measured.id, "")) for row in rows)


def _in_groups(row: PercentileRow) -> bool:
    itl_ms, tpot_ms = row.measured.itl_ms, row.measured.tpot_ms
    return tpot_ms > 0.0 and itl_ms > _ABOVE * tpot_ms


def _server(row: PercentileRow) -> tuple[object, ...]:
    measured = row.measured
    software = (measured.engine, measured.engine_version, measured.weights)
    return (row.source.split("@")[0], measured.model, measured.gpu, measured.gpus, measured.tp, *software)
