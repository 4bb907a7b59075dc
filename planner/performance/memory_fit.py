"""How many requests a replica holds: the summed KV of those that run, within what the engine leaves it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from planner.performance.load import LoadPolicy
from planner.performance.running import held_tokens
from planner.physics.arrays import Floats
from planner.physics.prefix_cache import overcommitted_sequences
from planner.physics.running_sum import RunningSum
from planner.queueing import waiting
from planner.schema.candidates import BoolArray, FloatArray, IntArray
from planner.schema.evaluation import HeldOnce
from planner.schema.policy import Policy
from planner.schema.traffic import Traffic
from planner.steptime.memory import MemoryAccount, cache_bytes, logit_bytes, memory_account, sequence_bytes
from planner.steptime.specs import StepSpecs

_ROUNDING = 1.0 + 1e-9


@dataclass(frozen=True)
class Fill:
    """How full a batch is, and how rarely its KV may outgrow the cache."""

    overflow_fraction: float
    """Chance at most that the cache is outgrown (see `RunningSum`)."""
    slot_z_score: float | None = None
    """Normal score of the chance that every slot of a batch is taken; None: it always is."""

    @classmethod
    def of(cls, policy: Policy, load: LoadPolicy) -> Fill:
        """As the load model plans batches."""
        always_full = load.saturated or load.static_batches
        return cls(policy.kv_overflow_fraction, None if always_full else load.slot_z_score)

    def bytes_of(self, running: RunningSum, slots: FloatArray) -> FloatArray:
        """KV of a batch of so many slots.

        Never that of more requests than slots. Where the batch is rarely full, that of the number that runs:
        arrivals at one replica vary at least as those that are evened out between many do.
        """
        full = running.bytes_of(slots, self.overflow_fraction)
        if self.slot_z_score is None:
            return full
        peakedness = waiting.peakedness_ratio(0.0)
        mean = waiting.mean_number_for_cap(slots, self.slot_z_score, peakedness)
        return np.minimum(full, running.bytes_of(mean, self.overflow_fraction, peakedness))


@dataclass(frozen=True, eq=False)
class CacheNeed:
    """KV that requests of one attention rank need on one GPU, by configuration."""

    running: RunningSum
    """What running requests hold themselves."""
    longest_bytes: FloatArray
    """The longest planned request, which must fit alone."""
    copy_bytes: FloatArray
    """What is held once and read by all of them."""
    spared_bytes: FloatArray
    """Of a request, what lies in that copy."""
    cache_share: FloatArray | float
    """Blocks for what may be reused, beyond those of running requests; a copy takes its room there first."""
    fill: Fill
    paused: BoolArray
    """Where it may: what does not fit is set aside, and the batch is the mean that runs."""

    def bytes_of(self, requests: Floats) -> FloatArray:
        """Cache that so many requests need; rises with their number."""
        number = np.broadcast_to(np.asarray(requests, dtype=np.float64), self.longest_bytes.shape)
        summed = self.fill.bytes_of(self.running, number)
        own = np.where(self.paused, number * self.running.mean_bytes, summed)
        kept = np.maximum(own * (1.0 + self.cache_share), own + self.copy_bytes)
        return np.maximum(kept, self.longest_bytes)

    def room_bytes(self, cache: FloatArray) -> FloatArray:
        """Of a cache, what running requests may take for themselves."""
        return np.maximum(np.minimum(cache / (1.0 + self.cache_share), cache - self.copy_bytes), 0.0)


@dataclass(frozen=True, eq=False)
class MemoryFit:
    """Memory of the fullest GPU per configuration, and the requests it holds."""

    account: MemoryAccount
    """With the activations of the batch that is held, or planned."""
    need: CacheNeed
    max_sequences: IntArray
    """Requests that one replica runs at once; 0 = does not fit. Capped by the engine."""


def memory_fit(
    specs: StepSpecs,
    traffic: Traffic,
    headroom_fraction: float,
    prefix_cache_share: float | FloatArray,
    fill: Fill,
    pauses: BoolArray | None = None,
    once: HeldOnce | None = None,
    planned: IntArray | None = None,
) -> MemoryFit:
    """Memory account and requests that fit, for all configurations.

    The most on an attention rank whose summed KV stays within the cache with the wanted probability, and
    whose longest fits alone. The cache is what the start-up profile of that number leaves: more of them need
    more and find less, so the number is bisected.

    A prefix cache takes ``prefix_cache_share`` of blocks beyond those of active requests. What is held once
    takes its room there, or as much as it needs: requests then hold only what follows it. Where tokens are
    dropped from the KV of running requests, one prompt is whole until it is computed.

    Args:
        specs: columns of the configurations.
        traffic: lengths.
        headroom_fraction: memory kept free.
        prefix_cache_share: one number, read only where something is cached, or one a configuration.
        fill: how full a batch is.
        pauses: where running requests that do not fit are set aside, so that KV is sized for what they need
            on average.
        once: what is held once.
        planned: batch of one replica that the engine is told; default: all that fit.
    """
    search = _Search(specs, traffic, headroom_fraction)
    single = not isinstance(prefix_cache_share, np.ndarray)
    share = 0.0 if single and traffic.cached_fraction <= 0.0 else prefix_cache_share
    nothing, nowhere = np.zeros(len(specs)), np.zeros(len(specs), dtype=bool)
    copy, spared, paused = nothing, nothing, nowhere
    need = search.need(copy, spared, share, fill, paused)
    held = search.most(need)
    if once is not None and traffic.kept_fraction == 1.0:
        beside = np.where(once.spared_bytes < need.running.mean_bytes, once.spared_bytes, 0.0)
        other = search.need(once.copy_bytes, beside, share, fill, nowhere)
        sharing = search.most(other)
        wins = (once.copy_bytes > 0.0) & ((sharing > held) if once.by_all else True)
        copy, spared = np.where(wins, once.copy_bytes, 0.0), np.where(wins, beside, 0.0)
        held = np.where(wins, sharing, held)
        need = search.need(copy, spared, share, fill, nowhere)
    if pauses is not None and pauses.any():
        loose = search.need(copy, spared, share, fill, pauses)
        running = search.most(loose)
        paused = pauses & (running > held)
        held = np.where(paused, running, held)
        need = search.need(copy, spared, share, fill, paused)
    told = held if planned is None else np.ceil(planned / specs.attention_dp)
    return MemoryFit(
        account=search.account(np.maximum(told, 1.0)),
        need=need,
        max_sequences=np.asarray(held * specs.attention_dp, dtype=np.int64),
    )


class _Search:
    """Finds how many requests fit; what does not depend on their number is computed once."""

    def __init__(self, specs: StepSpecs, traffic: Traffic, headroom_fraction: float) -> None:
        self.specs, self.headroom_fraction = specs, headroom_fraction
        self.rows = np.arange(len(specs), dtype=np.int64)
        self.images = max(1.0, traffic.images_per_request)
        self.alone = self.account(1.0)
        self.weight, self.sizes = self._running_bytes(traffic)
        longest = math.ceil(traffic.kept_fraction * traffic.kv_tokens)
        self.longest = sequence_bytes(specs, self.rows, float(longest))
        self.whole = np.zeros(len(specs))
        if traffic.kept_fraction < 1.0:
            # One prompt takes more than what is kept of it, until it is computed.
            prompt = traffic.input_p99_tokens
            kept = sequence_bytes(specs, self.rows, traffic.kept_fraction * prompt)
            self.whole = sequence_bytes(specs, self.rows, prompt) - kept

    def account(self, running: Floats) -> MemoryAccount:
        return memory_account(self.specs, self.rows, self.headroom_fraction, self.images, running)

    def _running_bytes(self, traffic: Traffic) -> tuple[FloatArray, FloatArray]:
        """Weights, and KV by atom and configuration."""
        weight, growing, reserved = held_tokens(traffic)
        tokens = np.where(self.specs.reserves_answer > 0, reserved[:, None], growing[:, None])
        tokens = np.where(self.specs.contiguous > 0, float(traffic.kv_tokens), tokens)
        return weight, sequence_bytes(self.specs, self.rows, tokens)

    def need(
        self,
        copy: FloatArray,
        spared: FloatArray,
        share: FloatArray | float,
        fill: Fill,
        paused: BoolArray,
    ) -> CacheNeed:
        running = RunningSum.of(self.weight, np.maximum(self.sizes - spared, 0.0))
        return CacheNeed(running, self.longest, copy, spared, share, fill, paused)

    def cache(self, requests: FloatArray) -> FloatArray:
        """What so many requests of a rank find."""
        resident = self.alone.resident_bytes + logit_bytes(self.specs, requests)
        return np.maximum(cache_bytes(self.specs, self.headroom_fraction, resident) - self.whole, 0.0)

    def most(self, need: CacheNeed) -> FloatArray:
        """The most that fit on a rank."""
        cap = np.where(self.alone.fits, self.specs.max_running, 0.0)
        paused = need.paused.any()

        def fits(requests: FloatArray) -> BoolArray:
            cache = self.cache(requests)
            kept: BoolArray = need.bytes_of(requests) <= cache * _ROUNDING
            if paused:
                mean, spread = need.running.mean_bytes, need.running.spread_bytes
                kept &= requests <= overcommitted_sequences(need.room_bytes(cache), mean, spread)
            return kept

        return _most(fits, cap)


def _most(fits: Callable[[FloatArray], BoolArray], cap: FloatArray) -> FloatArray:
    """The largest whole number up to a cap that fits; with one that fits all smaller ones do."""
    found = np.zeros_like(cap)
    step = 2.0 ** math.floor(math.log2(max(float(cap.max(initial=0.0)), 1.0)))
    while step >= 1.0:
        more = found + step
        kept = (more <= cap) & fits(more)
        found = np.where(kept, more, found)
        step /= 2.0
    return found
