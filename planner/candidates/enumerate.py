"""Every configuration of a workload on every lot, and what planning rules may ask of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from planner.schema.candidates import AllowedFormat, Candidates, Column, IntArray, Lot
from planner.schema.catalog import Calibration, Engine, NumberFormat
from planner.schema.configuration import Configuration
from planner.schema.facts import ModelFacts
from planner.schema.problem import Search

_POWERS = (1, 2, 4, 8, 16, 32, 64)
_STAGES = (1, 2, 4, 8, 16)
_LARGEST_REPLICA_GPUS = 256

Holds = Callable[[Sequence[Configuration]], IntArray]
"""Sequences of the workload's length that each configuration holds in memory (0: does not fit)."""


@dataclass(frozen=True)
class Space:
    """What the configurations of one workload are made of."""

    model: ModelFacts
    engine: Engine
    calibration: Calibration
    weights: tuple[AllowedFormat, ...]
    kv: tuple[AllowedFormat, ...]
    find_format: Callable[[str], NumberFormat | None]
    search: Search
    network_bytes_per_s: float
    network_latency_s: float
    chunks: tuple[int, ...]
    """Tokens in one step at most: the chunks of chunked prefill to try."""
    stages_always: bool
    """Pipeline stages are tried everywhere (the rule against them inside a server is off)."""


@dataclass(frozen=True)
class _Site:
    """What a configuration needs to know of a lot."""

    lot: Lot
    members: tuple[int, ...]
    """Indices of the lots that are equal in this respect."""


@dataclass(frozen=True)
class _Layout:
    tp: int
    pp: int
    ep: int
    attention_dp: int

    @property
    def group(self) -> int:
        return self.tp * self.attention_dp


def enumerate_candidates(space: Space, lots: Sequence[Lot], holds: Holds) -> Candidates:
    """All configurations that the shape of model and lots admits.

    Heads must divide, a tensor-parallel group must lie inside a unit (or a rack that shares the
    link). Pipeline stages are tried where no single unit holds the model. Nothing is judged here:
    rules and limits are.

    Args:
        space: model, formats, engine and search lists. lots: what can be bought. holds: memory model.
    """
    builder = _Builder(space)
    sites = _sites(lots)
    for site in sites:
        builder.add_site(site, pp_values=(1,))
    builder.mark_fits(holds)
    for site in sites:
        builder.add_stages(site)
    return builder.finish(holds)


def _sites(lots: Sequence[Lot]) -> list[_Site]:
    groups: dict[tuple[str, int, int, int], list[int]] = {}
    for index, lot in enumerate(lots):
        key = (lot.accelerator.id, lot.unit_gpus, lot.group_limit_gpus, lot.link_gpus)
        groups.setdefault(key, []).append(index)
    return [_Site(lots[members[0]], tuple(members)) for members in groups.values()]


