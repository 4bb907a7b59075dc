"""What other programs take from a plan: where requests go, and what runs when."""

from __future__ import annotations

from typing import Literal

from planner.schema.base import Noun


class PoolWeight(Noun):
    """Part of a bucket's requests that goes to one pool or outside supplier."""

    pool: str
    """Id of the pool or the supplier."""
    share: float
    """Of the workload's requests: those of all pools where they come in (``serve`` and ``prefill``) sum to 1
    for every bucket. ``decode``: of what is prefilled disaggregated, which sums to 1 too."""
    weight: int
    """The same in thousandths, rounded so that weights whose shares sum to 1 sum to 1000."""


class BucketRoutes(Noun):
    """One bucket of a workload."""

    bucket: str
    pools: tuple[PoolWeight, ...]
    """The largest share first."""


class WorkloadRoutes(Noun):
    """Where the requests of one workload go, in one role."""

    workload: str
    role: Literal["serve", "prefill", "decode"]
    """``prefill`` and ``decode`` each see every request that is served disaggregated."""
    buckets: tuple[BucketRoutes, ...]


class Routes(Noun):
    """The routing of a plan."""

    problem: str
    period: int | None
    """The hour, from 0; None: shares of the whole day."""
    periods: int
    workloads: tuple[WorkloadRoutes, ...]


class LineHours(Noun):
    """GPUs of one line of the supply by hour."""

    line: str
    gpu: str
    term: str | None
    """None where the plan names no line."""
    place: str | None
    gpus: tuple[int, ...]


class PoolHours(Noun):
    """Replicas of one pool by hour."""

    pool: str
    gpu: str
    site: str | None
    gpus_per_replica: int
    replicas: tuple[int, ...]


class ScheduledOrder(Noun):
    """One order, or GPUs that are given back."""

    line: str
    gpus: int
    """More, or below zero fewer, than in the hour before."""
    period: int
    """The hour from which they are there (or gone), from 0."""
    lead_s: float
    order_at_s: float
    """When the order has to be out, in seconds after the start of hour 0; hours repeat, so an order for the
    first hour may lie late in the last."""


class Schedule(Noun):
    """What runs and what is bought in every hour."""

    problem: str
    periods: int
    lines: tuple[LineHours, ...]
    pools: tuple[PoolHours, ...]
    usd: tuple[float, ...]
    """Of each hour; empty where the plan does not say."""
    orders: tuple[ScheduledOrder, ...]
