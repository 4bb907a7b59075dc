"""The queue in front of chosen prefill workers, and their first tokens, at one rate after the other.

Equations: see `planner.performance.prefill_worker`. What does not depend on the rate is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce

import numpy as np

from planner.performance.kv_transfer import Links
from planner.performance.load import PERCENTILE, FloatArray, IntArray, LoadPolicy
from planner.performance.user_factors import PercentileMargin
from planner.queueing import routing, waiting
from planner.schema.traffic import Traffic

ALMOST_ALL = 0.999
"""Of the rate at which every step is full; at that rate the queue has no end."""
MEAN_TAIL = 0.0
"""Prompts whose times have the mean and the higher moments of those of all; see `lengths.levels_around`."""
_PASSES = 6


@dataclass(frozen=True, eq=False)
class Room:
    """What a prompt still waits for when its prefill is done."""

    kv_transfer_s: Mapping[float, FloatArray]
    """On the links of the decode side, at the prompts of each tail; see `prefill_worker.prompt_atoms`."""
    start_s: Mapping[str, float]
    """From the last byte to the first token of the decode side, by statistic (``"p99"``)."""


@dataclass(frozen=True, eq=False)
class PromptTimes:
    """Prompts around one tail on some configurations; seconds, shape (prompts, rows)."""

    weight: FloatArray
    tokens: FloatArray
    chunks: FloatArray
    rest_tokens: FloatArray
    """Room in the last step."""
    own_s: FloatArray
    """From the first step to the last, alone: chunks follow each other through pipeline stages."""
    alone_s: FloatArray
    """What these steps take of the server."""
    full_s: FloatArray
    """The same number of steps, all full."""
    shared_s: FloatArray
    """The prompt's share of full steps."""

    def taken(self, rows: IntArray) -> PromptTimes:
        """Those on chosen configurations."""
        columns = (self.chunks, self.rest_tokens, self.own_s, self.alone_s, self.full_s, self.shared_s)
        return PromptTimes(self.weight, self.tokens, *(column[:, rows] for column in columns))

    @cached_property
    def more_s(self) -> FloatArray:
        """What company may add to the last step."""
        return np.maximum(self.full_s - self.alone_s, 0.0)

    @cached_property
    def before_last_s(self) -> FloatArray:
        """Full steps before the last one."""
        return (self.chunks - 1.0) * self.full_s / self.chunks

    def mean(self, column: FloatArray) -> FloatArray:
        """Over the prompts, by row."""
        return np.asarray(self.weight @ column)


@dataclass(frozen=True, eq=False)
class PromptQueue:
    """The queue in front of one prompt server, per row."""

    busy: FloatArray
    service_s: FloatArray
    wait_probability_fraction: FloatArray
    wait_mean_s: FloatArray
    wait_scale_s: FloatArray
    """Mean wait of those who wait."""
    wait_scv_ratio: FloatArray
    """Squared coefficient of variation of it."""
    found_s: FloatArray
    """Mean wait of those who wait for prompts that are served one by one …"""
    shared_s: FloatArray
    """… and for the rest of a shared step and what it has gathered; spread evenly up to twice as much."""
    meanwhile_rps: FloatArray
    """Prompts that come to a worker while it is busy."""

    @property
    def further_s(self) -> FloatArray:
        """What shared steps add to the mean wait."""
        return self.wait_probability_fraction * np.maximum(self.shared_s - self.found_s, 0.0)

    def scale_s(self, rare: float) -> tuple[FloatArray, FloatArray]:
        """Mean and variation of an exponential wait as long as the longer of both where ``rare`` wait longer.

        Equation: evenly spread up to b, a share m waits longer than b (1 - rare/m) in ``rare`` cases; so does
        an exponential wait of scale b (1 - rare/m) / log(m/rare), kept to the mean, b/2.
        """
        over = np.maximum(self.wait_probability_fraction / rare, 1.0 + 1e-6)
        shared_s = self.shared_s * np.minimum(2.0 * (1.0 - 1.0 / over) / np.log(over), 1.0)
        scale_s = self.wait_scale_s + np.maximum(shared_s - self.found_s, 0.0)
        alike = np.minimum(self.found_s / np.maximum(scale_s, 1e-12), 1.0)
        return scale_s, 1.0 + np.maximum(self.wait_scv_ratio - 1.0, 0.0) * alike


