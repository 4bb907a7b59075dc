"""First tokens of tables that measure a start-up and no load: found by a rule, and not counted.

A closed loop cannot wait longer than all its prompts take, and more clients cannot make it faster. Rows that
break one of the two have compilation, loading or a cold cache in their mean; their other numbers count. Where
a third of the rows of a server do, and at least three, the first tokens of all of them are in doubt.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from planner.calibration.measured_rows import MeasuredRows
from planner.performance.rows import fitting_sequences
from planner.schema.catalog import Calibration
from planner.schema.measurement import Measurement
from planner.steptime.prompt import prompt_alone_s

BEYOND_ALL = "first tokens later than 1 s and twice the time of all prompts in flight: its start-up is in it"
SLOWER_BELOW = "first tokens more than twice as late as with more clients: its start-up is in it"
COLD_SERVER = "a third of the rows of its server show a start-up"
_SECOND_S, _TWICE = 1.0, 2.0
_THIRD, _FEWEST = 1.0 / 3.0, 3


def start_ups(rows: MeasuredRows, calibration: Calibration) -> dict[str, str]:
    """Ids of rows whose first tokens are in doubt, with the reason.

    Only rows whose requests all have a place are looked at: a full cache makes any wait possible.
    """
    specs, loads = rows.prepared.specs(calibration), rows.loads
    every, disaggregated = np.arange(len(loads)), loads.prefill_row >= 0
    places = fitting_sequences(specs, every, loads) * loads.decode_workers
    worker = np.where(disaggregated, loads.prefill_row, every)
    servers = specs.attention_dp[worker] * np.where(disaggregated, loads.prefill_workers, 1.0)
    all_s = loads.requests * prompt_alone_s(specs, worker, loads.input_tokens) / servers
    seen = [
        place
        for place, row in enumerate(rows.measurements)
        if _closed_loop(row) and loads.requests[place] <= places[place]
    ]
    doubts = {rows.measurements[place].id: SLOWER_BELOW for place in _slower_below(rows, seen)}
    for place in seen:
        row = rows.measurements[place]
        if row.ttft_ms / 1e3 > _SECOND_S + _TWICE * all_s[place]:
            doubts[row.id] = BEYOND_ALL
    return {rows.measurements[place].id: COLD_SERVER for place in _cold(rows, seen, doubts)} | doubts


def _cold(rows: MeasuredRows, seen: list[int], doubts: dict[str, str]) -> Iterator[int]:
    """Rows of servers that show their start-up again and again: the others have less of it, not none."""
    servers: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for place in seen:
        servers[_server(rows, place)].append(place)
    for places in servers.values():
        shown = sum(rows.measurements[place].id in doubts for place in places)
        if shown >= max(_FEWEST, _THIRD * len(places)):
            yield from places


def without(rows: MeasuredRows, doubts: dict[str, str]) -> MeasuredRows:
    """The rows, those in doubt as if their tables did not state the time to first token."""
    kept = (replace(row, ttft_ms=0.0) if row.id in doubts else row for row in rows.measurements)
    return replace(rows, measurements=tuple(kept))


def _closed_loop(row: Measurement) -> bool:
    return row.kind == "closed-loop" and row.ttft_ms > 0.0 and row.speculation == "none"


def _slower_below(rows: MeasuredRows, seen: list[int]) -> Iterator[int]:
    ladders: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for place in seen:
        ladders[_ladder(rows, place)].append(place)
    for ladder in ladders.values():
        clients = np.array([rows.measurements[place].requests for place in ladder])
        ttft_ms = np.array([rows.measurements[place].ttft_ms for place in ladder])
        for place, mine, late_ms in zip(ladder, clients, ttft_ms, strict=True):
            if (late_ms > _TWICE * ttft_ms[clients > mine]).any():
                yield place


def _ladder(rows: MeasuredRows, place: int) -> tuple[object, ...]:
    """Rows of one server that differ in the number of clients."""
    row, item = rows.measurements[place], rows.configurations[place]
    layout = (row.gpus, item.tp, item.pp, item.ep, item.attention_dp, row.prefill, row.decode)
    return (*_server(rows, place), item.kv.id, *layout, row.input_tokens, row.output_tokens)


def _server(rows: MeasuredRows, place: int) -> tuple[object, ...]:
    """Software, model and kind of GPU, in whatever layout."""
    row, item = rows.measurements[place], rows.configurations[place]
    software = (row.source, row.engine, row.engine_version, row.disaggregated)
    return (*software, item.model.id, item.accelerator.id, item.weights.id)
