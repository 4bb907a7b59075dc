"""What the router in front of a pool is worth, in words."""

from __future__ import annotations

from math import ceil

from planner import numbers
from planner.schema.pool import Pool

_NOTICED = 1.005
"""A capacity this much larger is worth a word."""
_ROUNDING = 1e-9


def random_replicas(pool: Pool) -> int | None:
    """Replicas that the load of a pool would take behind a router that looks at nothing; None: not known.

    Equation: ceil(replicas x load x (capacity / load as planned) / capacity at random), the pool's room for
    headroom and spares kept in proportion.
    """
    routing = pool.routing
    if routing is None or routing.capacity_rps_random <= 0.0:
        return None
    return max(
        pool.replicas, ceil(pool.replicas * pool.capacity_rps / routing.capacity_rps_random - _ROUNDING)
    )


def routing_sentence(pool: Pool) -> str | None:
    """What a replica carries because of the router; None where it makes no difference."""
    routing = pool.routing
    if routing is None or pool.capacity_rps < routing.capacity_rps_alone * _NOTICED:
        return None
    text = (
        f"Behind {routing.policy} routing a replica carries {numbers.rate(pool.capacity_rps)}, alone "
        f"{numbers.rate(routing.capacity_rps_alone)}"
    )
    more = (random_replicas(pool) or pool.replicas) - pool.replicas
    return f"{text}; random routing would take {numbers.count(more, 'replica')} more." if more else f"{text}."
