"""One pool of a plan in one period, and what of it is overloaded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.constraints.server_losses import Stand
from planner.schema.choice import Option, PoolDemand, Share
from planner.schema.fleet import Site

_NONE = Fraction(0)


@dataclass(frozen=True)
class Pool:
    """One pool in one period."""

    demand: PoolDemand
    """Of the period, at the level at which deferrable work is done."""
    used: Mapping[str, Option]
    placed: Mapping[tuple[str, Site], int]
    apis: frozenset[str]
    shares: Sequence[Share]
    stands: Mapping[str, Stand]
    """Of the options, on servers."""

    @property
    def name(self) -> str:
        """Workload and role."""
        return f"{self.demand.workload}/{self.demand.role}"

    @property
    def counts(self) -> dict[str, int]:
        """Replicas by option, over all sites."""
        found: dict[str, int] = defaultdict(int)
        for (option, _), count in self.placed.items():
            found[option] += count
        return dict(found)

    def outside(self, bucket: str) -> Fraction:
        """The part of a bucket that APIs take."""
        return sum((s.share for s in self.shares if s.bucket == bucket and s.option in self.apis), _NONE)


def loss_key(lost: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """A loss as evidence names it."""
    return tuple(sorted((option, count) for option, count in lost.items() if count))


def overload(pool: Pool, counts: Mapping[str, int], shares: Sequence[Share]) -> Iterator[str]:
    """Shares of every bucket sum to 1, and no option carries more than its replicas can."""
    demand = pool.demand
    loads: dict[str, Fraction] = defaultdict(Fraction)
    for b, (bucket, need) in enumerate(zip(demand.buckets, demand.demand_rps, strict=True)):
        lines = [share for share in shares if share.bucket == bucket]
        if need > 0 and sum((line.share for line in lines), _NONE) != 1:
            yield f"bucket {bucket} is served to {float(sum(line.share for line in lines))}"
        for line in lines:
            rate = pool.used[line.option].rates_rps[b] if line.option in pool.used else _NONE
            served = line.option in pool.apis or rate > 0
            if line.share < 0 or (line.share > 0 and not served):
                yield f"{line.option} cannot serve {bucket}"
            elif line.share and line.option not in pool.apis:
                loads[line.option] += line.share * need / rate
    for option, load in loads.items():
        most = counts[option] * demand.max_utilization
        if load > most:
            yield f"{option} carries {float(load)} of {float(most)} replicas"
