"""How requests are spread over the replicas of a pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from planner.schema.base import Noun

RoutingPolicy = Literal[
    "least-loaded", "power-of-two", "round-robin", "random", "shared-queue", "cache-aware"
]
POLICIES: tuple[RoutingPolicy, ...] = get_args(RoutingPolicy)
SCATTERING: tuple[RoutingPolicy, ...] = ("random", "cache-aware")
"""Policies that send requests without regard to what replicas have to do; what is sticky cannot be moved."""


@dataclass(frozen=True)
class Routing:
    """The router in front of a pool, and what it chooses from."""

    policy: RoutingPolicy = "random"
    replicas: int = 1
    """Replicas of the pool; those left where some may be lost."""


ALONE = Routing()
"""One replica, whatever comes."""


class RouterCost(Noun):
    """The cheapest fleet behind another router, everything else as stated."""

    policy: RoutingPolicy
    cost_usd_per_hour: float | None
    """None: nothing keeps every limit behind it."""
    saves_usd_per_hour: float | None
    """Below zero where it costs more."""
    proved: bool
    """False: a limit of time ended the search, and a cheaper fleet may exist."""
