"""The demand of workloads with the options left for them, in exact numbers and in floats."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from planner.schema.choice import Coupling, Option, ServingMode
from planner.schema.fleet import Api, Deferrable, FleetDemand, Site
from planner.solver.cp.integers import common_integers
from planner.solver.mip.mip import Floats


@dataclass(frozen=True)
class Place:
    """One option at one stand."""

    option: int
    """Its number in the pool."""
    site: Site
    stand: int
    room_gpus: int | Fraction


@dataclass(frozen=True)
class Pool:
    """The demand of one workload and role with the options and places left for it."""

    demand: FleetDemand
    options: tuple[Option, ...]
    places: tuple[Place, ...]

    @cached_property
    def rates(self) -> tuple[tuple[Fraction, ...], ...]:
        """[option][bucket], within max_utilization."""
        share = self.demand.max_utilization
        return tuple(tuple(rate * share for rate in option.rates_rps) for option in self.options)

    @cached_property
    def rates_f(self) -> Floats:
        """The same in floats."""
        buckets = len(self.demand.buckets)
        return np.array([[float(r) for r in row] for row in self.rates]).reshape(len(self.options), buckets)

    @cached_property
    def integers(self) -> tuple[list[list[int]], list[list[int]]]:
        """Rates [option][bucket] and demand [period][bucket] as whole numbers of one unit."""
        demand = self.demand.demand_rps
        numbers, _ = common_integers([number for row in (*self.rates, *demand) for number in row])
        size = len(self.demand.buckets)
        rows = [numbers[at * size : (at + 1) * size] for at in range(len(self.rates) + len(demand))]
        return rows[: len(self.rates)], rows[len(self.rates) :]

    @cached_property
    def demand_f(self) -> Floats:
        """[period][bucket]."""
        return np.array([[float(d) for d in row] for row in self.demand.demand_rps])

    @property
    def spares(self) -> int:
        """How many are lost."""
        return self.demand.spares.count

    def spares_of(self, *kinds: str) -> int:
        """How many are lost, where the spares are of one of these kinds."""
        return self.spares if self.demand.spares.kind in kinds else 0

    @property
    def least(self) -> int:
        """Replicas that a pool in use must have."""
        return max(self.demand.min_replicas, self.spares_of("replicas"))

    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Places that are lost together: by zone or provider."""
        by: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for number, place in enumerate(self.places):
            by[place.site.part(self.demand.spares.kind)].append(number)
        return tuple(tuple(by[key]) for key in sorted(by))

    @cached_property
    def loads(self) -> Floats:
        """[period][option]: replicas that carry all that the option can carry, at level 1."""
        with np.errstate(divide="ignore"):
            per_rate = np.where(self.rates_f > 0, 1.0 / self.rates_f, 0.0)
        return np.asarray(self.demand_f @ per_rate.T)

    def carries(self, option: int) -> bool:
        """Replicas of one option carry all that the pool must."""
        needs = self.demand_f.max(axis=0) > 0
        return bool(np.all(self.rates_f[option][needs] > 0))

    def most(self, option: int, period: int, level: Fraction) -> int:
        """More replicas of one option than this are never needed."""
        load = float(self.loads[period, option]) * float(level)
        return self._most(load)

    def most_ever(self, option: int, level: Fraction) -> int:
        """The same for the busiest period."""
        return self._most(self._busiest[option] * float(level))

    def _most(self, load: float) -> int:
        spares = 0 if self.demand.spares.kind in ("zones", "providers") else self.spares
        return max(self._least_ever, math.ceil(load * (1 + 1e-9) + 1e-9) + spares)

    @cached_property
    def _busiest(self) -> list[float]:
        """[option] of `loads`, in the busiest period."""
        found: list[float] = self.loads.max(axis=0, initial=0.0).tolist()
        return found

    @cached_property
    def _least_ever(self) -> int:
        return max(self.least, 1, *(one.replicas_from for one in self.options))


@dataclass(frozen=True)
class Work:
    """One workload: its pools by serving mode, its coupling, suppliers and deadline."""

    name: str
    pools: tuple[Pool, ...]
    coupling: Coupling | None
    apis: tuple[Api, ...]
    day_limits: bool = False
    """Limits on the layouts of the whole day concern it."""
    pays_starts: bool = False
    """Replicas of it cost money when they start."""

    @property
    def modes(self) -> tuple[ServingMode, ...]:
        """How it may be served."""
        roles = {pool.demand.role for pool in self.pools}
        found: list[ServingMode] = []
        if "serve" in roles:
            found.append("aggregated")
        if roles - {"serve"}:
            found.append("disaggregated")
        return tuple(found)

    @property
    def deferrable(self) -> Deferrable | None:
        """Where the work may wait."""
        return next((p.demand.deferrable for p in self.pools if p.demand.deferrable is not None), None)

    @property
    def one_layout(self) -> bool:
        """No pool changes its option between periods, and the serving mode stays."""
        return any(not pool.demand.mix for pool in self.pools)

    @property
    def whole_day(self) -> bool:
        """Something ties its periods to one another."""
        return self.one_layout or self.day_limits or self.pays_starts or self.deferrable is not None

    @property
    def most_level(self) -> Fraction:
        """The highest level that any period can have."""
        waits = self.deferrable
        if waits is None:
            return Fraction(1)
        arrivals, periods = waits.arrivals, len(waits.arrivals)
        window = min(waits.deadline, periods)
        return max(
            sum((arrivals[(t - back) % periods] for back in range(window)), Fraction(0))
            for t in range(periods)
        )

    def matched(self, mode: ServingMode) -> bool:
        """The replicas of this way stand at several places, and each decodes what it prefills."""
        return any(o.place for pool in self.pools if mode_of(pool) == mode for o in pool.options)


def mode_of(pool: Pool) -> ServingMode:
    """The serving mode that a pool belongs to."""
    return "aggregated" if pool.demand.role == "serve" else "disaggregated"
