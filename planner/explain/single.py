"""The plan that buys one option only: replicas, GPUs and cost, without a solver."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from planner.schema.choice import Option, PoolDemand, Supply


@dataclass(frozen=True)
class SinglePlan:
    """One option bought alone."""

    option: Option
    replicas: int
    gpus: int
    """Bought, idle ones included."""
    usd_per_h: Fraction
    power_w: Fraction


def single_plan(option: Option, supply: Supply, demand: PoolDemand) -> SinglePlan | None:
    """The cheapest plan of one option alone: max(minimum, ceil(demand / rate) + lost) replicas.

    ``lost`` is what the spares may take: so many replicas, or all replicas of so many servers. None where
    the rates of the option do not hold for so many replicas.
    Assumes one bucket; replicas smaller than a unit share it without straddling.
    """
    rate = option.rates_rps[0] * demand.max_utilization
    lost = demand.spares.count
    if demand.spares.kind == "servers" and supply.purchase == "unit" and option.units_per_replica is None:
        lost *= max(1, supply.unit_gpus // option.gpus)
    replicas = max(demand.min_replicas, ceil(demand.demand_rps[0] / rate) + lost, option.replicas_from)
    if not option.holds_for(replicas):
        return None
    gpus, cost = bought(option, supply, replicas)
    return SinglePlan(option, replicas, gpus, cost, option.power_w * replicas)


def bought(option: Option, supply: Supply, replicas: int) -> tuple[int, Fraction]:
    """GPUs and USD per hour of that many replicas of one option."""
    if supply.purchase == "option":
        return option.gpus * replicas, option.usd_per_h * replicas
    if supply.purchase == "gpu":
        gpus = option.gpus * replicas
        return gpus, gpus * supply.usd_per_unit_h
    if option.units_per_replica is not None or option.gpus > supply.unit_gpus:
        each = option.units_per_replica or ceil(option.gpus / supply.unit_gpus)
        units = each * replicas
    else:
        units = ceil(replicas / (supply.unit_gpus // option.gpus))
    return units * supply.unit_gpus, units * supply.usd_per_unit_h
