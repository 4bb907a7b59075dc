"""Hardware router: the cheapest configurations that hold a model, a context and a concurrency."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from planner import numbers
from planner.candidates.enumerate import enumerate_candidates
from planner.candidates.market import lots as market_lots
from planner.candidates.replica_cost import bought
from planner.candidates.space import search_space
from planner.constraints import planning_rules
from planner.errors import input_error
from planner.loaders.catalog import load_catalog
from planner.loaders.rules import load_planning_rules
from planner.performance.memory_fit import Fill, MemoryFit, memory_fit
from planner.performance.replica import specifications
from planner.performance.running import all_of
from planner.planning.documents.pool_document import memory_document
from planner.planning.requests import Names
from planner.planning.workload.case import find_model, policy_of
from planner.schema.candidates import BoolArray, Candidates, IntArray, Lot
from planner.schema.catalog import Engine, Model
from planner.schema.catalog_index import Catalog
from planner.schema.choice import Option, Supply
from planner.schema.configuration import Configuration
from planner.schema.demand import Demand
from planner.schema.estimate import Fit, FitRow
from planner.schema.hardware import Fleet
from planner.schema.lengths import Lengths, LengthSide
from planner.schema.rules import PlanningRule
from planner.schema.search import Search
from planner.schema.traffic import Traffic
from planner.schema.workload import Precision, Workload
from planner.steptime.model_facts import model_facts
from planner.steptime.remembered import Remembered

_HEADROOM_FRACTION = 0.0


@dataclass(frozen=True, eq=False)
class _Held:
    """Every configuration of a model with a context: what it holds, and which rules refuse it."""

    candidates: Candidates
    lots: Sequence[Lot]
    memory: MemoryFit | None
    """None: there are no configurations."""
    refused: Mapping[str, BoolArray]


_HELD: Remembered[_Held] = Remembered(32)
"""Who tries other numbers of sequences asks about the same configurations again and again."""


def fit(
    model: str,
    *,
    context_tokens: int,
    concurrency: int,
    weights: str | None = None,
    kv: str | None = None,
    engine: str = "vllm",
    accelerators: tuple[str, ...] = (),
    limit: int = 10,
    overlays: tuple[Path, ...] = (),
) -> Fit:
    """The cheapest configurations, memory alone considered: one a GPU type and number of GPUs.

    Of formats that fit equally the widest is shown, since nothing forces a narrower one.

    Raises:
        InputError: an unknown name, or a context beyond the model's window.
    """
    catalog, rules = load_catalog(overlays), load_planning_rules(overlays)
    names = Names(catalog, "planner fit")
    names.model(model)
    for name in accelerators:
        names.accelerator(name)
    found_engine = names.engine(engine)
    names.number_format("--weights", weights, of_kv=False)
    names.number_format("--kv", kv, of_kv=True)
    names.done()
    assert found_engine is not None
    entry = find_model(model, Path(), catalog)
    if context_tokens > entry.max_context_tokens:
        window = f"at most the window of {entry.id}, {entry.max_context_tokens:,} tokens"
        raise input_error("planner fit", "--context", f"{context_tokens:,}", window)
    said = map(sys.intern, (weights or "", kv or "", *accelerators))
    found = _HELD.of(
        (catalog, rules, entry, found_engine, context_tokens, *said),
        lambda: _held(catalog, rules, entry, found_engine, context_tokens, weights, kv, accelerators),
    )
    if found.memory is None:
        return Fit(model=entry.id, context_tokens=context_tokens, concurrency=concurrency, rows=())
    bits = {**found.refused, "vram": found.memory.max_sequences < concurrency}
    kept = ~np.any(list(bits.values()), axis=0)
    return Fit(
        model=entry.id,
        context_tokens=context_tokens,
        concurrency=concurrency,
        rows=_rows(found.candidates, found.lots, found.memory, kept)[:limit],
        refused={name: int(bit.sum()) for name, bit in bits.items() if bit.any()},
    )


def _held(
    catalog: Catalog,
    rules: Sequence[PlanningRule],
    entry: Model,
    engine: Engine,
    context_tokens: int,
    weights: str | None,
    kv: str | None,
    accelerators: tuple[str, ...],
) -> _Held:
    fleet = Fleet(accelerators=accelerators or None)
    lots = market_lots(fleet, catalog.accelerator, catalog.price_lists)
    workload = Workload(
        name="fit",
        model=entry.id,
        demand=Demand(peak_rps=1),
        lengths=_lengths(context_tokens),
        precision=Precision(weights=(weights,) if weights else None, kv=(kv,) if kv else None),
    )
    facts = model_facts(entry)
    space = search_space(workload, entry, facts, engine, fleet, Search(), catalog, paced=False)
    traffic, fill = _traffic(context_tokens), Fill(policy_of(catalog).kv_overflow_fraction)

    def holds(items: Sequence[Configuration]) -> IntArray:
        return memory_fit(specifications(items), traffic, _HEADROOM_FRACTION, 0.0, fill).max_sequences

    candidates = enumerate_candidates(space, lots, holds)
    if not len(candidates):
        return _Held(candidates, lots, None, {})
    memory = memory_fit(specifications(candidates.configurations), traffic, _HEADROOM_FRACTION, 0.0, fill)
    return _Held(candidates, lots, memory, planning_rules.refusals(rules, candidates.attributes))


def _rows(
    candidates: Candidates, lots: Sequence[Lot], memory: MemoryFit, kept: BoolArray
) -> tuple[FitRow, ...]:
    best: dict[tuple[str, int], tuple[tuple[object, ...], FitRow]] = {}
    triples = zip(
        candidates.placed_configuration, candidates.placed_lot, candidates.placed_units, strict=True
    )
    for index, lot_index, units in triples:
        if not kept[index]:
            continue
        item, lot = candidates.configurations[index], lots[lot_index]
        gpus, cost = _one_replica(item, lot, int(units))
        wide = (-item.weights.bits, -item.kv.bits, item.pp, item.attention_dp, candidates.names[index])
        key, rank = (item.accelerator.id, gpus), (cost, *wide)
        if key not in best or rank < best[key][0]:
            best[key] = (rank, _row(candidates, int(index), lot, memory, gpus, cost))
    return _worth_showing([row for _, row in sorted(best.values(), key=lambda pair: pair[0])])


def _worth_showing(rows: Sequence[FitRow]) -> tuple[FitRow, ...]:
    """Without rows that hold no more than a cheaper row of the same GPU type."""
    most: dict[str, int] = {}
    shown = []
    for row in rows:
        if row.holds > most.get(row.gpu, -1):
            shown.append(row)
            most[row.gpu] = row.holds
    return tuple(shown)


def _one_replica(item: Configuration, lot: Lot, units: int) -> tuple[int, Fraction]:
    """GPUs and price of what one replica makes one buy."""
    gpus = units * lot.unit_gpus if units else item.gpus
    option = Option("", "fit", "serve", lot.id, lot.name, gpus, (), units_per_replica=units or None)
    supply = Supply(lot.id, lot.name, lot.purchase, lot.unit_gpus, Fraction(lot.usd_per_unit_h))
    return bought(option, supply, 1)


def _row(
    candidates: Candidates, index: int, lot: Lot, memory: MemoryFit, gpus: int, cost: Fraction
) -> FitRow:
    item = candidates.configurations[index]
    notes = []
    if gpus > item.gpus:
        notes.append(f"{gpus - item.gpus:,} of {numbers.count(gpus, 'GPU')} stay free for further replicas")
    if not item.fast_link and item.tp * item.attention_dp > 1:
        notes.append("tensor parallelism over PCIe")
    if item.spans_servers:
        notes.append("spans servers")
    return FitRow(
        option=candidates.names[index],
        gpu=lot.name,
        gpus=gpus,
        tp=item.tp,
        pp=item.pp,
        ep=item.ep,
        attention_dp=item.attention_dp,
        weights=item.weights.id,
        kv=item.kv.id,
        offer=lot.offer,
        usd_per_hour=float(cost),
        holds=int(memory.max_sequences[index]),
        memory_bytes=memory_document(memory.account, index),
        notes=tuple(notes),
    )


def _lengths(context_tokens: int) -> Lengths:
    one = LengthSide(fixed=1)
    return Lengths(input=LengthSide(fixed=max(context_tokens - 1, 1)), output=one)


def _traffic(context_tokens: int) -> Traffic:
    one = np.array([1.0])
    tokens = np.array([float(context_tokens)])
    return Traffic(
        input_weight=one,
        input_tokens=tokens,
        output_weight=one,
        output_tokens=one,
        input_mean_tokens=float(context_tokens),
        output_mean_tokens=1.0,
        input_p95_tokens=float(context_tokens),
        output_p95_tokens=1.0,
        input_p99_tokens=float(context_tokens),
        output_p99_tokens=1.0,
        kv_tokens=context_tokens,
        running=all_of(context_tokens),
        cached_fraction=0.0,
        arrival_scv_ratio=1.0,
    )
