"""The day of a fleet: replicas, load and cost by hour, what is bought under which line, and orders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.explain.hours import bought_lines, clock, has_hours, mean, replicas_by_hour
from planner.numbers import between, counted, usd
from planner.report.cells import COMPUTED, number, table
from planner.report.fleet_hours_text import order_rows
from planner.report.sections.build import section
from planner.schema.plan import Plan
from planner.schema.pool import Pool
from planner.schema.report import Cell, HourChart, HourPanel, HourSeries, Section, Table
from planner.schema.supply import HOURS_PER_DAY

_HOUR_S = 3600
_MOST_SERIES = 8
"""Colors that can be told apart; the pools with the fewest replicas share one."""


def day(plan: Plan) -> Section | None:
    """Every hour; None where all are the same."""
    if not has_hours(plan):
        return None
    return section("day", "The day", day_chart(plan), _hours(plan), _work(plan))


def day_chart(plan: Plan) -> HourChart | None:
    """Replicas by pool, load and cost of every hour; None where all hours are the same."""
    if not has_hours(plan):
        return None
    panels = [HourPanel("replicas", hour_series(plan, plan.pools))]
    used = tuple(period.utilization or 0.0 for period in plan.periods)
    if any(used):
        panels.append(HourPanel("load of capacity", (HourSeries("load", used),), percent=True))
    panels.append(HourPanel("cost, USD an hour", _costs(plan)))
    spent = [period.usd for period in plan.periods]
    running = [sum(period.replicas.values()) for period in plan.periods]
    busiest = max(range(len(spent)), key=lambda hour: (spent[hour], -hour))
    replicas = counted(between(min(running), max(running)), "replica")
    text = (
        f"{replicas}; {usd(min(spent))} to {usd(max(spent))} an hour, "
        f"the most at {clock(busiest * _HOUR_S, len(spent))}."
    )
    return HourChart("day", "The day by the hour", text, tuple(panels))


def hour_series(plan: Plan, pools: Sequence[Pool]) -> tuple[HourSeries, ...]:
    """Replicas of pools by hour; of many the smallest together."""
    series = [HourSeries(pool.id, tuple(map(float, replicas_by_hour(plan, pool)))) for pool in pools]
    if len(series) <= _MOST_SERIES:
        return tuple(series)
    series.sort(key=lambda one: (-sum(one.values), one.name))
    kept, rest = series[: _MOST_SERIES - 1], series[_MOST_SERIES - 1 :]
    summed = tuple(sum(values) for values in zip(*(one.values for one in rest), strict=True))
    return (*kept, HourSeries(f"{len(rest)} other pools", summed))


def _costs(plan: Plan) -> tuple[HourSeries, ...]:
    """GPUs, starts and outside suppliers; they add up to the hour."""
    parts = {
        "GPUs": [period.usd - period.start_usd - period.api_usd for period in plan.periods],
        "starts": [period.start_usd for period in plan.periods],
        "outside suppliers": [period.api_usd for period in plan.periods],
    }
    return tuple(HourSeries(name, tuple(values)) for name, values in parts.items() if any(values))


def _hours(plan: Plan) -> Table | None:
    gpus = sorted({gpu for period in plan.periods for gpu in period.gpus})
    starts = any(period.start_usd for period in plan.periods)
    outside = any(period.api_usd for period in plan.periods)
    rows: list[tuple[Cell, ...]] = []
    for period in plan.periods:
        rows.append(
            (
                clock(period.period * _HOUR_S, len(plan.periods)),
                *(number(period.replicas.get(pool.id, 0)) for pool in plan.pools),
                *(number(period.gpus.get(gpu, 0)) for gpu in gpus),
                number(period.utilization, "share"),
                number(period.start_usd, "USD") if starts else None,
                number(period.api_usd, "USD") if outside else None,
                number(period.usd, "USD"),
            )
        )
    headings = ("hour", *(f"replicas of {pool.id}" for pool in plan.pools),
                *(f"GPUs bought, {gpu}" for gpu in gpus), "load", "starts", "outside suppliers",
                "cost in all")  # fmt: skip
    return table("hours", "Every hour", headings, rows)


def _work(plan: Plan) -> Table | None:
    """Work that may wait, by the hour in which it is done."""
    names = sorted({name for period in plan.periods for name in period.work})
    rows = [
        (
            clock(period.period * _HOUR_S, len(plan.periods)),
            *(number(period.work.get(name, 0.0), "req/s") for name in names),
        )
        for period in plan.periods
    ]
    headings = ("hour", *names)
    return table("waiting-work", "Work that may wait: when it is done", headings, rows if names else [])


def purchases(plan: Plan) -> Section | None:
    """What is bought under which line, when to order it, and the way from today's fleet."""
    return section(
        "purchases", "Purchases and orders", _bought(plan), _orders(plan), _apis(plan), _move(plan)
    )


def _bought(plan: Plan) -> Table | None:
    hours = max(len(plan.periods), 1)
    rows: list[tuple[Cell, ...]] = [
        (
            line.line,
            line.place,
            number(line.usd_per_gpu_h, "USD/h"),
            number(min(line.gpus), "GPUs"),
            number(mean(line.gpus), "GPUs"),
            number(max(line.gpus), "GPUs"),
            number(line.usd / hours * HOURS_PER_DAY, "USD"),
        )
        for line in bought_lines(plan)
    ]
    beside = {
        "starting GPUs": mean([period.start_usd for period in plan.periods]),
        "outside suppliers": mean([period.api_usd for period in plan.periods]),
    }
    rows += [
        (name, None, None, None, None, None, number(usd_per_h * HOURS_PER_DAY, "USD"))
        for name, usd_per_h in beside.items()
        if usd_per_h > 0
    ]
    headings = ("line", "place", ("one GPU", COMPUTED), "least", ("mean", COMPUTED), "most",
                ("a day", COMPUTED))  # fmt: skip
    return table("purchases", "Purchases", headings, rows)


def _orders(plan: Plan) -> Table | None:
    rows: Iterable[tuple[Cell, ...]] = order_rows(plan.orders, max(len(plan.periods), 1))
    return table("orders", "When to order and give back", ("at", "do", "for the hour"), rows)


def _apis(plan: Plan) -> Table | None:
    rows = [
        (
            api.id,
            api.workload,
            number(api.share, "share"),
            number(api.usd_per_hour, "USD/h"),
            number(api.break_even_factor, "times today's volume"),
            api.text,
        )
        for api in plan.api
    ]
    headings = ("supplier", "workload", "share of requests", "cost", "own GPUs pay from", "remark")
    return table("suppliers", "Outside suppliers", headings, rows)


def _move(plan: Plan) -> Table | None:
    """Steps from today's fleet."""
    steps = plan.move.steps if plan.move is not None else plan.changes
    rows = [
        (
            f"{step.step}",
            step.gpu,
            number(step.from_, "GPUs"),
            number(step.to, "GPUs"),
            number(step.retasked or None, "GPUs"),
            number(step.share, "share"),
        )
        for step in steps
    ]
    headings = ("step", "GPU type", "from", "to", "get other work", "demand carried")
    return table("move", "From today's fleet", headings, rows)
