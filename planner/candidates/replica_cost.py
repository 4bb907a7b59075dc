"""What replicas of one option cost."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from planner.schema.choice import Option, Supply


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
