"""Limits of a plan over measured workers, and what each removes when nothing is feasible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction

from planner.candidates.measured import limit_s
from planner.constraints.pairs import pair_ttft_s
from planner.constraints.plan.registry import BY_KIND
from planner.performance.measured_view import seconds
from planner.planning.documents.measured_pools import Used, workload_of
from planner.planning.documents.service_slack import limit_state
from planner.schema.limits_told import ConstraintState, Removal
from planner.schema.problem import Problem
from planner.schema.workers import MeasuredCase, WorkerRow

_NONE = Decimal(0)
_TITLES = {"ttft": "time to first token", "itl": "inter-token latency", "vram": "device memory of one GPU"}


def table_states(problem: Problem, together: Sequence[Sequence[Used]]) -> list[ConstraintState]:
    """Latency and memory of every workload against its tightest limits.

    Args:
        problem: for the limits.
        together: options that are in use at the same time, hour by hour; prefill and decode options of one
            hour make pairs.
    """
    states = []
    for workload in problem.workloads:
        mine = [[item for item in hour if item.option.workload == workload.name] for hour in together]
        every = [item for hour in mine for item in hour]
        itl = [row.itl_ms for item in every if item.option.role != "prefill" for row in item.rows]
        ttft = [value for hour in mine for value in _ttfts_s(hour)]
        headroom = problem.fleet.headroom_of(workload)
        memory = [row.memory_fraction for item in every for row in item.rows]
        found = (
            ("ttft", max(ttft, default=None), limit_s(workload, "ttft"), "s"),
            ("itl", _most(itl, Fraction(1, 1000)), limit_s(workload, "itl"), "s"),
            ("vram", _most(memory, Fraction(1)), 1 - Fraction(headroom.memory_of_tables), "fraction"),
        )
        for metric, value, limit, unit in found:
            if value is not None and limit is not None:
                name = f"{metric}:{workload.name}"
                state = limit_state(name, value, limit, unit, 0)
                states.append(state.model_copy(update={"binding": value >= limit, "text": _TITLES[metric]}))
    return states


def _most(values: Iterable[Decimal | None], unit: Fraction) -> Fraction | None:
    return max((Fraction(value) * unit for value in values if value is not None), default=None)


def _ttfts_s(mine: Sequence[Used]) -> Iterator[Fraction]:
    """Of aggregated options their own; of disaggregated ones that of every pair."""
    options = [item.option for item in mine]
    for item in mine:
        if item.option.role == "serve":
            yield from (Fraction(row.ttft_ms) / 1000 for row in item.rows if row.ttft_ms is not None)
        elif item.option.role == "prefill":
            pairs = [pair_ttft_s(item.option, other) for other in options if other.role == "decode"]
            yield from (ttft_s for ttft_s in pairs if ttft_s is not None)


def removed(case: MeasuredCase, in_the_way: Sequence[str], problem: Problem) -> tuple[Removal, ...]:
    """Rows that each latency or memory limit removes, then the limits that stand in the way."""
    by_id: dict[str, list[tuple[WorkerRow, int]]] = {}
    for row, ids in case.excluded:
        for name in ids:
            by_id.setdefault(name, []).append((row, len(ids)))
    found = [_removal(problem, name, rows) for name, rows in by_id.items()]
    found += [
        Removal(id=name, title=_way_title(name), alone=0, total=0) for name in in_the_way if name not in by_id
    ]
    return tuple(sorted(found, key=lambda item: (-item.alone, -item.total, item.id)))


def _way_title(name: str) -> str:
    if name.startswith("unservable:"):
        return "a bucket that no option can serve"
    limit = BY_KIND.get(name.partition(":")[0])
    return "" if limit is None else limit.title


def _removal(problem: Problem, name: str, rows: Sequence[tuple[WorkerRow, int]]) -> Removal:
    metric, workload_name = name.split(":", 1)
    workload = workload_of(problem, workload_name)
    headroom = problem.fleet.headroom_of(workload)
    limits = [float(v) for key, v in workload.slo if key.startswith(metric) and v is not None]
    values = [(_row_value(row, metric), row.option) for row, _ in rows]
    value, option = min(values)
    return Removal(
        id=name,
        title=_TITLES[metric],
        alone=sum(1 for _, count in rows if count == 1),
        total=len(rows),
        nearest=option,
        nearest_value=value,
        limit=float(1 - headroom.memory_of_tables) if metric == "vram" else min(limits),
        unit="fraction" if metric == "vram" else "s",
    )


def _row_value(row: WorkerRow, metric: str) -> float:
    if metric == "vram":
        return float(row.memory_fraction or 0)
    if metric == "itl":
        return seconds(row.itl_ms or _NONE)
    transfer = (row.transfer_ms or _NONE) if row.role == "prefill" else _NONE
    return seconds((row.ttft_ms or _NONE) + transfer)
