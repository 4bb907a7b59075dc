"""What passes between the steps of planning: places to buy, candidate replicas, verdicts, options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from planner.schema.catalog import Accelerator, NumberFormat
from planner.schema.configuration import Configuration
from planner.schema.pool import OfferTaken

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Column = FloatArray | IntArray | BoolArray | NDArray[np.object_]


@dataclass(frozen=True)
class Lot:
    """One thing that can be bought: an instance of a price list, or servers at the user's price."""

    id: str
    accelerator: Accelerator
    name: str
    """The name that the problem uses for the accelerator, else the catalog id."""
    unit_gpus: int
    """GPUs of one instance or server."""
    group_limit_gpus: int
    """Largest group of GPUs on one fast link: the instance, or the rack where servers share the link."""
    fast_link: bool
    """The GPUs of one unit are joined by a fast link."""
    link_gpus: int
    """GPUs that share the fast link inside the unit (bridge pair 2, HGX 8)."""
    purchase: Literal["unit", "gpu"]
    usd_per_unit_h: Decimal
    """Price of one instance (``unit``) or one GPU (``gpu``)."""
    offer: OfferTaken | None
    slices: int = 1
    """Replicas that share one device, each on a slice of its own."""
    whole: str = ""
    """Of slices: the id of the lot whose devices are sliced."""

    @property
    def usd_per_gpu_h(self) -> Decimal:
        """Price of one GPU."""
        return self.usd_per_unit_h / self.unit_gpus if self.purchase == "unit" else self.usd_per_unit_h


@dataclass(frozen=True)
class AllowedFormat:
    """A number format to try, and whether the problem allows it."""

    format: NumberFormat
    allowed: bool


@dataclass(frozen=True, eq=False)
class Candidates:
    """Configurations of one workload, and the lots on which each may be placed."""

    configurations: tuple[Configuration, ...]
    names: tuple[str, ...]
    """Unique text of every choice made, without the offer."""
    attributes: Mapping[str, Column]
    """What planning rules look at, one entry a configuration."""
    structural: Mapping[str, BoolArray]
    """Violation bits known before any physics: precision, divisibility, interconnect."""
    placed_configuration: IntArray
    """Pairs of configuration and lot: the configuration …"""
    placed_lot: IntArray
    """… and the lot."""
    placed_units: IntArray
    """Whole units that one replica takes there; 0 where several replicas may share a unit."""
    placed_part: BoolArray
    """The lot sells parts of servers."""

    def __len__(self) -> int:
        """Number of configurations."""
        return len(self.configurations)

    def has_weight_bits(self, least: int) -> BoolArray:
        """Configurations whose weights have so many bits or more."""
        if not least:
            return np.ones(len(self), dtype=bool)
        return np.array([item.weights.nominal_bits >= least for item in self.configurations], dtype=bool)


@dataclass(frozen=True, eq=False)
class Verdict:
    """One named constraint over the candidates."""

    id: str
    title: str
    unit: str
    value: FloatArray
    limit: FloatArray
    violated: BoolArray
    texts: tuple[str, ...] | None = None
    """What was found, in words, for constraints that are not numbers."""

    @property
    def slack(self) -> FloatArray:
        """Limit - value."""
        return np.asarray(self.limit - self.value)


@dataclass(frozen=True, eq=False)
class Capacities:
    """The largest load of one replica per configuration, and what holds there."""

    max_batch: IntArray
    """Largest batch at which every latency limit holds; 0 = none."""
    rate_rps: FloatArray
    latency_s: Mapping[str, FloatArray]
    """At max_batch, or at a batch of one where nothing holds."""
    latency_violated: Mapping[str, BoolArray]
    """By metric (ttft, itl, tpot, e2e): even a batch of one breaks a limit."""
    limited_by: tuple[str, ...]
    """What stops a larger batch: a metric, vram, or max-batch."""
    evaluations: int
    """Operating points (configuration x batch) evaluated."""
