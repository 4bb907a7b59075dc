"""The kinds of KV retention that a workload allows, sized for every candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.performance import residency
from planner.performance.kept_rows import Retention
from planner.performance.load import Fetching, Replicas
from planner.performance.memory_fit import Fill, MemoryFit, memory_fit
from planner.performance.steady_state import prompt_context_tokens
from planner.schema.candidates import BoolArray, FloatArray, IntArray
from planner.schema.configuration import Configuration
from planner.schema.evaluation import HeldOnce
from planner.schema.facts import ModelFacts
from planner.schema.reuse import KvOffload
from planner.schema.traffic import Reuse, Traffic
from planner.steptime.memory import copy_bytes, sequence_bytes, spared_bytes
from planner.steptime.specs import StepSpecs

_NEARLY_ALL_SCORE = 3.0
"""Standard deviations of the need of a full batch that room outside the GPU must take."""


@dataclass(frozen=True, eq=False)
class Outside:
    """A second level for KV outside the GPU, by candidate."""

    capacity_bytes: float
    """For one GPU."""
    fetch_s_per_token: FloatArray
    """0 where there is no link to it."""
    compute_s_per_token: FloatArray
    """Of a prompt, alone."""

    @property
    def pays(self) -> BoolArray:
        """Fetching is faster than computing again."""
        return (self.fetch_s_per_token > 0.0) & (self.fetch_s_per_token < self.compute_s_per_token)


def outside(
    offload: KvOffload,
    configurations: Sequence[Configuration],
    specs: StepSpecs,
    replicas: Replicas,
    traffic: Traffic,
    link_efficiency_fraction: float,
    drive_bytes_per_s: float,
) -> Outside:
    """The second level as a workload allows it.

    Args:
        offload: tier, room and bandwidth.
        configurations: candidates; ``specs`` are their columns.
        specs: see `planner.steptime`.
        replicas: step times.
        traffic: gives the contexts that are fetched.
        link_efficiency_fraction: share of the host link that copies reach.
        drive_bytes_per_s: read rate of one drive; the GPUs of a server share it.
    """
    rows = np.arange(len(specs), dtype=np.int64)
    tokens = max(traffic.input_mean_tokens if traffic.reuse is None else traffic.reuse.entry_tokens, 1.0)
    rate = np.array(
        [_bytes_per_s(offload, item, link_efficiency_fraction, drive_bytes_per_s) for item in configurations]
    )
    per_token = sequence_bytes(specs, rows, tokens) / tokens
    fetch_s = np.divide(per_token, rate, out=np.zeros_like(per_token), where=rate > 0.0)
    chunk = np.maximum(np.minimum(replicas.batched_tokens - 1.0, tokens), 1.0)
    one, seen = np.ones(rows.shape), np.full(rows.shape, prompt_context_tokens(traffic))
    context = np.full(rows.shape, traffic.decode_context_tokens)
    step_s = replicas.mixed_s(rows, one, context, chunk, seen, one)
    return Outside(float(offload.capacity_per_gpu), fetch_s, step_s / chunk)


def _bytes_per_s(
    offload: KvOffload, item: Configuration, link_efficiency_fraction: float, drive_bytes_per_s: float
) -> float:
    """Of one GPU; 0 where the catalog knows no link to the host."""
    link = item.accelerator.host.pcie_one_way
    host = 0.0 if link is None else float(link) * link_efficiency_fraction
    if offload.bandwidth is not None:
        return float(offload.bandwidth)
    return host if offload.tier == "host" else min(host, drive_bytes_per_s / item.node_gpus)


def fetching(specs: StepSpecs, fetch_s_per_token: FloatArray) -> Fetching:
    """What the load model needs of it: every attention rank has links of its own."""
    return Fetching(fetch_s_per_token, specs.attention_dp)


def kv_retentions(
    traffic: Traffic,
    specs: StepSpecs,
    facts: ModelFacts,
    headroom_fraction: float,
    default_share: float,
    fill: Fill,
    planned_rps: float,
    second: Outside | None,
    limits_s: Mapping[str, float],
) -> list[Retention]:
    """Every way that is allowed; none where nothing can be used again or set aside.

    Running requests are set aside only where no latency is limited: they stop in the middle of an answer.

    Args:
        traffic: with what may be reused.
        specs: candidates.
        facts: the model.
        headroom_fraction: memory kept free.
        default_share: blocks beyond those of active requests, where the problem does not say.
        fill: how full a batch is.
        planned_rps: rate that the cache is sized for.
        second: the level outside the GPU, if the workload allows one.
        limits_s: latency limits by name.
    """
    reuse, pauses = traffic.reuse, second is not None and not limits_s
    if reuse is None and not pauses:
        return []
    shares = (default_share if traffic.cached_fraction > 0.0 else 0.0,) if reuse is None else reuse.shares
    common = _common(specs, 0.0 if reuse is None else reuse.shared_tokens)
    found = _all_held(traffic, specs, facts, headroom_fraction, fill, planned_rps)
    # What all requests begin with may be all that is kept.
    least = (0.0,) if common is not None and reuse is not None and reuse.open_share else ()
    for level in (None, second) if second is not None and reuse is not None else (second,):
        # What the cache does not hold is fetched: a larger share would only take room from requests.
        for share in (*least, *shares) if level is None else shares[:1]:
            fit = _fit(traffic, specs, headroom_fraction, share, fill, level if pauses else None, common)
            held = _held(traffic, specs, facts, fit, share, default_share, planned_rps, level, common)
            usable = _usable(traffic, specs, fit, level, pauses)
            outside_ = level is not None
            found.append(
                Retention(share, fit.max_sequences, held, usable, outside_, pauses and outside_, common)
            )
    return found


def _common(specs: StepSpecs, tokens: float) -> HeldOnce | None:
    """What all requests begin with, held once; None where they begin differently."""
    if not tokens:
        return None
    rows = np.arange(len(specs), dtype=np.int64)
    return HeldOnce(copy_bytes(specs, rows, tokens), spared_bytes(specs, rows, tokens), True, tokens, tokens)


def _all_held(
    traffic: Traffic,
    specs: StepSpecs,
    facts: ModelFacts,
    headroom_fraction: float,
    fill: Fill,
    planned_rps: float,
) -> list[Retention]:
    """Every cache holds all prefixes, and running requests read them there, where the prefixes are known.

    It finds the same whatever the number of replicas and the routing.
    """
    reuse = traffic.reuse
    if reuse is None or not reuse.open_share or reuse.entries_per_rps > 0.0:
        return []
    needed = residency.set_bytes(reuse, planned_rps, facts, specs)
    if needed is None:
        return []
    rows = np.arange(len(specs), dtype=np.int64)
    found_tokens = min(float(reuse.weight @ reuse.found_tokens), reuse.entry_tokens)
    spared, entries = spared_bytes(specs, rows, found_tokens), residency.entries_of(reuse, planned_rps, facts)
    once = HeldOnce(needed, spared, entries <= 1.0, entries * reuse.entry_tokens, found_tokens)
    fit = _fit(traffic, specs, headroom_fraction, 0.0, fill, None, once)
    every = np.full((len(specs), residency.numbers().first.size), residency.LEVELS, dtype=np.int64)
    held = residency.ByNumber(every, np.zeros_like(every))
    return [Retention(0.0, fit.max_sequences, held, fit.max_sequences > 0, once=once)]


def _fit(
    traffic: Traffic,
    specs: StepSpecs,
    headroom_fraction: float,
    share: float,
    fill: Fill,
    paused: Outside | None,
    once: HeldOnce | None,
) -> MemoryFit:
    shares, pauses = np.full(len(specs), share), None if paused is None else np.ones(len(specs), dtype=bool)
    return memory_fit(specs, traffic, headroom_fraction, shares, fill, pauses, once)


def _held(
    traffic: Traffic,
    specs: StepSpecs,
    facts: ModelFacts,
    fit: MemoryFit,
    share: float,
    default_share: float,
    planned_rps: float,
    level: Outside | None,
    common: HeldOnce | None,
) -> residency.ByNumber | residency.ByLoad:
    """What the way finds; nothing where nothing may be reused."""
    reuse, pool = traffic.reuse, fit.account.kv_cache_bytes
    if reuse is None:
        nothing: IntArray = np.zeros((len(specs), residency.numbers().first.size), dtype=np.int64)
        return residency.ByNumber(nothing, nothing)
    rows = np.arange(len(specs), dtype=np.int64)
    copy, spared = (0.0, 0.0) if common is None else (common.copy_bytes, common.spared_bytes)
    room = np.maximum(pool * share / (1.0 + share) - copy, 0.0)
    beyond = np.zeros_like(room) if level is None else np.where(level.pays, level.capacity_bytes, 0.0)
    if sticks(reuse):
        one = sequence_bytes(specs, rows, reuse.entry_tokens) - spared
        return residency.held_by_load(reuse, specs.attention_dp, room, beyond, one)
    needed = residency.set_bytes(reuse, planned_rps, facts, specs)
    if needed is None:
        needed = pool * default_share / (1.0 + default_share)
    return residency.held_by_number(reuse, specs.attention_dp, room, beyond, needed)


def sticks(reuse: Reuse | None) -> bool:
    """Sessions return to their replica: what it finds depends on its own load."""
    return reuse is not None and reuse.entries_per_rps > 0.0 and not reuse.scattered


def _usable(
    traffic: Traffic, specs: StepSpecs, fit: MemoryFit, level: Outside | None, pauses: bool
) -> BoolArray:
    """Where the level pays, and takes what a full batch may lack."""
    every = np.ones(len(specs), dtype=bool)
    if level is None:
        return every
    usable = level.pays if traffic.reuse is not None else level.fetch_s_per_token > 0.0
    if pauses:
        spread = fit.need.running.spread_bytes * (1.0 + fit.need.cache_share)
        per_rank = fit.max_sequences / specs.attention_dp
        usable = usable & (level.capacity_bytes >= _NEARLY_ALL_SCORE * spread * np.sqrt(per_rank))
    return usable
