"""One workload with everything that was computed about its candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from planner.schema.candidates import BoolArray, Candidates, Capacities, FloatArray, IntArray
from planner.schema.facts import ModelFacts
from planner.schema.routing import Routing, RoutingPolicy
from planner.schema.traffic import Traffic
from planner.schema.workload import Workload


@dataclass(frozen=True, eq=False)
class HeldOnce:
    """Beginnings of sequences that a cache holds once and running sequences read there, by candidate."""

    copy_bytes: FloatArray
    """On one GPU; 0 = nothing is held so."""
    spared_bytes: FloatArray
    """What one sequence need not hold itself on one GPU."""
    by_all: bool
    """All requests begin alike, so whichever of them runs holds the beginning; otherwise all beginnings are
    kept whatever runs."""
    copy_tokens: float = 0.0
    """All that is held once, in tokens …"""
    spared_tokens: float = 0.0
    """… and what of it one sequence reads."""


@dataclass(frozen=True, eq=False)
class Variants:
    """Candidates that are repeated because hits depend on how KV is kept and on the number of replicas."""

    candidate: IntArray
    """Of each row, the candidate that it repeats."""
    cache_share: FloatArray
    """Blocks for what may be reused, beyond those of active requests; 0 = none."""
    once: HeldOnce
    fetch_s_per_token: FloatArray
    """Of KV kept outside the GPU; 0 where none is."""
    pauses: BoolArray
    """Running requests that do not fit are set aside outside the GPU."""
    replicas_from: IntArray
    """Fewest replicas of the workload for which the row holds."""
    replicas_to: IntArray
    """Most of them; 0 = any number."""
    after_losses: bool
    """Replicas are those left after the planned losses (hits rise with their number)."""
    held_fraction: FloatArray
    """Share of requests that find their prefix or session in the cache."""
    fetched_fraction: FloatArray
    """Share of requests that find it outside the GPU."""
    traffic: tuple[Traffic, ...]
    """Of each row, the traffic with these hits."""

    @property
    def caches(self) -> BoolArray:
        """Rows that keep anything for other requests."""
        return (self.cache_share > 0.0) | (self.once.copy_bytes > 0.0)


@dataclass(frozen=True, eq=False)
class PoolSizes:
    """What a replica of each candidate carries in a pool of several."""

    policy: RoutingPolicy
    sizes: IntArray
    """Numbers of replicas, ascending from 1; what lies between counts as the smaller one."""
    rate_rps: FloatArray
    """[candidate, size], not falling along sizes."""
    max_batch: IntArray
    """[candidate, size]."""
    random_rps: FloatArray
    """What a replica carries in a large pool whose requests go to any replica at random."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Candidates of one workload with their memory, capacity and rule verdicts."""

    workload: Workload
    model: ModelFacts
    traffic: Traffic
    candidates: Candidates
    limits_s: Mapping[str, float]
    """Latency limits by name of `Slo`."""
    needed_bytes: FloatArray
    """Memory of one GPU with one sequence of the planned length."""
    usable_bytes: FloatArray
    """Memory of one GPU that the plan may fill."""
    load_peak_bytes: FloatArray
    """Memory of one GPU while weights are loaded."""
    device_bytes: FloatArray
    """All memory of one GPU."""
    max_sequences: IntArray
    capacities: Capacities
    refusals: Mapping[str, BoolArray]
    """Violation bits of the planning rules, by rule id."""
    penalties: IntArray
    """Departures from preferences."""
    variants: Variants | None = None
    """Where candidates are repeated; all arrays and candidates here are then those of the rows."""
    pool_sizes: PoolSizes | None = None
    """Where what a replica carries rises with their number; ``capacities`` are then those in the pool that
    carries the demand (see `planner.performance.pool_sizes.in_pool`)."""

    def traffic_of(self, index: int) -> Traffic:
        """The traffic that one candidate sees."""
        return self.traffic if self.variants is None else self.variants.traffic[index]

    def traffic_in_pool(self, index: int, replicas: int) -> Traffic:
        """The same in a pool of so many replicas."""
        traffic = self.traffic_of(index)
        if self.pool_sizes is None:
            return traffic
        return replace(traffic, routing=Routing(self.pool_sizes.policy, replicas))

    def rate_in_pool_rps(self, index: int, replicas: int) -> float:
        """Largest rate of one replica in a pool of so many."""
        if self.pool_sizes is None:
            return float(self.capacities.rate_rps[index])
        place = max(int(np.searchsorted(self.pool_sizes.sizes, replicas, side="right")) - 1, 0)
        return float(self.pool_sizes.rate_rps[index, place])
