"""A list of configurations as columns, before any formula."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import numpy as np

from planner.physics import parallelism
from planner.physics.arrays import FloatArray
from planner.schema.catalog import Calibration, NumberFormat
from planner.schema.configuration import Configuration
from planner.schema.number_format import Part
from planner.steptime import rates
from planner.steptime.interning import Interned, by_distinct

Columns = dict[str, FloatArray]
GATHERED_GPUS = 8
"""Up to so many ranks gather the tokens of all; larger groups send them to the GPUs of their experts."""


class ConfigurationTable:
    """Objects interned by identity, numbers as arrays."""

    def __init__(self, configurations: Sequence[Configuration]) -> None:
        """Read every configuration once."""
        self.model = Interned([c.model for c in configurations])
        self.accelerator = Interned([c.accelerator for c in configurations])
        self.weights = Interned([c.weights for c in configurations])
        self.attention_weights = Interned([c.attention_weights for c in configurations])
        self.dense_weights = _of_part(self.weights, "dense")
        self.kv = Interned([c.kv for c in configurations])
        self.engine = Interned([c.engine for c in configurations])
        self.calibration = Interned([c.calibration for c in configurations])
        self.experts = Interned([c.experts for c in configurations])
        self.adapters = Interned([c.adapters for c in configurations])
        self.tp = _column([c.tp for c in configurations])
        self.pp = _column([c.pp for c in configurations])
        self.ep = _column([c.ep for c in configurations])
        self.attention_dp = _column([c.attention_dp for c in configurations])
        self.batched_tokens = _column([c.batched_tokens for c in configurations])
        self.node_gpus = _column([c.node_gpus for c in configurations])
        self.fast_link = _column([c.fast_link for c in configurations])
        self.memory_utilization = _column([c.memory_utilization for c in configurations])
        self.spans_servers = _column([c.spans_servers for c in configurations]) > 0
        self.network_bytes_per_s = _column([c.network_bytes_per_s for c in configurations])
        self.network_latency_s = _column([c.network_latency_s for c in configurations])
        self.stage_gpus = np.asarray(parallelism.gpus_per_stage(self.tp, self.attention_dp))
        self.expert_shards = np.asarray(parallelism.expert_shards(self.stage_gpus, self.ep))
        self.kept: dict[object, tuple[object, Columns]] = {}
        """Columns that outlive a change of the calibration, by what they depend on (and a hold on it)."""
        self.leaves_server = self.spans_servers & (self.stage_gpus > self.node_gpus)
        """The GPUs of a stage are in several servers."""
        spread = (self.ep > 1) & (self.attention_dp > 1)
        self.all_to_all = spread & (self.leaves_server | (self.stage_gpus > GATHERED_GPUS))
        """Tokens are sent to the GPUs of their experts alone; smaller groups gather all on every GPU."""

    def recalibrated(self, calibration: Calibration) -> ConfigurationTable:
        """The same configurations, all under one calibration."""
        table = copy.copy(self)
        table.calibration = Interned([calibration])
        table.calibration.rows = np.zeros(len(self.tp), dtype=np.intp)
        return table

    def fact(self, name: str) -> FloatArray:
        """A field of the model facts."""
        return self.model.column(lambda model: getattr(model, name))

    def staged(self, layers: FloatArray) -> FloatArray:
        """Layers of a kind in the largest stage."""
        return np.asarray(parallelism.layers_per_stage(layers, self.pp))

    def stage_fraction(self, layers: FloatArray) -> FloatArray:
        """Share of all layers of a kind that the largest stage holds."""
        return self.staged(layers) / np.maximum(layers, 1.0)

    def architecture_factor(self, name: str) -> FloatArray:
        """A factor of the architecture of the accelerator."""
        factors: FloatArray = by_distinct(
            [self.calibration, self.accelerator],
            lambda calibration, accelerator: (rates.architecture_factor(calibration, accelerator, name),),
        )[0]
        return factors

    def calibrated(self, read: Callable[..., float], name: str) -> FloatArray:
        """A parameter of the calibration."""
        return self.calibration.column(lambda calibration: read(calibration, name))


def _column(values: list[int] | list[float] | list[bool]) -> FloatArray:
    return np.array(values, dtype=np.float64)


def _of_part(weights: Interned[NumberFormat], part: Part) -> Interned[NumberFormat]:
    """The format of a part, one entry a configuration."""
    found = Interned([form.part(part) or form for form in weights.items])
    found.rows = found.rows[weights.rows]
    return found
