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


def with_in_flight(rows: Sequence[PercentileRow]) -> tuple[PercentileRow, ...]:
    """The rows with their requests in flight, from which limits and layouts that are not stated follow.

    By Little's law throughput times end-to-end time were in flight. A run that had more in flight than the
    engine runs or holds by default was started otherwise, and so were the other runs of its ladder.
    """
    most = {row.measured.id: _in_flight(row) for row in rows}
    for alike in _same_prompts(rows):
        largest = max(_in_flight(row) for row in alike)
        most |= {row.measured.id: largest for row in alike}
    return tuple(
        replace(row, measured=replace(row.measured, in_flight=most[row.measured.id])) for row in rows
    )


def _in_flight(row: PercentileRow) -> float:
    """At the median request."""
    known, measured = row.observed_ms, row.measured
    if measured.kind != "open-loop":
        return 0.0
    answer_ms = max(measured.output_tokens - 1.0, 0.0) * known.get("tpot_p50", 0.0)
    e2e_ms = known.get("e2e_p50") or (known.get("ttft_p50", 0.0) + answer_ms if answer_ms else 0.0)
    return row.completed_rps * e2e_ms / 1e3


def sent_before(rows: Sequence[PercentileRow]) -> dict[str, Repeats]:
    """Ids of runs whose very prompts another run of their ladder had sent before, with how many they are.

    All runs of a ladder but one find its prompts in a prefix cache that holds them. Tables do not say which
    ran first; the highest rate is taken (set with the ladders of one source in view, in which it alone shows
    the time of its prompts).
    """
    found: dict[str, Repeats] = {}
    for alike in _same_prompts([row for row in rows if row.prefix_cache and not row.prompts]):
        first = max(row.measured.rate_rps for row in alike)
        found |= {row.measured.id: _all(row) for row in alike if row.measured.rate_rps < first}
    return found


def _same_prompts(rows: Sequence[PercentileRow]) -> list[list[PercentileRow]]:
    """Runs that drew the same prompts.

    Rule: runs of one server with the same number of requests and the same measured mean of their prompts, to
    the hundredth of a token: benchmark clients have a fixed seed. A mean without a fraction is nominal and
    says nothing.
    """
    found = []
    for ladder in _ladders(rows).values():
        same: dict[tuple[float, float], list[PercentileRow]] = {}
        for row in ladder:
            measured = row.measured
            if measured.run_requests and measured.input_tokens % 1.0:
                same.setdefault((measured.run_requests, measured.input_tokens), []).append(row)
        found += [alike for alike in same.values() if len(alike) > 1]
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
