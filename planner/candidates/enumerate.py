"""Every configuration of a workload on every lot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product

import numpy as np

from planner.candidates.attributes import attributes, configuration_name
from planner.candidates.layouts import Layout, Space, divides, layouts, spreads_experts, whole_units
from planner.schema.candidates import AllowedFormat, BoolArray, Candidates, IntArray, Lot
from planner.schema.catalog import NumberFormat
from planner.schema.configuration import Configuration
from planner.schema.facts import ModelFacts
from planner.steptime.quality import exceeds, quality_losses
from planner.steptime.splitting import heads_divide

__all__ = ["Holds", "Space", "attention_format", "enumerate_candidates", "heads_divide"]

Holds = Callable[[Sequence[Configuration]], IntArray]
"""Sequences of the workload's length that each configuration holds in memory (0: does not fit)."""


@dataclass(frozen=True)
class _Site:
    """Lots that are equal in everything but price and place."""

    lot: Lot
    members: tuple[int, ...]
    """Indices of the lots."""


def enumerate_candidates(space: Space, lots: Sequence[Lot], holds: Holds) -> Candidates:
    """All configurations that the shape of model and lots admits.

    Heads must divide, a tensor-parallel group must lie inside a unit (or a rack that shares the
    link). Pipeline stages are tried where no single unit holds the model. Nothing is judged here:
    rules and limits are.

    Args:
        space: model, formats, engine and search lists.
        lots: what can be bought.
        holds: memory model.
    """
    builder = _Builder(space, _sites(lots), holds)
    for site in range(len(builder.sites)):
        builder.add_site(site, deeper=False)
    builder.mark_fits()
    for site in range(len(builder.sites)):
        builder.add_stages(site)
    return builder.finish()


def _sites(lots: Sequence[Lot]) -> list[_Site]:
    groups: dict[tuple[str, int, int, int], list[int]] = {}
    for index, lot in enumerate(lots):
        key = (lot.accelerator.id, lot.unit_gpus, lot.group_limit_gpus, lot.link_gpus)
        groups.setdefault(key, []).append(index)
    return [_Site(lots[members[0]], tuple(members)) for members in groups.values()]


