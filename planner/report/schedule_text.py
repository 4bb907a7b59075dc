"""What a plan runs and buys hour by hour, as a page and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.characters import cell
from planner.explain.hours import clock, runs
from planner.report.fleet_hours_text import order_rows
from planner.report.parts import section, table
from planner.schema.fleet_out import Schedule
from planner.schema.fleet_plan import Order

COLUMNS = ("kind", "name", "hour", "count", "order_at_s")
"""``kind``: ``gpus`` of a line, ``replicas`` of a pool, ``order`` of GPUs (below zero: given back)."""
_HOUR_S = 3600


def view(schedule: Schedule) -> RenderableType:
    """Lines, pools and orders; equal neighboring hours together."""
    hours = f"{schedule.periods} hours" if schedule.periods > 1 else "one hour, and every hour alike"
    parts: list[RenderableType] = [Text(f"{schedule.problem}: {hours}", style="bold")]
    if schedule.lines:
        rows = [(line.line, line.place or "", by_hour(line.gpus)) for line in schedule.lines]
        parts.append(section("GPUs", table(("line", "place", "GPUs by hour"), rows)))
    if schedule.pools:
        rows = [
            (pool.pool, _one_replica(pool.gpus_per_replica, pool.gpu), by_hour(pool.replicas))
            for pool in schedule.pools
        ]
        parts.append(section("Replicas", table(("pool", "one replica", "replicas by hour"), rows)))
    if schedule.orders:
        orders = [Order(period=o.period, line=o.line, gpus=o.gpus, lead_s=o.lead_s) for o in schedule.orders]
        parts.append(section("Orders", table(("at", "do", "for"), order_rows(orders, schedule.periods))))
    if len(set(schedule.usd)) > 1:
        least, most = min(schedule.usd), max(schedule.usd)
        dearest = clock(schedule.usd.index(most) * _HOUR_S, schedule.periods)
        words = f"An hour costs {numbers.usd(least)} to {numbers.usd(most)} (from {dearest})."
        parts.append(Text(f"\n{words}", style="dim"))
    return Group(*parts)


def _one_replica(gpus: int, gpu: str) -> str:
    return f"{gpus:,} × {gpu}"


def by_hour(counts: Sequence[int]) -> str:
    """``0–5: 2, 6: 3``: hours from 0, the last one included; one number where all hours are alike."""
    if len(set(counts)) == 1:
        return f"{counts[0]:,}"
    return ", ".join(f"{_hours(first, last)}: {count:,}" for first, last, count in runs(counts))


def _hours(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first}–{last}"


def as_csv(schedule: Schedule) -> bytes:
    """One row per line or pool and hour, and one per order."""
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_rows(schedule))
    return page.getvalue().encode()


def _rows(schedule: Schedule) -> Iterator[tuple[str | int | float, ...]]:
    for line in schedule.lines:
        yield from (("gpus", cell(line.line), hour, count, "") for hour, count in enumerate(line.gpus))
    for pool in schedule.pools:
        yield from (
            ("replicas", cell(pool.pool), hour, count, "") for hour, count in enumerate(pool.replicas)
        )
    for order in schedule.orders:
        yield "order", cell(order.line), order.period, order.gpus, f"{order.order_at_s:.12g}"
