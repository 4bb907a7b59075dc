"""What a plan runs and buys in every hour, for those who scale and order."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from planner.app.routes_out import without_pools
from planner.explain.hours import bought_lines, replicas_by_hour
from planner.loaders.plan_file import load_plan
from planner.schema.fleet_out import LineHours, PoolHours, Schedule, ScheduledOrder
from planner.schema.plan import Plan

_HOUR_S = 3600


def schedule_out(path: Path) -> Schedule:
    """The schedule in a plan document; a plan for one rate has one hour.

    Raises:
        InputError: no plan, or one that serves nothing.
    """
    plan = load_plan(path)
    if not plan.pools and not plan.periods:
        raise without_pools(path, plan)
    return schedule_of(plan)


def schedule_of(plan: Plan) -> Schedule:
    """The schedule of a plan."""
    periods = max(len(plan.periods), 1)
    return Schedule(
        problem=plan.problem,
        periods=periods,
        lines=tuple(_lines(plan)),
        pools=tuple(
            PoolHours(
                pool=pool.id,
                gpu=pool.gpu,
                site=pool.site,
                gpus_per_replica=pool.gpus_per_replica,
                replicas=replicas_by_hour(plan, pool),
            )
            for pool in plan.pools
        ),
        usd=tuple(period.usd for period in plan.periods) or _one_hour(plan),
        orders=tuple(
            ScheduledOrder(
                line=order.line,
                gpus=order.gpus,
                period=order.period,
                lead_s=order.lead_s,
                order_at_s=(order.period * _HOUR_S - order.lead_s) % (periods * _HOUR_S),
            )
            for order in plan.orders
        ),
    )


def _lines(plan: Plan) -> Iterable[LineHours]:
    for line in bought_lines(plan):
        place = line.place or None
        yield LineHours(line=line.line, gpu=line.gpu, term=line.term, place=place, gpus=line.gpus)
    if not plan.supply:
        for gpu, count in sorted(plan.gpus.items()):
            yield LineHours(line=gpu, gpu=gpu, term=None, place=None, gpus=(count,))


def _one_hour(plan: Plan) -> tuple[float, ...]:
    return () if plan.cost_usd_per_hour is None else (plan.cost_usd_per_hour,)
