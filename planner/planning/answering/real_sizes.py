"""What pools carry at the number of replicas that they really have, hour by hour."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from planner.candidates.options import MICRO
from planner.planning.documents.chosen import chosen_of
from planner.planning.documents.class_traffic import capacity_rps, carries_rps, mixed_part
from planner.planning.documents.pools import FleetPool, fleet_pools, replicas_like
from planner.planning.formulation.fleet_case import FleetCase
from planner.schema.choice import Option
from planner.schema.fleet import FleetChoice, FleetDemand

_ROUNDING = 1 - Fraction(1, MICRO)
"""Rates are rounded down to a millionth."""
_NONE = Fraction(0)
Hour = tuple[str, str, int]
"""Workload, role, period."""


def too_small(case: FleetCase, choice: FleetChoice) -> dict[Hour, Fraction]:
    """Hours in which pools do not carry their demand at their real size, with what they lack as a factor."""
    return slowness(case, choice, lacking=True)


def slowness(case: FleetCase, choice: FleetChoice, *, lacking: bool = False) -> dict[Hour, Fraction]:
    """Hours in which replicas carry less than planned, with how much longer they take for it.

    Args:
        case: what is asked.
        choice: a plan of it.
        lacking: only hours whose pools do not carry their demand so.
    """
    if case.formulation is None:
        return {}
    pools = fleet_pools(case.question, choice, [workload.name for workload in case.problem.workloads])
    found: dict[Hour, Fraction] = {}
    for demand in case.question.demands:
        mine = [pool for pool in pools if pool.option.pool == demand.pool]
        lost = lost_of(demand)
        for t in range(case.question.periods):
            present = [pool for pool in mine if pool.counts[t]]
            planned = sum((pool.load(t) for pool in present), _NONE)
            if not planned or demand.deferrable is not None:
                continue
            slow = {pool.id: slower(case, pool, mine, t, lost) for pool in present}
            if max(slow.values()) == 1:
                continue
            busy = sum((pool.load(t) * slow[pool.id] for pool in present), _NONE)
            left = sum(pool.counts[t] for pool in present) - lost
            if not lacking or busy > left * demand.max_utilization:
                found[(*demand.pool, t)] = busy / planned
    return found


def slower(case: FleetCase, pool: FleetPool, mine: list[FleetPool], period: int, lost: int) -> Fraction:
    """Planned rate over that in the pool of the hour, at least 1."""
    formulation = case.behind(pool.option)
    assert formulation is not None, "the options of predictions come from candidates"
    option = pool.option
    replicas = replicas_like(pool, mine, period, lost)
    classes = case.classes.get(option.workload)
    if classes is not None:
        placed = chosen_of(formulation).found[option.anywhere][1]
        name, shares = option.workload, pool.shares[period]
        carried = carries_rps(mixed_part(formulation, classes, name, shares, replicas, placed.configuration))
        planned = capacity_rps(pool, period) * _ROUNDING
        return planned / carried if 0 < carried < planned else Fraction(1)
    rate, planned = rate_of_pool_rps(case, option, replicas), option.rates_rps[0]
    return planned / rate if rate is not None and 0 < rate < planned else Fraction(1)


def rate_of_pool_rps(case: FleetCase, option: Option, replicas: int) -> Fraction | None:
    """What each of so many replicas like this one carries, as planned rates are rounded; None: not known."""
    formulation = case.behind(option)
    if formulation is None:
        return None
    chosen = chosen_of(formulation)
    placed = chosen.found[option.anywhere][1]
    evaluation = chosen.part(placed).evaluation
    if evaluation.pool_sizes is None or len(option.rates_rps) > 1:
        return None
    return Fraction(ceil(evaluation.rate_in_pool_rps(placed.configuration, replicas) * MICRO), MICRO)


def lost_of(demand: FleetDemand) -> int:
    """Replicas that may be lost."""
    return demand.spares.count if demand.spares.kind in ("replicas", "per_option") else 0
