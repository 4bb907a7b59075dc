"""Rows of how long the layouts of a workload live."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from planner.constraints.plan.day_usage import Layout, layout
from planner.solver.mip.mip import Model
from planner.solver.mip.pool_rows import Block
from planner.solver.mip.pools import Work


def layout_at(work: Work, pool: int, place: int) -> Layout:
    """The layout of an option at a place."""
    mine = work.pools[pool]
    return layout(mine.options[mine.places[place].option])


def write_lives(model: Model, work: Work, blocks: Sequence[Block], least_hours: int) -> None:
    """What begins stays for so many hours in a row, around the day.

        u_t - u_t-1 <= u_t+k        k = 1 .. hours - 1; u_t is 1 where the layout is in use

    Args:
        model: that gets the rows.
        work: the workload.
        blocks: its hours.
        least_hours: less than two ask for nothing.
    """
    if least_hours < 2:
        return
    used: dict[Layout, list[int]] = defaultdict(list)
    for block in blocks:
        columns: dict[Layout, list[int]] = defaultdict(list)
        for (_, pool, place), column in block.counts.items():
            columns[layout_at(work, pool, place)].append(column)
        for one, mine in columns.items():
            binary = model.column(0, 1, whole=True)
            most = sum(model.upper[column] for column in mine)
            replicas = [(column, 1.0) for column in mine]
            model.row([*replicas, (binary, -most)], upper=0.0)
            model.row([*replicas, (binary, -1.0)], lower=0.0)
            used[one].append(binary)
    for mine in used.values():
        count = len(mine)
        for t in range(count):
            for later in range(1, min(least_hours, count)):
                terms = [(mine[t], 1.0), (mine[t - 1], -1.0), (mine[(t + later) % count], -1.0)]
                model.row(terms, upper=0.0)
