"""From a point of the model to a plan: placements, GPUs and shares of every period."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from planner.schema.choice import LossShares, Option, Pool, Share
from planner.schema.fleet import PeriodChoice, Placement
from planner.solver.covers import Pooled
from planner.solver.cp.bought import classes, place_name
from planner.solver.cp.periods import Periods, at
from planner.solver.cp.search import Point


def planned(periods: Periods, point: Point) -> tuple[PeriodChoice, ...]:
    """The plan of every period of the day."""
    own: dict[Pool, list[Option]] = defaultdict(list)
    known = {option.id: option for option in periods.fleet.options}
    for option in periods.options:
        own[option.pool].append(known[option.id])
    plans = [_period(periods, point, own, t) for t in range(periods.days.count)]
    return periods.days.spread(plans)


def _period(periods: Periods, point: Point, own: Mapping[Pool, list[Option]], t: int) -> PeriodChoice:
    shares: list[Share] = []
    after_loss: list[LossShares] = []
    asked = [demand for (_, kind), demand in periods.demands.items() if kind == t]
    for demand in asked:
        if point.modes[at(demand.workload, t)] != demand.mode:
            continue
        pool = Pooled(demand, own[demand.pool], periods.stands)
        counts = [point.counts.get(at(option.id, t), 0) for option in pool.options]
        shares.extend(pool.shares(counts))
        after_loss.extend(pool.loss_shares(counts))
    bought = {line.id: point.units.get(at(line.id, t), 0) * line.unit_gpus for line in periods.fleet.lines}
    return PeriodChoice(
        counts=_placed(periods, point, t),
        bought={line: gpus for line, gpus in bought.items() if gpus},
        shares=tuple(shares),
        loss_shares=tuple(after_loss),
    )


def _placed(periods: Periods, point: Point, t: int) -> dict[Placement, int]:
    """Replicas by site: of options that take the same room, the first ids stand at the first sites."""
    found: dict[Placement, int] = {}
    for host in periods.fleet.hosts:
        for kind, options in classes(periods, host.id).items():
            left = {option.id: point.counts.get(at(option.id, t), 0) for option in options}
            for site in kind[2]:
                room = point.units.get(place_name(kind, site, t), 0)
                for name, count in left.items():
                    here = min(room, count)
                    if here:
                        found[name, site] = here
                        left[name] -= here
                        room -= here
    return dict(sorted(found.items()))
