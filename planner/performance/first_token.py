"""Time to first token and end-to-end time: the prefill queue, the own prompt, the answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.performance.load import PERCENTILE, FloatArray, LoadPolicy, Replicas, State
from planner.performance.steady_state import prompt_context_tokens
from planner.performance.token_gaps import gap_variance_s2
from planner.queueing import lengths, mixtures, waiting
from planner.schema.traffic import Traffic


@dataclass(frozen=True, eq=False)
class PrefillQueue:
    """The wait of prompts for each other, per row."""

    busy: FloatArray
    """Utilization of a prompt server."""
    wait_probability_fraction: FloatArray
    wait_mean_s: FloatArray
    wait_scale_s: FloatArray
    """Mean wait of those who wait."""
    residual_s: FloatArray
    """What the step in progress still takes at most, where the queue does not count it."""
    alone_s: FloatArray
    """Mean time of one prompt."""
    full_s: FloatArray
    """A step with a full chunk."""


def arrival_latency(
    replicas: Replicas, state: State, traffic: Traffic, policy: LoadPolicy, wanted: tuple[str, ...]
) -> tuple[dict[str, FloatArray], PrefillQueue]:
    """The wanted statistics of TTFT and E2E, and the queue behind them."""
    result: dict[str, FloatArray] = {}
    queue = _queue(replicas, state, traffic, policy)
    tails = sorted({_tail(name) for name in wanted})
    for tail in tails:
        weight, tokens = lengths.atoms_around(traffic.input_weight, traffic.input_tokens, tail)
        service = _service(replicas, state, traffic, policy, queue, tokens)
        for name in wanted:
            if _tail(name) == tail:
                result[name] = _statistic(name, replicas, state, traffic, policy, queue, weight, service)
    return result, queue


def _tail(name: str) -> float:
    """Share of requests above the statistic; 1 for means."""
    return 1.0 - PERCENTILE.get(name.split("_")[1], 0.0)


def _service(
    replicas: Replicas,
    state: State,
    traffic: Traffic,
    policy: LoadPolicy,
    queue: PrefillQueue,
    tokens: FloatArray,
) -> FloatArray:
    """Steps from the first chunk of a prompt to its last, shape (prompts, rows).

    The last chunk has company: prompts that arrived up to then fill up the step. With u the mean work that
    arrives, in prompts or in rests of the step if these are smaller, a share 1 - exp(-u) is filled.
    """
    shape = state.rows.shape
    context = np.full(shape, traffic.decode_context_tokens)
    one, running = np.ones(shape), np.maximum(state.mean, 1.0)
    prompt_mean = max(traffic.prefill_mean_tokens, 1e-9)
    work_per_s = state.rate * prompt_mean / replicas.prompt_servers[state.rows]
    service = np.empty((tokens.size, state.rows.size))
    for index, prompt in enumerate(tokens):
        computed = max(prompt * (1.0 - traffic.cached_fraction), 1e-9)
        chunks = np.ceil(computed / state.chunk)
        rest = chunks * state.chunk - computed
        before_s = np.where(np.isfinite(queue.wait_mean_s), queue.wait_mean_s, 0.0)
        arriving = state.work + work_per_s * (before_s + (chunks - 1.0) * queue.full_s)
        filled = -np.expm1(-arriving / np.maximum(rest, prompt_mean))
        served = (computed + rest * filled) / chunks
        seen = np.full(shape, prompt - computed / 2.0)
        step_s = replicas.mixed_s(state.rows, running, context, served, seen, one)
        service[index] = policy.step_factor_ratio * chunks * step_s
    return np.maximum(service, state.decode_s)


def _queue(replicas: Replicas, state: State, traffic: Traffic, policy: LoadPolicy) -> PrefillQueue:
    """The queue in front of a prompt server.

    A prompt alone takes its own steps; the more prompts wait, the more of them share full steps, so that
    at full load each adds only its share of one. Alone, one decode step of its time does not depend on its
    length, which makes times vary less than lengths.
    """
    prompt = max(traffic.prefill_mean_tokens, 1e-9)
    full_s = policy.step_factor_ratio * replicas.mixed_s(
        state.rows,
        np.maximum(state.mean, 1.0),
        np.full(state.rows.shape, traffic.decode_context_tokens),
        state.chunk,
        np.full(state.rows.shape, prompt_context_tokens(traffic)),
        np.maximum(state.chunk / max(prompt, 1.0), 1.0),
    )
    rate = state.rate / replicas.prompt_servers[state.rows]
    alone_s = state.mixed_s * prompt / state.chunk_mean
    shared_s = np.minimum(full_s * prompt / state.chunk, alone_s)
    alone = np.maximum(1.0 - rate * alone_s, 0.0)
    occupancy = shared_s + alone * (alone_s - shared_s)
    busy = rate * occupancy
    scv = traffic.prefill_scv_ratio * np.square(1.0 - alone * np.minimum(state.decode_s / alone_s, 1.0))
    wait_mean = waiting.mean_wait_s(busy, occupancy, traffic.arrival_scv_ratio, scv)
    waits = waiting.wait_probability_fraction(busy, traffic.arrival_scv_ratio, scv)
    mixed_time = np.minimum(state.share * state.mixed_s / state.step_s, 1.0)
    residual = (1.0 - mixed_time) * state.decode_s + np.maximum(mixed_time - busy, 0.0) * state.mixed_s
    return PrefillQueue(
        busy=busy,
        wait_probability_fraction=waits,
        wait_mean_s=wait_mean,
        wait_scale_s=wait_mean / np.maximum(waits, 1e-12),
        residual_s=residual,
        alone_s=alone_s,
        full_s=full_s,
    )


def _statistic(
    name: str,
    replicas: Replicas,
    state: State,
    traffic: Traffic,
    policy: LoadPolicy,
    queue: PrefillQueue,
    weight: FloatArray,
    service: FloatArray,
) -> FloatArray:
    metric, statistic = name.split("_")
    extra = policy.ttft_factor_ratio / policy.step_factor_ratio * replicas.first_token_ratio(state.rows)
    overhead = replicas.first_token_overhead_s[state.rows] + replicas.image_encoder_s[state.rows]
    fixed = extra * (overhead + service)
    residual, wait_mean = extra * queue.residual_s, extra * queue.wait_mean_s
    ttft_mean = weight @ fixed + residual / 2.0 + wait_mean
    if statistic == "mean":
        rest = (traffic.output_mean_tokens - 1.0) * state.step_s
        return np.asarray(ttft_mean + rest if metric == "e2e" else ttft_mean)
    probability = PERCENTILE[statistic]
    if metric == "ttft":
        fixed = fixed + probability * residual
        return waiting.quantile_s(
            probability, weight, fixed, queue.wait_probability_fraction, extra * queue.wait_scale_s
        )
    variance = weight @ (fixed - weight @ fixed) ** 2 + residual**2 / 12.0
    finite_wait = np.where(np.isfinite(wait_mean), wait_mean, 0.0)
    scale = np.where(np.isfinite(wait_mean), extra * queue.wait_scale_s, 0.0)
    variance = variance + finite_wait * (2.0 * scale - finite_wait)
    return _end_to_end(state, traffic, probability, ttft_mean, variance)


def _end_to_end(
    state: State, traffic: Traffic, probability: float, ttft_mean_s: FloatArray, ttft_variance_s2: FloatArray
) -> FloatArray:
    """Quantile of TTFT + answer: a lognormal for each answer length, with the moments of both parts."""
    finite = np.isfinite(ttft_mean_s)
    first = np.where(finite, ttft_mean_s, 0.0)
    spread = np.where(finite, ttft_variance_s2, 0.0)
    weight, answer = lengths.atoms_around(traffic.output_weight, traffic.output_tokens, 1.0 - probability)
    gaps = np.maximum(answer - 1.0, 0.0)
    mean = first + gaps[:, None] * state.step_s
    variance = np.stack([spread + n * n * gap_variance_s2(state, traffic, n) for n in gaps])
    value = mixtures.lognormal_quantile(probability, weight, mean, np.sqrt(variance))
    return np.where(finite, value, np.inf)
