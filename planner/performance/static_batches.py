"""A replica that computes one batch at a time to its longest answer: the naive stack to compare with.

Requests that arrive during a batch form the next one. Its prompts are padded to the longest of them and its
slots stay taken until the longest answer ends, so with n requests in a batch

    T(n) = P(n max prompt) + (E[max answer] - 1) t_step(n),    rate = n / T(n)

and an arrival waits for what is left of a batch and for the prompts of its own.

Source: bulk service with the queue of one cycle (Bailey, On queueing processes with bulk service, J. Royal
Statistical Society B 16, 1954); the largest of n draws has the distribution function F^n.
Assumes: lengths that are independent of each other; batches that are rarely full.
Breaks down when: requests wait until a batch is full before it starts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.performance.load import PERCENTILE, FloatArray, IntArray, Load, LoadPolicy, Replicas
from planner.queueing import lengths, routing, waiting
from planner.schema.traffic import Traffic

_HALVINGS = 50
_MOST_GAIN = 0.95
_ALMOST_ALL = 0.999
"""Utilization at most at which a queue of a pool has an end."""


@dataclass(frozen=True, eq=False)
class _Batch:
    """One batch of n requests, per row; seconds."""

    prompts_s: FloatArray
    step_s: FloatArray
    weight_fraction: FloatArray
    """Of each longest answer, shape (answers, rows)."""
    lasts_s: FloatArray
    """With each longest answer, the same shape."""

    @property
    def whole_s(self) -> FloatArray:
        """Mean."""
        return np.asarray(np.sum(self.weight_fraction * self.lasts_s, axis=0))

    @property
    def scv_ratio(self) -> FloatArray:
        """Squared coefficient of variation."""
        return np.asarray(2.0 * self.left_s / self.whole_s - 1.0)

    @property
    def left_s(self) -> FloatArray:
        """Mean of what an arrival still meets of it: E[T^2] / (2 E[T])."""
        return np.asarray(np.sum(self.weight_fraction * self.lasts_s**2, axis=0) / (2.0 * self.whole_s))

    def left_within_fraction(self, time_s: FloatArray) -> FloatArray:
        """Share of arrivals that meet no more of it than a time, shape (times, rows): E[min(T, x)] / E[T]."""
        lasts = np.minimum(self.lasts_s, np.maximum(time_s, 0.0)[..., None, :])
        return np.asarray(np.sum(self.weight_fraction * lasts, axis=-2) / self.whole_s)


def static_load(
    replicas: Replicas,
    rows: IntArray,
    batch_mean: FloatArray,
    batch_sequences: FloatArray,
    traffic: Traffic,
    policy: LoadPolicy,
    wanted: tuple[str, ...],
) -> Load:
    """The steady state with so many requests in a batch on average; see `open_load.measure`.

    Below one in a batch the replica is idle the rest of the time. Batches that more requests are in take
    longer and are met more often: those that a request is in are larger than the mean by variance over mean.
    """
    own = routing.replica_scv_ratio(*traffic.router, traffic.arrival_scv_ratio)
    mean = _batch(replicas, rows, np.maximum(batch_mean, 1.0), traffic, policy)
    rate = batch_mean / mean.whole_s
    # Arrivals during a batch vary, and so does how long it takes; and a larger one gathers a larger one.
    larger = _batch(replicas, rows, np.maximum(batch_mean, 1.0) * 1.5, traffic, policy)
    gain = rate * (larger.whole_s - mean.whole_s) / (0.5 * np.maximum(batch_mean, 1.0))
    spread = (own + batch_mean * mean.scv_ratio) / (1.0 - np.minimum(gain, _MOST_GAIN) ** 2)
    peakedness = np.where(policy.saturated, 0.0, spread)
    met = np.maximum(batch_mean, 1.0) + peakedness * np.minimum(batch_mean, 1.0)
    met = np.minimum(met, np.maximum(batch_sequences, 1.0))
    seen = _batch(replicas, rows, met, traffic, policy)
    busy, answer = np.minimum(batch_mean, 1.0), traffic.output_mean_tokens
    # A request that finds every replica of the pool at work waits as at one of its own: no longer than that.
    found = routing.pool_wait(
        *traffic.router, busy * _ALMOST_ALL, mean.whole_s, traffic.arrival_scv_ratio, np.ones_like(busy)
    )
    waits = np.where(batch_mean < 1.0, np.minimum(found.probability_fraction, busy), 1.0)

    def step_s(probability: float) -> FloatArray:
        """Of a batch of that rank among those that requests are in."""
        score = lengths.normal_score(probability)
        number = np.clip(waiting.number_quantile(met, score, peakedness), met, batch_sequences)
        return seen.step_s if probability <= 0.5 else _batch(replicas, rows, number, traffic, policy).step_s

    latency = {}
    for name in wanted:
        metric, statistic = name.split("_")
        probability = PERCENTILE.get(statistic)
        if metric in ("itl", "tpot"):
            latency[name] = seen.step_s if probability is None else step_s(probability)
            continue
        extra = policy.ttft_factor_ratio / policy.step_factor_ratio * replicas.first_token_ratio(rows)
        overhead = replicas.first_token_overhead_s[rows] + replicas.before_prompt_s[rows]
        first_s, factor = extra * (overhead + seen.prompts_s), extra * np.ones_like(rate)
        rest_s = np.zeros(1) if metric == "ttft" else np.maximum(traffic.output_tokens - 1.0, 0.0)
        weight = np.ones(1) if metric == "ttft" else traffic.output_weight
        after_s = rest_s[:, None] * seen.step_s
        if probability is None:
            latency[name] = first_s + factor * waits * seen.left_s + weight @ after_s
        else:
            latency[name] = first_s + _waited_quantile_s(probability, waits, seen, factor, weight, after_s)
    slots = batch_sequences if policy.saturated else _slots(batch_mean, policy, peakedness)
    nothing = np.zeros_like(rate)
    return Load(
        rate_rps=rate,
        concurrency=rate * answer * seen.step_s,
        slots=slots,
        decode_step_s=mean.step_s,
        mean_step_s=seen.step_s,
        tokens_per_step=np.ones_like(rate),
        mixed_fraction=nothing,
        prefill_s=mean.prompts_s / np.maximum(batch_mean, 1.0),
        link_utilization=nothing,
        prefill_utilization=busy,
        latency_s=latency,
    )


def _slots(batch_mean: FloatArray, policy: LoadPolicy, peakedness: FloatArray) -> FloatArray:
    return waiting.number_quantile(batch_mean, policy.slot_z_score, peakedness)


def _batch(
    replicas: Replicas, rows: IntArray, number: FloatArray, traffic: Traffic, policy: LoadPolicy
) -> _Batch:
    prompts, longest = largest_of(traffic.input_weight, traffic.input_tokens, number)
    answers, last = largest_of(traffic.output_weight, traffic.output_tokens, number)
    prompt, answer = longest @ prompts, last @ answers
    tokens = number * prompt
    chunk = np.minimum(tokens, replicas.batched_tokens[rows])
    nothing, factor = np.zeros_like(number), policy.step_factor_ratio
    one_s = replicas.step_s(rows, nothing, nothing, chunk, prompt / 2.0, np.maximum(chunk / prompt, 1.0))
    step_s = factor * replicas.step_s(rows, number, prompt + answer / 2.0, nothing, nothing, nothing)
    prompts_s = factor * one_s * tokens / chunk
    return _Batch(prompts_s, step_s, prompts, prompts_s + np.maximum(last - 1.0, 0.0)[:, None] * step_s)


def largest_of(weight: FloatArray, tokens: FloatArray, number: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weights of the largest of so many draws, shape (draws, rows), and its values."""
    order = np.argsort(tokens, kind="stable")
    up_to: FloatArray = np.minimum(np.cumsum(weight[order]), 1.0)[:, None] ** number
    up_to[-1] = 1.0
    return np.diff(up_to, axis=0, prepend=0.0), tokens[order]


def _waited_quantile_s(
    probability: float,
    waits: FloatArray,
    batch: _Batch,
    factor: FloatArray,
    weight: FloatArray,
    after_s: FloatArray,
) -> FloatArray:
    """Quantile of what is left of a batch, with probability ``waits``, plus one of some times."""
    low, high = np.zeros_like(waits), factor * batch.lasts_s[-1] + after_s.max(axis=0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        beyond = (middle - after_s) / factor
        waited = batch.left_within_fraction(beyond)
        below = weight @ (waits * waited + (1.0 - waits) * (beyond >= 0.0))
        low, high = np.where(below < probability, middle, low), np.where(below < probability, high, middle)
    return np.asarray(high)