class _Builder:
    """Collects configurations once each and remembers where they may be placed."""

    def __init__(self, space: Space, sites: Sequence[_Site], holds: Holds) -> None:
        self.space = space
        self.sites = sites
        self.holds = holds
        self.index: dict[tuple[object, ...], int] = {}
        self.configurations: list[Configuration] = []
        self.link_gpus: list[int] = []
        self.allowed: list[bool] = []
        self.divides: list[bool] = []
        self.within: list[bool] = []
        """The tensor-parallel group lies where it may."""
        self.held = np.zeros(0, dtype=np.int64)
        self.placed: list[tuple[int, int, int]] = []
        """Configuration, site, whole units."""
        self.fitting: set[tuple[int, str]] = set()
        """Site and weight format for which one unit holds the model on its fast link."""

    def add_site(self, site: int, deeper: bool, formats: set[str] | None = None) -> None:
        """Add every layout and format on one site (only the weight formats named, if any are)."""
        lot = self.sites[site].lot
        found = [
            layout for layout in layouts(self.space, lot.group_limit_gpus, deeper) if _linked(lot, layout)
        ]
        for weights in self.space.weights:
            if formats is None or weights.format.id in formats:
                attention = attention_format(self.space.model, weights.format, self.space.find_format)
                for kv in self.space.kv:
                    for layout in found:
                        self._add(site, layout, weights, attention, kv)

    def mark_fits(self) -> None:
        """Note where GPUs of one unit hold a sequence; called between single stages and pipelines.

        A group that leaves the fast link does not count: rules mostly refuse it, and then a pipeline
        of smaller groups is what such a server can run.
        """
        self._measure()
        self.fitting = {
            (site, self.configurations[index].weights.id)
            for index, site, _ in self.placed
            if self.held[index] > 0 and self._in_one_unit(index)
        }

    def _in_one_unit(self, index: int) -> bool:
        item = self.configurations[index]
        return item.fast_link and self.within[index] and not item.spans_servers

    def add_stages(self, site: int) -> None:
        """Add pipelines where a single unit does not hold the model, or has no fast link to share it."""
        if self.sites[site].lot.slices > 1:
            return  # Slices have no link to each other.
        free = self.space.stages_always or self.sites[site].lot.accelerator.link.kind == "none"
        formats = {
            item.format.id
            for item in self.space.weights
            if free or (site, item.format.id) not in self.fitting
        }
        if formats:
            self.add_site(site, deeper=True, formats=formats)

    def finish(self) -> Candidates:
        """The candidates with their attributes."""
        self._measure()
        fits = np.zeros(len(self.configurations), dtype=bool)
        for index, site, _ in self.placed:
            fits[index] |= (site, self.configurations[index].weights.id) in self.fitting
        rows = [
            (index, member, units)
            for index, site, units in self.placed
            for member in self.sites[site].members
        ]
        placed = np.array(rows, dtype=np.int64).reshape(-1, 3)
        parts = np.array(
            [
                _part_of_server(self.sites[site].lot, self.space.fabric)
                for _, site, _ in self.placed
                for _ in self.sites[site].members
            ],
            dtype=bool,
        )
        only_parts = np.ones(len(self.configurations), dtype=bool)
        np.logical_and.at(only_parts, placed[:, 0], parts)
        return Candidates(
            configurations=tuple(self.configurations),
            names=tuple(configuration_name(item) for item in self.configurations),
            attributes=attributes(
                self.configurations,
                self.link_gpus,
                only_parts,
                self.held,
                fits,
                self.space.evicts,
                self.space.caches,
            ),
            structural={
                "precision": _not(self.allowed),
                "max-quality-loss": _lossy(self.configurations, self.space.max_quality_loss),
                "divisibility": _not(self.divides),
                "interconnect": _not(self.within),
            },
            placed_configuration=placed[:, 0],
            placed_lot=placed[:, 1],
            placed_units=placed[:, 2],
            placed_part=parts,
        )

    def _measure(self) -> None:
        """Ask the memory model about the configurations that are new."""
        new = self.configurations[self.held.size :]
        if new:
            self.held = np.concatenate([self.held, self.holds(new)])

    def _add(
        self, site: int, layout: Layout, weights: AllowedFormat, attention: NumberFormat, kv: AllowedFormat
    ) -> None:
        lot = self.sites[site].lot
        spans = layout.gpus > lot.unit_gpus and layout.gpus > lot.link_gpus
        # Stages of single PCIe cards in one server talk over PCIe; between servers over the network.
        bare = layout.pp > 1 and lot.link_gpus == 1 < lot.unit_gpus
        wide = spreads_experts(self.space, layout, lot.group_limit_gpus)
        fast = (layout.tp if wide else layout.group) <= lot.link_gpus and not bare
        server = lot.unit_gpus if spans else 0
        own = spans and _part_of_server(lot, self.space.fabric)
        units = whole_units(lot, layout)
        for chunk, draft in product(self.space.chunks, range(len(self.space.drafts))):
            place = (lot.accelerator.id, fast, server, own)
            key = (place, weights.format.id, kv.format.id, layout, chunk, draft)
            index = self.index.get(key)
            if index is None:
                index = self.index[key] = len(self.configurations)
                self.configurations.append(
                    self._configuration(
                        lot, layout, weights.format, attention, kv.format, fast, spans, chunk, draft
                    )
                )
                self.link_gpus.append(lot.link_gpus)
                self.allowed.append(weights.allowed and kv.allowed)
                self.divides.append(divides(self.space, layout))
                self.within.append(wide or layout.group <= lot.group_limit_gpus)
            self.placed.append((index, site, units))

    def _configuration(
        self,
        lot: Lot,
        layout: Layout,
        weights: NumberFormat,
        attention: NumberFormat,
        kv: NumberFormat,
        fast: bool,
        spans: bool,
        chunk: int,
        draft: int,
    ) -> Configuration:
        space = self.space
        return Configuration(
            model=space.model,
            accelerator=lot.accelerator,
            weights=weights,
            attention_weights=attention,
            kv=kv,
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
            drafting=space.drafts[draft],
            experts=space.experts,
            adapters=space.adapters,
        )


def attention_format(
    model: ModelFacts, weights: NumberFormat, find: Callable[[str], NumberFormat | None]
) -> NumberFormat:
    """Format of the attention weights: mixture-of-experts checkpoints in 4 bits often keep 16."""
    own = weights.part("attention")
    if own is not None:
        return own
    if model.moe_layers and weights.moe_attention_format:
        return find(weights.moe_attention_format) or weights
    return weights


def _linked(lot: Lot, layout: Layout) -> bool:
    """The catalog knows how the GPUs of a stage, and its stages, reach each other."""
    known = lot.accelerator.host.pcie_one_way is not None or lot.accelerator.link.measured_all_reduce
    inside = min(layout.group, lot.group_limit_gpus) <= lot.link_gpus
    return bool(known) or (inside and (layout.pp == 1 or lot.accelerator.link.one_way is not None))


def _not(bits: Sequence[bool]) -> BoolArray:
    return ~np.array(bits, dtype=bool)


def _lossy(items: Sequence[Configuration], most: Decimal | None) -> BoolArray:
    """Configurations whose formats cost more quality than the problem takes, by what is published."""
    if most is None:
        return np.zeros(len(items), dtype=bool)
    return np.array([exceeds(loss, most) for loss in quality_losses(items)], dtype=bool)


def _part_of_server(lot: Lot, fabric: bool) -> bool:
    """An instance with fewer GPUs than the server that it is cut from, or with one and no stated network."""
    if lot.offer is None:
        return False
    return lot.unit_gpus < lot.accelerator.host.node_size or (lot.unit_gpus == 1 and not fabric)