@dataclass(frozen=True, eq=False)
class _Services:
    """Moments of what a prompt takes of its server, as polynomials in the share of time without prompts.

    A prompt takes its share of full steps, and what its own steps take more where it finds the server idle.
    """

    first_s: tuple[FloatArray, ...]
    second_s2: tuple[FloatArray, ...]
    third_s3: tuple[FloatArray, ...]

    @classmethod
    def of(cls, times: PromptTimes) -> _Services:
        """Of some prompts."""
        shared, more, mean = times.shared_s, times.alone_s - times.shared_s, times.mean
        squares, both, apart = shared * shared, shared * more, more * more
        return cls(
            (mean(shared), mean(more)),
            (mean(squares), 2.0 * mean(both), mean(apart)),
            (mean(squares * shared), 3.0 * mean(shared * both), 3.0 * mean(both * more), mean(apart * more)),
        )

    def at(self, idle_fraction: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean, squared coefficient of variation, and third moment over the mean's third power."""
        mean_s, second_s2, third_s3 = (
            reduce(lambda higher, part: higher * idle_fraction + part, reversed(parts))
            for parts in (self.first_s, self.second_s2, self.third_s3)
        )
        square_s2 = mean_s * mean_s
        return mean_s, np.maximum(second_s2 / square_s2 - 1.0, 0.0), third_s3 / (square_s2 * mean_s)


@dataclass(frozen=True, eq=False)
class _LightSteps:
    """Steps of one prompt server that no rate changes, per row."""

    chunks: FloatArray
    """Of a mean prompt."""
    lone_s: FloatArray
    """Of one prompt alone."""
    full_s: FloatArray
    tokens_s: FloatArray
    """What the tokens of a prompt add to a step."""


@dataclass(frozen=True, eq=False)
class _Steps:
    """Steps of one prompt server at a rate, per row."""

    met_s: FloatArray
    """The step that an arrival meets on average."""
    time_fraction: FloatArray
    """Share of time in steps."""
    growth: FloatArray
    """What arrives during a step, over its own tokens."""


def tail_of(statistic: str) -> float:
    """Share of requests above a statistic; 1 for means."""
    return 1.0 - PERCENTILE[statistic] if statistic in PERCENTILE else MEAN_TAIL


@dataclass(frozen=True, eq=False)
class ChosenWorkers:
    """Chosen prefill workers: every column has one entry a row that was chosen."""

    traffic: Traffic
    policy: LoadPolicy
    links: Links
    servers: FloatArray
    """Prompt servers of a worker."""
    budget_tokens: FloatArray
    """Of one step."""
    extra_ratio: FloatArray | float
    """First tokens over what the steps explain."""
    overhead_s: FloatArray
    """Before any prefill."""
    times_of: Callable[[float], PromptTimes]
    """Prompts around a tail."""
    rows: IntArray
    """Of the workers among all."""
    pools: IntArray
    """Replicas of the pool that each of them stands in."""
    percentiles: PercentileMargin | None = None
    """What percentiles carry beyond the margin of their means; None = nothing."""
    known: dict[float, PromptTimes] = field(default_factory=dict)

    def taken(self, places: IntArray) -> ChosenWorkers:
        """Some of them."""
        extra = self.extra_ratio
        return replace(
            self,
            links=self.links.taken(places),
            servers=self.servers[places],
            budget_tokens=self.budget_tokens[places],
            extra_ratio=extra[places] if isinstance(extra, np.ndarray) else extra,
            overhead_s=self.overhead_s[places],
            times_of=lambda tail: self.times(tail).taken(places),
            rows=self.rows[places],
            pools=self.pools[places],
            known={},
        )

    def times(self, tail: float) -> PromptTimes:
        """Prompts around a tail, made once."""
        if tail not in self.known:
            self.known[tail] = self.times_of(tail)
        return self.known[tail]

    def queue(self, rate_rps: FloatArray) -> PromptQueue:
        """The queue at a rate of the worker."""
        arriving = rate_rps / self.servers
        mean, scv, third = self._services.at(np.maximum(1.0 - arriving * self._alone_s, 0.0))
        busy = arriving * mean
        waits, wait, varies = self._wait(busy, mean, scv, third)
        steps = self._steps(self._light, arriving)
        stepping = np.maximum(steps.time_fraction, np.minimum(busy, 1.0))
        waits = np.maximum(np.maximum(waits, self._met(stepping, scv)), 1e-12)
        # Work found: that of a queue of single prompts, or of a shared step: its rest and its arrivals.
        found_s = np.where(np.isfinite(wait), wait, 0.0) / waits
        rest_s, coming = steps.met_s / (1.0 + self._sharing), self._sharing * arriving
        ahead = np.maximum(coming * rest_s - self._fewer_before, 0.0)
        shared_s = rest_s + ahead * steps.growth / np.maximum(arriving, 1e-12)
        times = self.times(MEAN_TAIL)
        until_s = rest_s + np.maximum(found_s - times.more_s, 0.0)
        company_s = times.mean(self._company_s(coming, times, until_s) - self._company_s(coming, times, 0.0))
        wait = wait + waits * company_s
        meanwhile = arriving * waits / stepping
        return PromptQueue(busy, mean, waits, wait, wait / waits, varies, found_s, shared_s, meanwhile)

    def first_token_s(
        self, rate_rps: FloatArray, queue: PromptQueue, statistic: str, room: Room | None
    ) -> FloatArray:
        """TTFT of the worker's requests; up to the end of prefill without ``room``.

        With it, each prompt's KV transfer on the slower side and the start of the decode side are added
        before the quantile is taken: long prompts wait and take longer to transfer.
        """
        tail = tail_of(statistic)
        times, extra = self.times(tail), self.extra_ratio
        own = times.own_s + self._company_s(queue.meanwhile_rps, times, 0.0)
        fixed = extra * (self.overhead_s + own)
        if room is not None:
            sent = self.links.times_s(times.tokens, rate_rps)
            fixed = fixed + np.maximum(sent, room.kv_transfer_s[tail][:, None]) + room.start_s[statistic]
        if statistic not in PERCENTILE:
            return times.mean(fixed) + extra * (queue.wait_mean_s + queue.further_s)
        probability, waits = PERCENTILE[statistic], queue.wait_probability_fraction
        scale, varies = queue.scale_s(1.0 - probability)
        found = waiting.quantile_s(probability, times.weight, fixed, waits, extra * scale, varies)
        if self.percentiles is None:
            return found
        return np.asarray(self.percentiles.factor(f"ttft_{statistic}", self.rows) * found)

    def held_sequences(self, rate_rps: FloatArray) -> FloatArray:
        """Prompts whose KV is in memory: those of a full step of every server, and those on their way."""
        per_step = self.budget_tokens / max(self.traffic.prefill_mean_tokens, 1.0)
        handed_s = self.links.time_s(self.traffic.input_mean_tokens, rate_rps)
        finite = np.where(np.isfinite(handed_s), handed_s, 0.0)
        handed = waiting.number_quantile(rate_rps * finite, self.policy.slot_z_score, 1.0)
        held = self.servers * (1.0 + per_step) + handed
        return np.where(np.isfinite(handed_s), held, np.inf)

    def _wait(
        self, busy: FloatArray, service_s: FloatArray, scv_ratio: FloatArray, third_ratio: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Share of prompts that wait for others, the mean wait, and how that of those who wait varies."""
        waits, wait_s, varies = (np.empty_like(busy) for _ in range(3))
        policy = self.traffic.routing.policy
        arrivals = self.traffic.arrival_scv_ratio
        for replicas, mine in self._by_pool:
            given = busy[mine], service_s[mine], arrivals, scv_ratio[mine], None, third_ratio[mine]
            found = routing.pool_wait(policy, replicas, *given)
            waits[mine], wait_s[mine] = found.probability_fraction, found.mean_s
            varies[mine] = found.scv_ratio
        return waits, wait_s, varies

    def _met(self, stepping_fraction: FloatArray, scv_ratio: FloatArray) -> FloatArray:
        """Share of prompts that meet steps wherever the router may send them."""
        found, policy = np.empty_like(stepping_fraction), self.traffic.routing.policy
        arrivals = self.traffic.arrival_scv_ratio
        for replicas, mine in self._by_pool:
            given = stepping_fraction[mine], arrivals, scv_ratio[mine]
            found[mine] = routing.busy_fraction(policy, replicas, *given)
        return found

    @cached_property
    def _sharing(self) -> FloatArray | float:
        """Workers that take from the queue in which a prompt waits."""
        shared = self.traffic.routing.policy == "shared-queue"
        return np.minimum(self.pools, routing.MOST_SERVERS) if shared else 1.0

    @cached_property
    def _fewer_before(self) -> FloatArray | float:
        """Prompts that even gaps keep from coming just before another: (1 - c^2)/2 (renewal theory)."""
        shared = self.traffic.routing.policy == "shared-queue"
        gaps = self.traffic.arrival_scv_ratio if shared else self._arrivals_scv_ratio
        return np.maximum(1.0 - gaps, 0.0) / 2.0

    @cached_property
    def _services(self) -> _Services:
        """Of a mean prompt."""
        return _Services.of(self.times(MEAN_TAIL))

    @cached_property
    def _by_pool(self) -> list[tuple[int, IntArray]]:
        """Replicas of a pool, and the places of the workers in such pools."""
        return [(int(size), np.flatnonzero(self.pools == size)) for size in np.unique(self.pools)]

    @cached_property
    def _arrivals_scv_ratio(self) -> FloatArray:
        """Of the gaps between arrivals at a worker."""
        found, policy = np.empty(self.pools.shape), self.traffic.routing.policy
        for replicas, mine in self._by_pool:
            found[mine] = routing.replica_scv_ratio(policy, replicas, self.traffic.arrival_scv_ratio)
        return found

    @cached_property
    def _alone_s(self) -> FloatArray:
        """A mean prompt alone."""
        return np.asarray(sum(self._services.first_s))

    @cached_property
    def _light(self) -> _LightSteps:
        times = self.times(MEAN_TAIL)
        chunks = times.mean(times.chunks)
        lone_tokens = np.minimum(max(self.traffic.prefill_mean_tokens, 1e-9) / chunks, self.budget_tokens)
        lone_s = self._alone_s / chunks
        full_s = np.maximum(times.mean(times.full_s) / chunks, lone_s)
        per_token_s = (full_s - lone_s) / np.maximum(self.budget_tokens - lone_tokens, 1.0)
        return _LightSteps(chunks, lone_s, full_s, np.minimum(per_token_s * lone_tokens, lone_s))

    def _steps(self, light: _LightSteps, arriving_rps: FloatArray) -> _Steps:
        """Steps that each hold what arrived during the one before, or one prompt after an idle time.

        Equations: with a the time of a step that does not depend on its tokens, s that of a prompt's tokens
        and g = r s, E[T] = (a + P0 s) / (1 - g) and Var[T] = g E[T] s (c_a^2 + c_s^2) / (1 - g^2), where
        P0 = exp(-r E[T]) of the steps find nobody; an arrival meets E[T] + Var[T]/E[T].
        """
        lone_s, full_s, tokens_s = light.lone_s, light.full_s, light.tokens_s
        growth = np.minimum(arriving_rps * light.chunks * tokens_s, ALMOST_ALL)
        step_s = lone_s
        for _ in range(_PASSES):
            alone = np.exp(-arriving_rps * step_s)
            grown_s = (lone_s - tokens_s + alone * tokens_s) / (1.0 - growth)
            step_s = np.minimum(np.maximum(grown_s, lone_s), full_s)
        both = self._arrivals_scv_ratio + self.traffic.prefill_scv_ratio
        variance = growth * step_s * tokens_s * both / (1.0 - growth * growth)
        met_s = np.minimum(step_s + variance / step_s, full_s)
        alone = np.exp(-arriving_rps * step_s)
        return _Steps(met_s, step_s / (step_s + alone / np.maximum(arriving_rps, 1e-12)), growth)

    def _company_s(
        self, arriving_rps: FloatArray, times: PromptTimes, before_s: FloatArray | float
    ) -> FloatArray:
        """What later prompts add to the last step of each one whose first step begins ``before_s`` later."""
        prompt = max(self.traffic.prefill_mean_tokens, 1e-9)
        meanwhile_s = before_s + times.before_last_s
        filled = -np.expm1(-prompt * arriving_rps * meanwhile_s / np.maximum(times.rest_tokens, prompt))
        return np.asarray(filled * times.more_s)