class _Builder:
    """Collects configurations once each and remembers where they may be placed."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.index: dict[tuple[object, ...], int] = {}
        self.configurations: list[Configuration] = []
        self.allowed: list[bool] = []
        self.placed: list[tuple[int, int, int]] = []
        self.site_of: list[tuple[str, int, str]] = []
        self.link_gpus: list[int] = []
        self.fitting: set[tuple[str, int, str]] = set()
        """Accelerator, largest group and weight format for which one unit holds the model."""

    def add_site(self, site: _Site, pp_values: tuple[int, ...], formats: set[str] | None = None) -> None:
        """Add every layout and format on one site (only the weight formats named, if any are)."""
        for layout in _layouts(self.space, site.lot, pp_values):
            for weights in self.space.weights:
                if formats is not None and weights.format.id not in formats:
                    continue
                for kv in self.space.kv:
                    self._add(site, layout, weights, kv)

    def add_stages(self, site: _Site) -> None:
        """Add pipelines where a single unit does not hold the model, or has no fast link to share it."""
        wanted = self.space.search.pp or _STAGES
        deeper = tuple(value for value in wanted if 1 < value <= self.space.model.layers)
        formats = {
            item.format.id
            for item in self.space.weights
            if self.space.stages_always
            or site.lot.accelerator.link.kind == "none"
            or (*_site_key(site.lot), item.format.id) not in self.fitting
        }
        if deeper and formats:
            self.add_site(site, deeper, formats)

    def mark_fits(self, holds: Holds) -> None:
        """Note where one unit holds at least one sequence (called before pipelines are added)."""
        if self.configurations:
            held = holds(self.configurations)
            self.fitting = {key for index, key in self._pairs() if held[index] > 0}

    def _pairs(self) -> Iterator[tuple[int, tuple[str, int, str]]]:
        yield from ((index, self.site_of[position]) for position, (index, _, _) in enumerate(self.placed))

    def _add(self, site: _Site, layout: _Layout, weights: AllowedFormat, kv: AllowedFormat) -> None:
        lot, gpus = site.lot, layout.group * layout.pp
        spans = gpus > lot.unit_gpus and gpus > lot.link_gpus
        fast = layout.group <= lot.link_gpus
        units = _whole_units(lot, layout)
        for chunk in self.space.chunks:
            key = (lot.accelerator.id, weights.format.id, kv.format.id, layout, fast, spans, chunk)
            index = self.index.get(key)
            if index is None:
                index = self._new(lot, layout, weights, kv, fast, spans, chunk)
                self.index[key] = index
            for member in site.members:
                self.placed.append((index, member, units))
                self.site_of.append((*_site_key(lot), weights.format.id))

    def _new(
        self,
        lot: Lot,
        layout: _Layout,
        weights: AllowedFormat,
        kv: AllowedFormat,
        fast: bool,
        spans: bool,
        chunk: int,
    ) -> int:
        space = self.space
        self.configurations.append(
            Configuration(
                model=space.model,
                accelerator=lot.accelerator,
                weights=weights.format,
                attention_weights=attention_format(space.model, weights.format, space.find_format),
                kv=kv.format,
                engine=space.engine,
                calibration=space.calibration,
                tp=layout.tp,
                pp=layout.pp,
                ep=layout.ep,
                attention_dp=layout.attention_dp,
                batched_tokens=chunk,
                node_gpus=lot.unit_gpus,
                fast_link=fast,
                spans_servers=spans,
                network_bytes_per_s=space.network_bytes_per_s if spans else 0.0,
                network_latency_s=space.network_latency_s if spans else 0.0,
            )
        )
        self.allowed.append(weights.allowed and kv.allowed)
        self.link_gpus.append(lot.link_gpus)
        return len(self.configurations) - 1

    def finish(self, holds: Holds) -> Candidates:
        """The candidates with their attributes."""
        held = holds(self.configurations) if self.configurations else np.zeros(0, dtype=np.int64)
        fits = np.zeros(len(self.configurations), dtype=bool)
        for index, key in self._pairs():
            fits[index] |= key in self.fitting
        placed = np.array(self.placed, dtype=np.int64).reshape(-1, 3)
        return Candidates(
            configurations=tuple(self.configurations),
            names=tuple(configuration_name(item) for item in self.configurations),
            attributes=self._attributes(held, fits),
            structural={"precision": ~np.array(self.allowed, dtype=bool)},
            placed_configuration=placed[:, 0],
            placed_lot=placed[:, 1],
            placed_units=placed[:, 2],
        )

    def _attributes(self, held: IntArray, fits: Column) -> dict[str, Column]:
        items = self.configurations
        supports = self.space.engine.supports
        tp = np.array([item.tp for item in items], dtype=np.int64)
        return {
            "tp": tp,
            "pp": np.array([item.pp for item in items], dtype=np.int64),
            "ep": np.array([item.ep for item in items], dtype=np.int64),
            "attention_dp": np.array([item.attention_dp for item in items], dtype=np.int64),
            "gpus_per_replica": np.array([item.gpus for item in items], dtype=np.int64),
            "node_gpus": np.array([item.node_gpus for item in items], dtype=np.int64),
            "link_kind": _words(item.accelerator.link.kind for item in items),
            "link_domain_gpus": np.array(self.link_gpus, dtype=np.int64),
            "fast_link": np.array([item.fast_link or item.tp * item.attention_dp == 1 for item in items]),
            "measured_all_reduce": np.array([_measured(item) for item in items]),
            "spans_servers": np.array([item.spans_servers for item in items]),
            "weights_format": _words(item.weights.id for item in items),
            "kv_format": _words(item.kv.id for item in items),
            "weights_bits": np.array([item.weights.nominal_bits for item in items], dtype=np.int64),
            "kv_bits": np.array([item.kv.nominal_bits for item in items], dtype=np.int64),
            "weights_native": np.array([weights_native(item) for item in items]),
            "weights_supported": np.array([item.weights.id in supports.weights for item in items]),
            "kv_supported": np.array([item.kv.id in supports.kv for item in items]),
            "vendor_supported": np.array([item.accelerator.vendor in supports.vendors for item in items]),
            "attention_dp_supported": np.full(len(items), supports.attention_dp),
            "pipeline_supported": np.full(len(items), supports.pipeline),
            "smallest_tp_that_fits": self._smallest_tp(held),
            "fits_one_node": fits,
            "is_moe": np.full(len(items), self.space.model.moe_layers > 0),
            "architecture": _words(item.accelerator.architecture for item in items),
            "engine": _words(item.engine.id for item in items),
        }

    def _smallest_tp(self, held: IntArray) -> IntArray:
        """Smallest tensor-parallel degree that holds a sequence, among equals in all but the degree."""

        def kind(item: Configuration) -> tuple[object, ...]:
            return (item.accelerator.id, item.weights.id, item.kv.id, item.pp, item.attention_dp)

        smallest: dict[tuple[object, ...], int] = {}
        for item, sequences in zip(self.configurations, held, strict=True):
            if sequences > 0:
                smallest[kind(item)] = min(item.tp, smallest.get(kind(item), item.tp))
        return np.array([smallest.get(kind(item), item.tp) for item in self.configurations], dtype=np.int64)


def attention_format(
    model: ModelFacts, weights: NumberFormat, find: Callable[[str], NumberFormat | None]
) -> NumberFormat:
    """Format of the attention weights: mixture-of-experts checkpoints in 4 bits often keep 16."""
    if model.moe_layers and weights.moe_attention_format:
        return find(weights.moe_attention_format) or weights
    return weights


def weights_native(item: Configuration) -> bool:
    """The matrix units multiply this weight format directly; otherwise it is weight-only."""
    return (
        item.weights.rate == "bf16"
        and item.weights.nominal_bits == 16
        or (item.weights.rate in item.accelerator.compute.native)
    )


def configuration_name(item: Configuration) -> str:
    """Unique text of every choice of a configuration."""
    parts = [item.accelerator.id, item.engine.id, f"{item.weights.id}+kv-{item.kv.id}", f"tp{item.tp}"]
    parts += [f"pp{item.pp}"] if item.pp > 1 else []
    parts += [f"dp{item.attention_dp}"] if item.attention_dp > 1 else []
    parts += [f"ep{item.ep}"] if item.ep > 1 else []
    parts += ["pcie"] if not item.fast_link and item.tp * item.attention_dp > 1 else []
    parts += ["across-servers"] if item.spans_servers else []
    return " ".join([*parts, f"chunk{item.batched_tokens}"])


def _words(items: Iterator[str] | Sequence[str]) -> Column:
    return np.array(list(items), dtype=object)


def _measured(item: Configuration) -> bool:
    return any(row.gpus == item.tp for row in item.accelerator.link.measured_all_reduce)


def _site_key(lot: Lot) -> tuple[str, int]:
    return (lot.accelerator.id, lot.group_limit_gpus)


def _whole_units(lot: Lot, layout: _Layout) -> int:
    """Units that a replica larger than one takes whole; stages never straddle units."""
    if layout.group * layout.pp <= lot.unit_gpus:
        return 0
    if layout.group > lot.unit_gpus:
        return math.ceil(layout.group * layout.pp / lot.unit_gpus)
    return math.ceil(layout.pp / (lot.unit_gpus // layout.group))


def _layouts(space: Space, lot: Lot, pp_values: tuple[int, ...]) -> Iterator[_Layout]:
    search, model = space.search, space.model
    stages = [value for value in pp_values if search.pp is None or value in search.pp]
    limit = lot.group_limit_gpus
    ranks = search.attention_dp or (
        _POWERS if model.moe_layers and space.engine.supports.attention_dp else (1,)
    )
    for tp in search.tp or _POWERS:
        for attention_dp in ranks:
            group = tp * attention_dp
            if group > limit or not heads_divide(model, tp):
                continue
            for ep in _expert_degrees(space, group, attention_dp):
                for pp in stages:
                    if group * pp <= _LARGEST_REPLICA_GPUS:
                        yield _Layout(tp, pp, ep, attention_dp)


def heads_divide(model: ModelFacts, tp: int) -> bool:
    """Query heads split evenly, and KV heads split or are replicated evenly."""
    kv_even = model.is_mla or model.kv_heads % tp == 0 or tp % model.kv_heads == 0
    return model.query_heads % tp == 0 and kv_even


def _expert_degrees(space: Space, group: int, attention_dp: int) -> tuple[int, ...]:
    """Expert-parallel degrees: whole experts over all GPUs of a stage, or experts split like other weights."""
    model = space.model
    if not model.moe_layers:
        return (1,)
    natural = (group,) if attention_dp > 1 else (1,)
    wanted = space.search.ep or natural
    return tuple(ep for ep in wanted if ep in (1, group) and model.experts % ep == 0)
