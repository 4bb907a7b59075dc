"""How far a configuration at its load lies from what was measured, by named distance.

Distances: 1 where nothing of the name was measured, or doublings beyond the largest that was:

- ``model``: this model on this GPU; ``family``: its family, on any GPU
- ``architecture``; where it has rows ``gpu``: this GPU, ``hardware``: doublings of bandwidth or of peak
  rate to the nearest measured GPU of it (a slice of a measured GPU is as near as the GPU)
- ``engine``, ``format`` (of weights, and of the KV cache), ``layout`` (kinds of parallelism that go
  together): each on this architecture, or on any where it has no rows
- ``degree``: doublings of attention or expert ranks beyond the most of the layout, here or anywhere
- ``batch``, ``context``: doublings beyond the largest, in this layout on this GPU if it has rows
- ``disaggregated``: prefill and decode on workers of their own, where no such rows are of the engine on
  this architecture
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from planner.physics.arrays import FloatArray
from planner.schema.configuration import Configuration
from planner.schema.spread import KINDS_OF_PARALLELISM, Distance, Measured, MeasuredGpu, MeasuredSetup

Distances = dict[Distance, float]
Known = Mapping[str, tuple[str, ...]]
"""Architecture -> families of models with rows on it."""
PLAIN_LAYOUT = "tensor-parallel"
_SAME_HARDWARE = 0.25
"""Doublings within which two GPUs count as the same hardware."""


@dataclass(frozen=True)
class LoadPoint:
    """A load, as far as distances are concerned."""

    batch: float = 1.0
    """Requests in flight in one replica."""
    context: float = 1.0
    """Tokens of a prompt with its answer."""
    disaggregated: bool = False


LIGHT = LoadPoint()
"""Within what was measured everywhere."""


def layout_kind(item: Configuration | MeasuredSetup) -> str:
    """The kinds of parallelism that go together, in words; tensor parallelism goes with all."""
    words = [word for name, word in KINDS_OF_PARALLELISM if getattr(item, name) > 1]
    if isinstance(item, Configuration) and item.spans_servers:
        words.append("several servers")
    return " × ".join(words) or PLAIN_LAYOUT


@dataclass(frozen=True, eq=False)
class _Near:
    """What of the measured ground belongs to a configuration, and its distances at a light load."""

    distances: Distances
    largest_batch: float
    largest_context: float
    evidence: int
    disaggregated: bool
    """Whether there are disaggregated rows of the engine."""


@dataclass(frozen=True, eq=False)
class Ground:
    """What was measured, ready to be asked."""

    measured: Measured
    known: Known
    _kept: dict[tuple[object, ...], _Near] = field(default_factory=dict)

    def is_measured(self, architecture: str) -> bool:
        """Whether an architecture has rows."""
        return any(gpu.architecture == architecture for gpu in self.measured.gpus.values())

    def knows(self, item: Configuration) -> bool:
        """Whether the family of the model has rows on the architecture."""
        return item.model.family in self.known.get(item.accelerator.architecture, ())

    @cached_property
    def _layouts(self) -> Mapping[int, str]:
        """Kinds of the measured layouts by object, told once: every configuration is compared with all."""
        return {id(setup): layout_kind(setup) for setup in self.measured.setups}

    def _of_layout(self, setups: Sequence[MeasuredSetup], kind: str) -> list[MeasuredSetup]:
        """Of measured ways, those of one kind of layout."""
        return [setup for setup in setups if self._layouts[id(setup)] == kind]

    def near(self, item: Configuration) -> Sequence[MeasuredSetup]:
        """Ways on the architecture, or all where it has no rows."""
        architecture, gpus = item.accelerator.architecture, self.measured.gpus
        mine = [setup for setup in self.measured.setups if gpus[setup.gpu].architecture == architecture]
        return mine or self.measured.setups

    def largest_batch(self, item: Configuration) -> float:
        """Requests in flight beyond which nothing near was measured."""
        return self._near(item).largest_batch

    def largest_context(self, item: Configuration) -> float:
        """Tokens beyond which nothing near was measured."""
        return self._near(item).largest_context

    def distances(self, item: Configuration, load: LoadPoint = LIGHT) -> Distances:
        """All distances above zero."""
        near = self._near(item)
        found: Distances = {
            **near.distances,
            "batch": doublings(load.batch, near.largest_batch),
            "context": doublings(load.context, near.largest_context),
            "disaggregated": float(load.disaggregated and not near.disaggregated),
        }
        return {name: value for name, value in found.items() if value > 0.0}

    def _near(self, item: Configuration) -> _Near:
        gpu = item.accelerator
        names = (item.model.id, item.model.family, gpu.id, item.engine.id, item.weights.id, item.kv.id)
        hardware = (gpu.architecture, gpu.memory.bandwidth, gpu.compute.bf16)
        degrees = (item.tp, item.pp, item.ep, item.attention_dp, item.spans_servers)
        key = (*names, *hardware, *degrees)
        if key not in self._kept:
            self._kept[key] = self._found(item)
        return self._kept[key]

    def _found(self, item: Configuration) -> _Near:
        near, kind = self.near(item), layout_kind(item)
        alike = self._of_layout(near, kind)
        on_gpu = [setup for setup in near if setup.gpu == whole_gpu(item)]
        here = [setup for setup in alike if setup.gpu == whole_gpu(item)] or alike or on_gpu or near
        return _Near(
            self._at_light_load(item, near, alike, on_gpu),
            max(setup.batch for setup in here),
            max(setup.context for setup in on_gpu or near),
            self._evidence(item, near),
            any(setup.disaggregated and setup.engine == item.engine.id for setup in near),
        )

    def _evidence(self, item: Configuration, near: Sequence[MeasuredSetup]) -> int:
        if not self.is_measured(item.accelerator.architecture):
            return 0
        names = (item.engine.id, item.weights.id)
        return sum(setup.rows for setup in near if (setup.engine, setup.weights) == names)

    def _at_light_load(
        self,
        item: Configuration,
        near: Sequence[MeasuredSetup],
        alike: Sequence[MeasuredSetup],
        on_gpu: Sequence[MeasuredSetup],
    ) -> Distances:
        families = {family for names in self.known.values() for family in names}
        formats = (_misses(near, "weights", item.weights.id), _misses(near, "kv", item.kv.id))
        found: Distances = {
            "model": float(not any(item.model.id in setup.models for setup in on_gpu)),
            "family": float(item.model.family not in families),
            "engine": _misses(near, "engine", item.engine.id),
            "format": math.hypot(*formats),
            "layout": float(not alike),
            "degree": doublings(ranks(item), self.most_ranks(item)),
        }
        if self.is_measured(item.accelerator.architecture):
            hardware = self.hardware_doublings(item)
            is_slice = whole_gpu(item) != item.accelerator.id
            found["hardware"] = hardware
            found["gpu"] = float(not on_gpu or hardware > 0.0 or is_slice)
        else:
            found["architecture"] = 1.0
        return found

    def most_ranks(self, item: Configuration) -> int:
        """Attention or expert ranks of the layout at most, on this architecture or on any."""
        kind = layout_kind(item)
        for setups in (self.near(item), self.measured.setups):
            alike = self._of_layout(setups, kind)
            if alike:
                return max(map(ranks, alike))
        return max(ranks(setup) for setup in self.measured.setups)

    def evidence(self, item: Configuration) -> int:
        """Rows of the architecture with this engine and format."""
        return self._near(item).evidence

    def hardware_doublings(self, item: Configuration) -> float:
        """To the nearest measured GPU of the architecture, in bandwidth or peak rate."""
        architecture, gpus = item.accelerator.architecture, self.measured.gpus
        if whole_gpu(item) != item.accelerator.id and whole_gpu(item) in gpus:
            return 0.0
        return min(_apart_by(item, gpu) for gpu in gpus.values() if gpu.architecture == architecture)


def ranks(item: Configuration | MeasuredSetup) -> int:
    """Attention ranks or expert ranks, whichever are more."""
    return max(item.attention_dp, item.ep)


def whole_gpu(item: Configuration) -> str:
    """The GPU, or the one that a slice is cut from."""
    return item.accelerator.id.partition(":")[0]


def doublings(value: float, largest: float) -> float:
    """Beyond the largest; 0 within."""
    return max(math.log2(value / largest), 0.0) if value > 0.0 else 0.0


def doublings_of(values: FloatArray, largest: FloatArray) -> FloatArray:
    """The same of many."""
    return np.asarray(np.log2(np.maximum(values / largest, 1.0)))


def _apart_by(item: Configuration, gpu: MeasuredGpu) -> float:
    bandwidth = abs(math.log2(float(item.accelerator.memory.bandwidth) / gpu.bandwidth_bytes_per_s))
    flops = abs(math.log2(float(item.accelerator.compute.bf16) / gpu.flops_per_s))
    most = max(bandwidth, flops)
    return most if most > _SAME_HARDWARE else 0.0


def _misses(setups: Iterable[MeasuredSetup], column: str, name: str) -> float:
    return float(not any(getattr(setup, column) == name for setup in setups))
