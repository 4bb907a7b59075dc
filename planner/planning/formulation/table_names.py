"""GPUs that a fleet problem names beside a table of workers, where names are free."""

from __future__ import annotations

from collections.abc import Iterator

from planner.errors import Fault, InputError, nearest
from planner.schema.problem import Problem
from planner.schema.workers import WorkerTable


def check_table_names(problem: Problem, table: WorkerTable, where: str) -> None:
    """Every GPU of the supply has a row in the table, and every one of today's fleet has a row or a line.

    Raises:
        InputError: all names that mean nothing.
    """
    faults = tuple(_faults(problem, table, where))
    if faults:
        raise InputError(faults)


def _faults(problem: Problem, table: WorkerTable, where: str) -> Iterator[Fault]:
    rows = list(dict.fromkeys(row.gpu for row in table.rows))
    expected = f"a GPU of the table: {', '.join(rows[:10])}"
    for place, line in enumerate(problem.fleet.supply or ()):
        if line.gpu not in rows:
            yield Fault(
                where, f"fleet.supply.{place}.gpu", f'"{line.gpu}"', expected, nearest(line.gpu, rows)
            )
    for name in problem.fleet.owned:
        if name not in rows:
            yield Fault(where, f"fleet.owned.{name}", f'"{name}"', expected, nearest(name, rows))
    if isinstance(problem.start, tuple):
        for place, pool in enumerate(problem.start):
            if pool.gpu not in rows:
                yield Fault(where, f"start.{place}.gpu", f'"{pool.gpu}"', expected, nearest(pool.gpu, rows))
