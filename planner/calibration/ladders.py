"""Ladders of rates: runs of one server that differ in the rate alone, and what one leaves to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planner.performance.finite_run import Repeats
from planner.schema.percentiles import PercentileRow

START_UP = "a lower rate of its ladder with slower first tokens than a higher one: its start-up is in it"
_SLOWER = 2.0
"""Times of first tokens beyond which a lower rate is slower than a higher one."""

Ladder = tuple[object, ...]


def with_start_up(rows: Sequence[PercentileRow]) -> tuple[PercentileRow, ...]:
    """The rows, those in doubt whose ladder of rates shows a server that was not warm yet."""
    cold = {
        row.measured.id
        for ladder in _ladders([row for row in rows if "ttft_p50" in row.observed_ms]).values()
        for row in ladder
        if any(
            row.measured.rate_rps < other.measured.rate_rps
            and row.observed_ms["ttft_p50"] > _SLOWER * other.observed_ms["ttft_p50"]
            for other in ladder
        )
    }
    return tuple(
        replace(row, doubt=row.doubt or START_UP) if row.measured.id in cold else row for row in rows
    )


def sent_before(rows: Sequence[PercentileRow]) -> dict[str, Repeats]:
    """Ids of runs whose very prompts another run of their ladder had sent before, with how many they are.

    Rule: runs of one server with the same number of requests and the same measured mean of their prompts, to
    the hundredth of a token, drew the same prompts (benchmark clients have a fixed seed); a mean without a
    fraction is nominal and says nothing. All but one of them find these prompts in a prefix cache that holds
    them. Tables do not say which ran first; the highest rate is taken (set with the ladders of one source in
    view, in which it alone shows the time of its prompts).
    """
    found: dict[str, Repeats] = {}
    for ladder in _ladders([row for row in rows if row.prefix_cache and not row.prompts]).values():
        same: dict[tuple[float, float], list[PercentileRow]] = {}
        for row in ladder:
            measured = row.measured
            if measured.run_requests and measured.input_tokens % 1.0:
                same.setdefault((measured.run_requests, measured.input_tokens), []).append(row)
        for alike in same.values():
            first = max(row.measured.rate_rps for row in alike)
            found |= {row.measured.id: _all(row) for row in alike if row.measured.rate_rps < first}
    return found


def _all(row: PercentileRow) -> Repeats:
    """Every prompt of the run, each with nothing in common with the others."""
    return Repeats(0.0, int(row.measured.run_requests), 1)


def _ladders(rows: Sequence[PercentileRow]) -> dict[Ladder, list[PercentileRow]]:
    ladders: dict[Ladder, list[PercentileRow]] = {}
    for row in rows:
        if row.measured.kind == "open-loop":
            ladders.setdefault(_server(row), []).append(row)
    return ladders


def _server(row: PercentileRow) -> Ladder:
    measured = row.measured
    software = (measured.engine, measured.engine_version, measured.weights, measured.max_running)
    where = (row.source.split("@")[0], measured.model, measured.gpu, measured.gpus, measured.tp)
    return (*where, *software, row.router, row.input_kind, measured.input_tokens)
