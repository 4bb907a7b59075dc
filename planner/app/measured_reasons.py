"""Limits of a plan over measured workers, and what each removes when nothing is feasible."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from planner.app.measured_pools import MS, Solved, Used, workload_of
from planner.schema.plan import ConstraintState, Removal
from planner.schema.problem import Problem
from planner.schema.workers import WorkerRow

_TITLES = {"ttft": "time to first token", "itl": "inter-token latency", "vram": "device memory of one GPU"}


def latency_states(problem: Problem, used: Sequence[Used]) -> list[ConstraintState]:
    """The slowest pair or pool of every workload against its tightest limit."""
    states = []
    for workload in problem.workloads:
        mine = [item for item in used if item.option.workload == workload.name]
        for metric, value in (("ttft", _ttft_s(mine)), ("itl", _slowest_s(mine, "itl_ms", "prefill"))):
            limits = [float(v) for name, v in workload.slo if name.startswith(metric) and v is not None]
            if limits and value is not None:
                limit = min(limits)
                states.append(
                    ConstraintState(
                        id=f"{metric}:{workload.name}",
                        value=value,
                        limit=limit,
                        unit="s",
                        slack=limit - value,
                        binding=value >= limit,
                        text=_TITLES[metric],
                    )
                )
    return states


def _slowest_s(mine: Sequence[Used], column: str, but: str) -> float | None:
    values = [
        value
        for item in mine
        if item.option.role != but
        for row in item.rows
        if (value := getattr(row, column)) is not None
    ]
    return float(max(values)) * MS if values else None


def _ttft_s(mine: Sequence[Used]) -> float | None:
    """TTFT of aggregated options, or of the slowest pair of prefill and decode."""
    own = _slowest_s(mine, "ttft_ms", "decode")
    transfers = [item.option.transfer_s for item in mine if item.option.transfer_s is not None]
    return own + float(max(transfers, default=Fraction(0))) if own is not None else None


def removed(solved: Solved, problem: Problem) -> tuple[Removal, ...]:
    """Rows that each latency or memory limit removes, then the limits that stand in the way."""
    by_id: dict[str, list[tuple[WorkerRow, int]]] = {}
    for row, ids in solved.case.excluded:
        for name in ids:
            by_id.setdefault(name, []).append((row, len(ids)))
    found = [_removal(problem, name, rows) for name, rows in by_id.items()]
    found += [
        Removal(id=name, title=_way_title(name), alone=0, total=0)
        for name in solved.choice.in_the_way
        if name not in by_id
    ]
    return tuple(sorted(found, key=lambda item: (-item.alone, -item.total, item.id)))


def _way_title(name: str) -> str:
    if name.startswith("unservable:"):
        return "a bucket that no option can serve"
    return {"budget": "budget", "max-gpus": "number of GPUs"}.get(name, "stock")


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
        limit=float(1 - headroom.memory) if metric == "vram" else min(limits),
        unit="fraction" if metric == "vram" else "s",
    )


def _row_value(row: WorkerRow, metric: str) -> float:
    if metric == "vram":
        return float(row.memory_fraction or 0)
    if metric == "itl":
        return float(row.itl_ms or 0) * MS
    transfer = (row.transfer_ms or 0) if row.role == "prefill" else 0
    return float((row.ttft_ms or 0) + transfer) * MS
