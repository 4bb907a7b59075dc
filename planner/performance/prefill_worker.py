"""A worker that computes prompts and hands their KV over: the queue in front of it and its first tokens.

Equations: an attention rank or stage takes whole steps; a step holds up to its token budget of prompts,
first come, first served. A prompt alone takes its own steps, E[A]; while others wait it takes its share of
full ones, E[F]. With r arrivals a second the share 1 - r E[A] of prompts finds the server idle:
E[S] = E[F] + (1 - r E[A]) (E[A] - E[F]). The wait is that of GI/G/1 with these services, or where many
prompts share a step the rest of it and what it has gathered (`PrefillWorkers._steps`). Prompts that arrive
later fill the last step of one, 1 - exp(-u) of its rest, and make it longer.

Assumes: stationary arrivals; first come, first served; chunked prompts; nothing decodes here.
Breaks down when: prompts are routed by more than their arrival (prefix-aware routing evens out or piles up).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from planner.performance.hand_over import HandOver
from planner.performance.load import PERCENTILE, FloatArray, IntArray, LoadPolicy, Replicas
from planner.physics import parallelism
from planner.queueing import lengths, routing, waiting
from planner.schema.routing import Routing
from planner.schema.traffic import Traffic

ALMOST_ALL = 0.999
"""Of the rate at which every step is full; at that rate the queue has no end."""
MEAN_TAIL = 1.0
_PASSES = 6


@dataclass(frozen=True, eq=False)
class Room:
    """What a prompt still waits for when its prefill is done."""

    hand_over_s: Mapping[float, FloatArray]
    """On the links of the decode side, at the prompts of each tail; see `prompt_atoms`."""
    start_s: Mapping[str, float]
    """From the last byte to the first token of the decode side, by statistic (``"p99"``)."""


@dataclass(frozen=True, eq=False)
class PromptTimes:
    """Prompts around one tail on every configuration; seconds, shape (prompts, rows)."""

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


@dataclass(frozen=True, eq=False)
class PromptQueue:
    """The queue in front of one prompt server, per row."""

    busy: FloatArray
    service_s: FloatArray
    wait_probability_fraction: FloatArray
    wait_mean_s: FloatArray
    wait_scale_s: FloatArray
    """Mean wait of those who wait."""
    further_s: FloatArray
    """Mean of what a shared step makes all of them wait beyond that; spread evenly up to twice as much."""
    arriving_rps: FloatArray


@dataclass(frozen=True, eq=False)
class _Steps:
    """Steps of one prompt server, per row."""

    met_s: FloatArray
    """The step that an arrival meets on average."""
    time_fraction: FloatArray
    """Share of time in steps."""
    growth: FloatArray
    """What arrives during a step, over its own tokens."""


def tail_of(statistic: str) -> float:
    """Share of requests above a statistic; 1 for means."""
    return 1.0 - PERCENTILE[statistic] if statistic in PERCENTILE else MEAN_TAIL


def prompt_atoms(traffic: Traffic, tail: float) -> tuple[FloatArray, FloatArray]:
    """Weights and tokens of a few prompts that stand for all around a tail."""
    return lengths.atoms_around(traffic.input_weight, traffic.input_tokens, tail)


def prompt_tokens(traffic: Traffic, statistic: str) -> float:
    """The prompt whose hand-over stands for a statistic."""
    if statistic not in PERCENTILE:
        return traffic.input_mean_tokens
    return lengths.atom_quantile(traffic.input_weight, traffic.input_tokens, PERCENTILE[statistic])


def computed_tokens(traffic: Traffic, prompt_tokens: float) -> float:
    """Tokens of a prompt of this length that are computed; between atoms interpolated."""
    order = np.argsort(traffic.input_tokens, kind="stable")
    tokens, computed = traffic.input_tokens[order], traffic.computed_tokens[order]
    return max(float(np.interp(prompt_tokens, tokens, computed)), 1e-9)


@dataclass(frozen=True, eq=False)
class PrefillWorkers:
    """Configurations as prefill workers; what does not depend on the rate is computed once."""

    replicas: Replicas
    traffic: Traffic
    policy: LoadPolicy
    hand_over: HandOver
    known: dict[float, PromptTimes] = field(default_factory=dict)

    def __len__(self) -> int:
        """Number of configurations."""
        return int(self.replicas.batched_tokens.shape[0])

    def in_pool(self, router: Routing) -> PrefillWorkers:
        """The same workers behind a router."""
        return replace(self, traffic=replace(self.traffic, routing=router))

    def times(self, tail: float) -> PromptTimes:
        """Prompts around a tail on every configuration."""
        if tail not in self.known:
            weight, tokens = prompt_atoms(self.traffic, tail)
            self.known[tail] = self._times(weight, tokens)
        return self.known[tail]

    def most_rps(self, rows: IntArray) -> FloatArray:
        """The rate of a worker whose every step is full, or whose links are."""
        times = self.times(MEAN_TAIL)
        full = ALMOST_ALL * self.replicas.prompt_servers[rows] / (times.weight @ times.shared_s[:, rows])
        return np.minimum(full, ALMOST_ALL * self.hand_over.most_rps(rows))

    def queue(self, rows: IntArray, rate_rps: FloatArray) -> PromptQueue:
        """The queue at a rate of the worker."""
        times = self.times(MEAN_TAIL)
        arriving = rate_rps / self.replicas.prompt_servers[rows]
        alone, shared = times.alone_s[:, rows], times.shared_s[:, rows]
        idle = np.maximum(1.0 - arriving * (times.weight @ alone), 0.0)
        service = shared + idle * (alone - shared)
        mean = times.weight @ service
        scv = np.maximum(times.weight @ (service * service) / (mean * mean) - 1.0, 0.0)
        busy = arriving * mean
        found = routing.pool_wait(*self.traffic.router, busy, mean, self.traffic.arrival_scv_ratio, scv, True)
        wait, waits = found.mean_s, found.probability_fraction
        steps = self._steps(rows, arriving)
        stepping = np.maximum(steps.time_fraction, np.minimum(busy, 1.0))
        rest_s = stepping * steps.met_s / 2.0
        # Work found: that of a queue of single prompts, or of a shared step: its rest and its arrivals.
        finite = np.where(np.isfinite(wait), wait, 0.0)
        further_s = np.maximum(rest_s * (1.0 + steps.growth) - finite, 0.0)
        room_s = np.maximum(times.full_s - times.alone_s, 0.0)[:, rows]
        until_s = rest_s + np.maximum(finite - room_s, 0.0)
        company_s = times.weight @ (
            self._company_s(rows, arriving, times, until_s) - self._company_s(rows, arriving, times, 0.0)
        )
        waits, wait = np.maximum(waits, stepping), wait + company_s
        return PromptQueue(busy, mean, waits, wait, wait / waits, further_s, arriving)

    def first_token_s(
        self, rows: IntArray, rate_rps: FloatArray, queue: PromptQueue, statistic: str, room: Room | None
    ) -> FloatArray:
        """TTFT of the worker's requests; up to the end of prefill without ``room``.

        With it, each prompt's hand-over on the slower side and the start of the decode side are added
        before the quantile is taken: long prompts wait and are handed over longer.
        """
        tail = tail_of(statistic)
        times = self.times(tail)
        ratio = self.policy.ttft_factor_ratio / self.policy.step_factor_ratio
        extra = ratio * self.replicas.first_token_ratio(rows)
        overhead = self.replicas.first_token_overhead_s[rows] + self.replicas.image_encoder_s[rows]
        own = times.own_s[:, rows] + self._company_s(rows, queue.arriving_rps, times, 0.0)
        further = 2.0 * PERCENTILE.get(statistic, 0.5) * queue.further_s
        fixed = extra * (overhead + own + further)
        if room is not None:
            sent = np.stack([self.hand_over.time_s(rows, tokens, rate_rps) for tokens in times.tokens])
            fixed = fixed + np.maximum(sent, room.hand_over_s[tail][:, None]) + room.start_s[statistic]
        if statistic not in PERCENTILE:
            return np.asarray(times.weight @ fixed + extra * queue.wait_mean_s)
        probability, scale = PERCENTILE[statistic], extra * queue.wait_scale_s
        waits = queue.wait_probability_fraction
        return waiting.quantile_s(probability, times.weight, fixed, waits, scale)

    def held_sequences(self, rows: IntArray, rate_rps: FloatArray) -> FloatArray:
        """Prompts whose KV is in memory: those of a full step of every server, and those on their way."""
        per_step = self.replicas.batched_tokens[rows] / max(self.traffic.prefill_mean_tokens, 1.0)
        handed_s = self.hand_over.time_s(rows, self.traffic.input_mean_tokens, rate_rps)
        finite = np.where(np.isfinite(handed_s), handed_s, 0.0)
        handed = waiting.number_quantile(rate_rps * finite, self.policy.slot_z_score, 1.0)
        held = self.replicas.prompt_servers[rows] * (1.0 + per_step) + handed
        return np.where(np.isfinite(handed_s), held, np.inf)

    def _steps(self, rows: IntArray, arriving_rps: FloatArray) -> _Steps:
        """Steps that each hold what arrived during the one before, or one prompt after an idle time.

        Equations: with a the time of a step that does not depend on its tokens, s that of a prompt's tokens
        and g = r s, E[T] = (a + P0 s) / (1 - g) and Var[T] = g E[T] s (c_a^2 + c_s^2) / (1 - g^2), where
        P0 = exp(-r E[T]) of the steps find nobody; an arrival meets E[T] + Var[T]/E[T].
        """
        times = self.times(MEAN_TAIL)
        budget = self.replicas.batched_tokens[rows]
        chunks = times.weight @ times.chunks[:, rows]
        lone_tokens = np.minimum(max(self.traffic.prefill_mean_tokens, 1e-9) / chunks, budget)
        lone_s = times.weight @ times.alone_s[:, rows] / chunks
        full_s = np.maximum(times.weight @ times.full_s[:, rows] / chunks, lone_s)
        tokens_s = np.minimum((full_s - lone_s) / np.maximum(budget - lone_tokens, 1.0) * lone_tokens, lone_s)
        growth = np.minimum(arriving_rps * chunks * tokens_s, ALMOST_ALL)
        step_s = lone_s
        for _ in range(_PASSES):
            alone = np.exp(-arriving_rps * step_s)
            step_s = np.clip((lone_s - tokens_s + alone * tokens_s) / (1.0 - growth), lone_s, full_s)
        own = routing.replica_scv_ratio(*self.traffic.router, self.traffic.arrival_scv_ratio)
        both = own + self.traffic.prefill_scv_ratio
        variance = growth * step_s * tokens_s * both / (1.0 - growth * growth)
        met_s = np.minimum(step_s + variance / step_s, full_s)
        alone = np.exp(-arriving_rps * step_s)
        return _Steps(met_s, step_s / (step_s + alone / np.maximum(arriving_rps, 1e-12)), growth)

    def _company_s(
        self,
        rows: IntArray,
        arriving_rps: FloatArray,
        times: PromptTimes,
        before_s: FloatArray | float,
    ) -> FloatArray:
        """What later prompts add to the last step of each one whose first step begins ``before_s`` later."""
        prompt = max(self.traffic.prefill_mean_tokens, 1e-9)
        alone, full = times.alone_s[:, rows], times.full_s[:, rows]
        chunks, rest = times.chunks[:, rows], times.rest_tokens[:, rows]
        meanwhile_s = before_s + (chunks - 1.0) * full / chunks
        filled = -np.expm1(-prompt * arriving_rps * meanwhile_s / np.maximum(rest, prompt))
        return np.asarray(filled * np.maximum(full - alone, 0.0))

    def _times(self, weight: FloatArray, tokens: FloatArray) -> PromptTimes:
        rows = np.arange(len(self), dtype=np.int64)
        budget = self.replicas.batched_tokens
        columns = [self._one_length(rows, budget, prompt) for prompt in tokens]
        return PromptTimes(weight, tokens, *(np.stack(column) for column in zip(*columns, strict=True)))

    def _one_length(self, rows: IntArray, budget: FloatArray, prompt_tokens: float) -> tuple[FloatArray, ...]:
        """The columns of `PromptTimes` from ``chunks`` on."""
        computed = computed_tokens(self.traffic, prompt_tokens)
        context = np.full(rows.shape, prompt_tokens - computed / 2.0)
        nothing = np.zeros(rows.shape)
        chunks = np.ceil(computed / budget)
        mean = max(self.traffic.prefill_mean_tokens, 1.0)

        def step_s(tokens: FloatArray, finishing: FloatArray) -> FloatArray:
            factor = self.policy.step_factor_ratio
            return factor * self.replicas.mixed_s(rows, nothing, nothing, tokens, context, finishing)

        lone_s = step_s(computed / chunks, 1.0 / chunks)
        stages = np.ones(rows.shape) if self.replicas.stages is None else self.replicas.stages
        own_s = parallelism.pipeline_prompt_s(lone_s / stages, chunks, stages)
        alone_s = chunks * lone_s
        full_s = chunks * step_s(budget, np.maximum(budget / mean, 1.0 / chunks))
        shared_s = np.minimum(full_s / chunks * computed / budget, alone_s)
        return chunks, chunks * budget - computed, np.asarray(own_s), alone_s, full_s, shared_s
