"""Candidates repeated by the kinds of KV retention and the numbers of replicas, where allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planner.candidates.subset import repeated
from planner.constraints.planning_rules import refusals
from planner.performance.contenders import Rooms
from planner.performance.evaluate import batch_ceiling
from planner.performance.keeping_by_load import kept_by_load
from planner.performance.keeping_by_number import kept_by_number
from planner.performance.kept_rows import Capacity, Retention, Rows
from planner.performance.kv_retention import fetching, kv_retentions, outside, sticks
from planner.performance.memory_fit import memory_fit
from planner.performance.replica import replicas
from planner.planning.workload.case import Case
from planner.schema.candidates import BoolArray, Candidates, Column, IntArray
from planner.schema.evaluation import Variants
from planner.schema.rules import PlanningRule
from planner.schema.search import Search
from planner.steptime.specs import StepSpecs

_WAITS = ("ttft", "e2e_")


def keeping(
    case: Case, candidates: Candidates, specs: StepSpecs, search: Search, rules: Sequence[PlanningRule]
) -> tuple[Candidates, StepSpecs, Rows] | None:
    """Rows of candidates with their capacities; None where there is one way only, whatever the number.

    Args:
        case: the workload.
        candidates: configurations; ``specs`` are their columns.
        specs: see `planner.steptime`.
        search: batches to choose from, if listed.
        rules: the active planning rules.
    """
    traffic, offload = case.traffic, case.workload.kv_offload
    if traffic.reuse is None and (offload is None or case.limits_s):
        return None
    policy, headroom = case.policy, case.memory_headroom_fraction
    workers = replicas(candidates.configurations, specs, traffic, case.load.margin_z_score)
    second = None
    if offload is not None:
        link, drive = policy.host_link_efficiency_fraction, case.drive_bytes_per_s
        second = outside(offload, candidates.configurations, specs, workers, traffic, link, drive)
    fetch_s = np.zeros(len(specs)) if second is None else second.fetch_s_per_token
    if second is not None:
        workers = workers.with_fetching(fetching(specs, fetch_s))
    planned_rps = float(case.peak_rps) * (1.0 + float(case.headroom.capacity))
    retentions = kv_retentions(
        traffic,
        specs,
        case.facts,
        headroom,
        policy.prefix_cache_share,
        case.fill,
        planned_rps,
        second,
        case.limits_s,
    )
    share = policy.prefix_cache_share if traffic.reuse is None and traffic.cached_fraction > 0.0 else 0.0
    none = memory_fit(specs, traffic, headroom, np.full(len(specs), share), case.fill).max_sequences
    asked = _Asked(candidates, case, rules)
    retentions = [asked.judged(_within(retention, search)) for retention in retentions]
    rows = (kept_by_load if sticks(traffic.reuse) else kept_by_number)(
        Capacity(workers, traffic, case.load, case.limits_s),
        batch_ceiling(none, search),
        retentions,
        Rooms.of(candidates),
        asked.admitted(np.arange(len(candidates)), share > 0.0, False),
        fetch_s,
        share,
    )
    variants = rows.variants
    away = (variants.fetch_s_per_token > 0.0) | variants.pauses
    columns = asked.columns(variants.candidate, variants.caches, away)
    suffixes = _suffixes(variants, away, asked.tier)
    return repeated(candidates, variants.candidate, suffixes, columns), specs.take(variants.candidate), rows


class _Asked:
    """What rules may ask about the kinds of KV retention of candidates."""

    def __init__(self, candidates: Candidates, case: Case, rules: Sequence[PlanningRule]) -> None:
        self.candidates, self.rules = candidates, rules
        offload = case.workload.kv_offload
        self.tier = "none" if offload is None else offload.tier
        self.waits_limited = any(name[:4] in _WAITS for name in case.limits_s)
        self.reuses = case.traffic.cached_fraction > 0.0
        supports = [item.engine.supports.kv_offload for item in candidates.configurations]
        self.known = np.array([self.tier in tiers for tiers in supports])

    def columns(self, index: IntArray, cached: BoolArray | bool, away: BoolArray | bool) -> dict[str, Column]:
        """Attributes of rows.

        Args:
            index: the candidates of the rows.
            cached: rows with blocks for what may be reused.
            away: rows with KV outside the GPU.
        """
        shape = index.shape
        return {
            "prefix_cache": np.broadcast_to(cached, shape) & self.reuses,
            "kv_offload": np.where(np.broadcast_to(away, shape), self.tier, "none").astype(object),
            "kv_offload_supported": self.known[index] | ~np.broadcast_to(away, shape),
            "waits_limited": np.full(shape, self.waits_limited),
        }

    def admitted(self, index: IntArray, cached: BoolArray | bool, away: BoolArray | bool) -> BoolArray:
        """Rows that formats, shape and rules admit."""
        attributes = {name: column[index] for name, column in self.candidates.attributes.items()}
        attributes |= self.columns(index, cached, away)
        bits = [*refusals(self.rules, attributes).values(), np.zeros(index.shape, dtype=bool)]
        shape = [bit[index] for bit in self.candidates.structural.values()]
        return ~np.asarray(np.logical_or.reduce([*bits, *shape]))

    def judged(self, retention: Retention) -> Retention:
        """The way with the candidates that may be bought with it."""
        every = np.arange(len(self.candidates))
        return replace(retention, counts=self.admitted(every, retention.caches, retention.outside))


def _within(retention: Retention, search: Search) -> Retention:
    """With a batch that the problem lists."""
    return replace(retention, max_sequences=batch_ceiling(retention.max_sequences, search))


def _suffixes(variants: Variants, away: BoolArray, tier: str) -> list[str]:
    """What tells the rows of one candidate apart."""
    found = []
    rows = zip(
        variants.cache_share.tolist(),
        variants.caches.tolist(),
        away.tolist(),
        variants.replicas_from.tolist(),
        variants.replicas_to.tolist(),
        strict=True,
    )
    for share, caches, outside_, first, last in rows:
        parts = [f" cache{share * 100.0:g}%"] if share > 0.0 else [" prefix-held"] if caches else []
        parts += [f" kv-to-{tier}"] if outside_ else []
        if last:
            parts.append(f" of{first}" if first == last else f" of{first}-{last}")
        elif first > 1:
            parts.append(f" of{first}+")
        found.append("".join(parts))
    return found
