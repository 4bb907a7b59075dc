"""The day of one workload: what is asked and carried, who serves it, and what its GPUs cost by the hour."""

from __future__ import annotations

from collections.abc import Iterator

from planner.explain.hours import gpu_h_price, has_hours, replicas_by_hour
from planner.explain.problem_values import hourly_rps
from planner.report.sections.hours import hour_series
from planner.schema.plan import Plan
from planner.schema.pool import Pool
from planner.schema.report import HourPanel, HourSeries, LinePanel, Track


def workload_day(plan: Plan, workload: str) -> tuple[LinePanel | HourPanel, ...]:
    """Requests, replicas and cost of one workload in every hour; nothing where all hours are the same.

    Capacity is replicas × ``capacity_rps`` of the pools where its requests come in. Cost is that of the GPUs
    on which its replicas run, at the mean price paid for such a GPU there; GPUs that stand idle, starts and
    outside suppliers are in the cost of the whole fleet alone.
    """
    if not has_hours(plan):
        return ()
    pools = [pool for pool in plan.pools if pool.workload == workload]
    panels = (_requests(plan, workload, pools), _replicas(plan, pools), _cost(plan, pools))
    return tuple(panel for panel in panels if panel is not None)


def _requests(plan: Plan, workload: str, pools: list[Pool]) -> LinePanel | None:
    tracks = list(_rates(plan, workload))
    taking = [pool for pool in pools if pool.role != "decode"]
    if taking:
        hours = range(len(plan.periods))
        counts = [(pool.capacity_rps, replicas_by_hour(plan, pool)) for pool in taking]
        carried = (sum(rate * count[hour] for rate, count in counts) for hour in hours)
        tracks.append(_track("its replicas carry", carried))
    return LinePanel("requests/s", tuple(tracks)) if tracks else None


def _rates(plan: Plan, workload: str) -> Iterator[Track]:
    asked = hourly_rps(plan, workload)
    if len(asked) == len(plan.periods):
        yield _track("asked", asked)
    if any(workload in period.work for period in plan.periods):
        yield _track("done of work that may wait", (one.work.get(workload, 0.0) for one in plan.periods))


def _track(name: str, values: Iterator[float] | tuple[float, ...]) -> Track:
    return Track(name, tuple((float(hour), value) for hour, value in enumerate(values)), in_steps=True)


def _replicas(plan: Plan, pools: list[Pool]) -> HourPanel | None:
    return HourPanel("replicas", hour_series(plan, pools)) if pools else None


def _cost(plan: Plan, pools: list[Pool]) -> HourPanel | None:
    series = []
    for pool in pools:
        price = gpu_h_price(plan, pool)
        if price is None:
            return None
        gpus = (count * pool.gpus_per_replica for count in replicas_by_hour(plan, pool))
        series.append(HourSeries(pool.id, tuple(price * count for count in gpus)))
    return HourPanel("its GPUs, USD an hour", tuple(series)) if series else None
