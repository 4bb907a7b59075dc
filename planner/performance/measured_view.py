"""A table of measured workers as one workload sees it: its rows, its buckets and their shares, its rate."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from planner.errors import Fault, nearest
from planner.schema.choice import Role
from planner.schema.problem import Problem
from planner.schema.workers import WorkerRow, WorkerTable
from planner.schema.workload import Workload

ONE_BUCKET = "all"
_MOST_NAMED = 10


class View:
    """The table as one workload sees it; rows that nobody asks for are left out."""

    def __init__(self, problem: Problem, workload: Workload, table: WorkerTable, faults: list[Fault]) -> None:
        """Faults are added to those that are known."""
        self.workload, self.fleet = workload, problem.fleet
        mine = rows_of(table, workload)
        if problem.fleet.accelerators is not None:
            mine = [row for row in mine if row.gpu in problem.fleet.accelerators]
        self.shares = shares_of(table, workload)
        faults.extend(_bucket_faults(workload, mine, self.shares))
        asked = self.shares or {ONE_BUCKET: Fraction(1)}
        self.rows = [row for row in mine if row.bucket is None or row.bucket in asked]
        sought = problem.objective == "throughput" and workload.demand.forms
        stated = None if sought else table.rate_rps
        self.rate_rps = stated if stated is not None else _peak(workload, faults)
        self.explicit_modes = problem.search.modes if "modes" in problem.search.model_fields_set else None
        faults.extend(self._twice())

    def _twice(self) -> Iterator[Fault]:
        first = next(iter(self.shares), None)
        keys: dict[tuple[object, ...], WorkerRow] = {}
        for row in self.rows:
            other = keys.setdefault((row.option, row.role, row.bucket or first), row)
            if other is not row:
                yield Fault(
                    row.where, "option", f'"{row.option}" again', f"one row per bucket, as in {other.where}"
                )

    def roles(self) -> tuple[Role, ...]:
        """Roles of the serving modes it that the table offers and the problem allows."""
        roles = {row.role for row in self.rows}
        split: tuple[Role, ...] = ("prefill", "decode")
        modes: list[tuple[Role, ...]] = [("serve",)] if "serve" in roles else []
        if roles & set(split):
            modes.append(split)
        if len(modes) == 2 and self.explicit_modes is not None:
            kept = {"aggregated": ("serve",), "disaggregated": split}
            modes = [mode for mode in modes if mode in [kept[mode] for mode in self.explicit_modes]]
        return tuple(itertools.chain.from_iterable(modes)) or ("serve",)


def rows_of(table: WorkerTable, workload: Workload) -> list[WorkerRow]:
    """The rows of a workload, whatever their bucket."""
    return [row for row in table.rows if row.workload in (None, workload.name)]


def shares_of(table: WorkerTable, workload: Workload) -> dict[str, Fraction]:
    """Shares of requests by bucket: of the file, of the workload, or one bucket; empty where nobody tells.

    A workload that asks for no buckets has one: that of the rows without a bucket, or the only one named.
    """
    if table.shares is not None:
        return dict(table.shares)
    if workload.buckets is not None:
        total = sum(map(Fraction, workload.buckets.values()), Fraction(0))
        return {name: Fraction(share) / total for name, share in workload.buckets.items()}
    mine = rows_of(table, workload)
    names = _names(mine)
    if len(names) == 1:
        return {names[0]: Fraction(1)}
    return {ONE_BUCKET: Fraction(1)} if not names or any(row.bucket is None for row in mine) else {}


def _names(rows: Sequence[WorkerRow]) -> list[str]:
    return list(dict.fromkeys(row.bucket for row in rows if row.bucket is not None))


def _bucket_faults(
    workload: Workload, rows: Sequence[WorkerRow], shares: Mapping[str, Fraction]
) -> Iterator[Fault]:
    names, where = _names(rows), f"workload {workload.name}"
    if not shares:
        some = ", ".join(names[:_MOST_NAMED])
        yield Fault(
            where, "buckets", "no shares", f"a share for each bucket of the table that it asks for: {some}",
            f"buckets: {{{names[0]}: …}}",
        )  # fmt: skip
        return
    if len(shares) > 1:
        expected = f"one of {', '.join(shares)}: there are several"
        yield from (Fault(row.where, "bucket", "nothing", expected) for row in rows if row.bucket is None)
    if names and not any(row.bucket is None or row.bucket in shares for row in rows):
        row = rows[0]
        yield Fault(
            row.where, "bucket", f'"{row.bucket}"',
            f"one of {', '.join(shares)}: {workload.name} has no other row",
            nearest(str(row.bucket), list(shares)),
        )  # fmt: skip


def _peak(workload: Workload, faults: list[Fault]) -> Fraction:
    demand = workload.demand
    if demand.peak_rps is not None:
        return Fraction(demand.peak_rps)
    if demand.hourly_rps is not None:
        return Fraction(max(demand.hourly_rps))
    found = (
        "a trace" if demand.trace is not None else "sessions" if demand.sessions is not None else "no rate"
    )
    faults.append(
        Fault(f"workload {workload.name}", "demand", found, "peak_rps or hourly_rps with a table of workers")
    )
    return Fraction(0)


def workload_faults(problem: Problem, table: WorkerTable) -> Iterator[Fault]:
    """Workloads of which the table has no row, and a file with a demand of its own beside several."""
    names = [workload.name for workload in problem.workloads]
    if table.shares is not None and len(names) > 1:
        yield Fault(
            "workloads", "", f"{len(names)} workloads", "one workload: the file of workers states one demand"
        )
    others = [row for row in table.rows if row.workload is not None and row.workload not in names]
    for workload in problem.workloads:
        # Beside rows for nobody it is a name that was mistyped; without them nothing serves the workload.
        if others and not rows_of(table, workload):
            row = others[0]
            yield Fault(
                row.where, "workload", f'"{row.workload}"',
                f"one of {', '.join(names)}: {workload.name} has no row",
                nearest(str(row.workload), [workload.name]),
            )  # fmt: skip


def _unasked(names: Sequence[str], table: WorkerTable) -> list[str]:
    found = dict.fromkeys(row.workload for row in table.rows if row.workload is not None)
    return [name for name in found if name not in names]


def unread_rows(problem: Problem, table: WorkerTable) -> Iterator[str]:
    """Workloads, buckets and GPUs of the table that the problem does not ask for, in words."""
    names = [workload.name for workload in problem.workloads]
    others = _unasked(names, table)
    if others:
        yield f"rows of the table for {_listed('workload', others)} are not read: the problem has none"
    asked = {name for workload in problem.workloads for name in shares_of(table, workload)}
    mine = (row for row in table.rows if row.workload is None or row.workload in names)
    buckets = [name for name in _names(list(mine)) if name not in asked]
    if buckets:
        yield f"rows of the table for {_listed('bucket', buckets)} are not read: no workload asks for them"


def _listed(what: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{what}{'s' if len(names) > 1 else ''} {', '.join(names[:_MOST_NAMED])}{more}"


def seconds(value_ms: Decimal) -> float:
    """Milliseconds of a table as the nearest float to their exact seconds."""
    return float(Fraction(value_ms) / 1000)
