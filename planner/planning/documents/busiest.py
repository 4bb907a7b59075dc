"""Which hours of a large fleet are looked at when all of them would take too long."""

from __future__ import annotations

from planner import numbers
from planner.schema.fleet import FleetChoice

_MOST_POOLS = 800
"""Pools in use, summed over the hours, whose losses are all looked at: some seconds."""
_HOURS = 4


def hours_to_lose(choice: FleetChoice) -> tuple[int, ...] | None:
    """The hours with the most GPUs bought, of a fleet too large to look at all; None: all hours."""
    if sum(len(period.counts) for period in choice.periods) <= _MOST_POOLS:
        return None
    gpus = [sum(period.bought.values()) for period in choice.periods]
    order = sorted(range(len(gpus)), key=lambda t: (-gpus[t], t))
    return tuple(sorted(order[:_HOURS]))


def remark(choice: FleetChoice) -> str | None:
    """What the plan then has to say."""
    hours = hours_to_lose(choice)
    if hours is None or len(hours) == len(choice.periods):
        return None
    named, looked_at = ", ".join(str(hour) for hour in hours), numbers.count(len(hours), "hour")
    return f"what is survived was looked at in the {looked_at} with the most GPUs only: {named}"
