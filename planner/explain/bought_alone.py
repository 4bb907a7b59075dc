"""The plan of one hour that buys one option only: replicas, GPUs and cost, without a solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from planner.schema.choice import Option, PoolDemand
from planner.schema.fleet import Host, Line

_NONE = Fraction(0)


@dataclass(frozen=True)
class Alone:
    """One option bought alone."""

    option: Option
    replicas: int
    gpus: int
    """Bought, idle ones included."""
    usd_per_h: Fraction
    power_w: Fraction
    missing_gpus: int = 0
    """GPUs that no line of the supply has left; they cost nothing here."""


def bought_alone(option: Option, host: Host, lines: Sequence[Line], demand: PoolDemand) -> Alone | None:
    """The cheapest plan of one option alone: max(minimum, ceil(demand / rate) + lost) replicas.

    ``lost`` is what the spares may take: so many replicas, or all replicas of so many servers. None where
    the rates of the option do not hold for so many replicas.
    Assumes one bucket; replicas smaller than a server share it without straddling.

    Args:
        option: the kind of replica.
        host: the machine that it runs on.
        lines: of the supply that sell this machine.
        demand: of one hour.
    """
    each = replicas_of_server(option, host)
    lost = demand.spares.count * (max(each, 1) if demand.spares.kind == "servers" else 1)
    rate = option.rates_rps[0] * demand.max_utilization
    replicas = max(demand.min_replicas, ceil(demand.demand_rps[0] / rate) + lost, option.replicas_from)
    if not option.holds_for(replicas):
        return None
    gpus = gpus_of(option, host, each, replicas)
    bought, usd_per_h, missing = cheapest_purchase(lines, Fraction(gpus))
    return Alone(option, replicas, bought, usd_per_h, option.power_w * replicas, missing)


def replicas_of_server(option: Option, host: Host) -> int:
    """Replicas that one server (or one sliced GPU) holds; 0 where one replica takes whole servers."""
    if option.slices > 1:
        return option.slices
    if host.server_gpus is None or option.units_per_replica is not None:
        return 0
    return host.server_gpus // option.gpus


def gpus_of(option: Option, host: Host, each: int, replicas: int) -> int:
    """GPUs that so many replicas take, idle ones of their servers included."""
    if each:
        return ceil(Fraction(replicas, each)) * (1 if option.slices > 1 else host.server_gpus or 1)
    if host.server_gpus is None:
        return option.gpus * replicas
    servers = option.units_per_replica or ceil(Fraction(option.gpus, host.server_gpus))
    return servers * host.server_gpus * replicas


def cheapest_purchase(lines: Sequence[Line], gpus: Fraction) -> tuple[int, Fraction, int]:
    """GPUs bought line after line, the cheapest first; what they cost an hour; and how many are missing."""
    bought, usd_per_h, left = 0, _NONE, gpus
    for line in sorted(lines, key=lambda one: (one.usd_per_gpu_h / (1 - one.reserve), one.id)):
        wanted = ceil(left / (1 - line.reserve) / line.unit_gpus) * line.unit_gpus
        most = wanted if line.max_gpus is None else line.max_gpus // line.unit_gpus * line.unit_gpus
        taken = min(wanted, most)
        bought, usd_per_h = bought + taken, usd_per_h + taken * line.usd_per_gpu_h
        left -= taken * (1 - line.reserve)
        if left <= 0:
            break
    return bought, usd_per_h, max(ceil(left), 0)
