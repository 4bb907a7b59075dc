"""Time to first token and end-to-end time: the prefill queue, the own prompt, the answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.performance.deep_steps import DeepSteps
from planner.performance.load import PERCENTILE, FloatArray, LoadPolicy, Replicas, State
from planner.performance.steady_state import told_slowed_ratio
from planner.performance.token_gaps import gap_variance_s2
from planner.physics import parallelism, speculation
from planner.queueing import lengths, mixtures, routing, waiting
from planner.schema.traffic import Traffic

_TAIL_RATIO = 1.2
"""Long waits over those of an exponential tail: prompts wait whole steps, and long ones hold up several.

Fitted to simulated pools; see ``docs/decisions/0032-what-routers-count.md``.
"""


@dataclass(frozen=True, eq=False)
class PrefillQueue:
    """The wait of prompts for each other, per row."""

    busy: FloatArray
    """Utilization of a prompt server."""
    wait_probability_fraction: FloatArray
    wait_mean_s: FloatArray
    wait_scale_s: FloatArray
    """Mean wait of those who wait."""
    wait_scv_ratio: FloatArray | float
    """Squared coefficient of variation of it."""
    meanwhile_ratio: FloatArray | float
    """Prompts that come while one is served, over those that come at random times."""
    residual_s: FloatArray
    """What the step in progress still takes at most, where the queue does not count it."""
    alone_s: FloatArray
    """Mean time of one prompt."""
    full_s: FloatArray
    """A step with a full chunk."""


@dataclass(frozen=True, eq=False)
class _Prompts:
    """Prompts of a few lengths."""

    weight: FloatArray
    tokens: FloatArray
    computed: FloatArray
    """Of these, the last so many are computed."""
    fetched: FloatArray | None
    """Of these, so many are fetched from outside the GPU; None: none of any."""


def arrival_latency(
    replicas: Replicas,
    state: State,
    traffic: Traffic,
    policy: LoadPolicy,
    deep: DeepSteps,
    wanted: tuple[str, ...],
) -> tuple[dict[str, FloatArray], PrefillQueue]:
    """The wanted statistics of TTFT and E2E, and the queue behind them."""
    result: dict[str, FloatArray] = {}
    queue = _queue(replicas, state, traffic, deep)
    tails = sorted({_tail(name) for name in wanted})
    for tail in tails:
        prompts = _prompts(traffic, tail)
        service = _service(replicas, state, traffic, policy, queue, prompts)
        fetch_s = _fetch_s(replicas, state, traffic, prompts)
        for name in wanted:
            if _tail(name) == tail:
                result[name] = _statistic(
                    name, replicas, state, traffic, policy, queue, prompts.weight, service, fetch_s
                )
    return result, queue


def _prompts(traffic: Traffic, tail: float) -> _Prompts:
    """Atoms for a statistic, by the time that prompts take.

    A token that is fetched counts as half of one that is computed: more than nothing, less than all is what
    the order needs, since fetching is only planned where it is faster.
    """
    if traffic.prefill_tokens is None:
        weight, tokens = lengths.atoms_around(traffic.input_weight, traffic.input_tokens, tail)
        return _Prompts(weight, tokens, np.maximum(tokens * (1.0 - traffic.cached_fraction), 1e-9), None)
    known = traffic.reloaded_tokens
    fetched = np.zeros_like(traffic.input_tokens) if known is None else known
    columns = (traffic.input_tokens, traffic.computed_tokens, fetched)
    order = traffic.computed_tokens + fetched / 2.0
    weight, merged = lengths.coarse_columns(traffic.input_weight, order, columns, lengths.levels_around(tail))
    return _Prompts(weight, merged[0], merged[1], None if known is None else merged[2])


def _fetch_s(replicas: Replicas, state: State, traffic: Traffic, prompts: _Prompts) -> FloatArray | float:
    """Time to fetch KV from outside the GPU, shape (prompts, rows); it takes no step."""
    if replicas.fetching is None or prompts.fetched is None:
        return 0.0
    busy = replicas.fetching.busy(state.rows, state.rate, traffic.reloaded_mean_tokens)
    return replicas.fetching.time_s(state.rows, prompts.fetched, busy)


def _tail(name: str) -> float:
    """Share of requests above the statistic; 1 for means."""
    return 1.0 - PERCENTILE.get(name.split("_")[1], 0.0)


def _service(
    replicas: Replicas,
    state: State,
    traffic: Traffic,
    policy: LoadPolicy,
    queue: PrefillQueue,
    prompts: _Prompts,
) -> FloatArray:
    """Steps from the first chunk of a prompt to its last, shape (prompts, rows).

    With pipeline stages its chunks follow each other through them (`parallelism.pipeline_prompt_s`): a prompt
    of one chunk passes one stage after the other, and the more chunks, the fewer stages wait.

    The last chunk has company: prompts that arrived up to then fill up the step. With u the mean work that
    arrives, in prompts or in rests of the step if these are smaller, a share 1 - exp(-u) is filled. Less
    arrives where a router knows that a prompt is being served (`routing.meanwhile_ratio`).
    """
    shape = state.rows.shape
    context = np.full(shape, traffic.decode_context_tokens)
    one, running = np.ones(shape), np.maximum(state.mean, 1.0)
    stages = one if replicas.stages is None else replicas.stages[state.rows]
    prompt_mean = max(traffic.prefill_mean_tokens, 1e-9)
    work_per_s = state.rate * prompt_mean / replicas.prompt_servers[state.rows]
    tokens, computed = prompts.tokens[:, None], prompts.computed[:, None]
    chunks = np.ceil(computed / state.chunk)
    rest = chunks * state.chunk - computed
    before_s = np.where(np.isfinite(queue.wait_mean_s), queue.wait_mean_s, 0.0)
    arriving = state.work + work_per_s * (before_s + (chunks - 1.0) * queue.full_s)
    filled = -np.expm1(-queue.meanwhile_ratio * arriving / np.maximum(rest, prompt_mean))
    served = (computed + rest * filled) / chunks
    step_s = replicas.mixed_s(state.rows, running, context, served, tokens - computed / 2.0, one)
    service = policy.step_factor_ratio * parallelism.pipeline_prompt_s(step_s / stages, chunks, stages)
    return np.maximum(service, state.decode_s)


def _queue(replicas: Replicas, state: State, traffic: Traffic, deep: DeepSteps) -> PrefillQueue:
    """The queue in front of a prompt server.

    A prompt alone takes its own steps; the more prompts wait, the more of them share full steps, so that
    at full load each adds only its share of one. Alone, one decode step of its time does not depend on its
    length, which makes times vary less than lengths.
    """
    prompt = max(traffic.prefill_mean_tokens, 1e-9)
    full_s = deep.full_s
    rate = state.rate / replicas.prompt_servers[state.rows]
    alone_s = state.mixed_s * prompt / state.chunk_mean
    shared_s = np.minimum(full_s * prompt / state.chunk, alone_s)
    alone = np.maximum(1.0 - rate * alone_s, 0.0)
    occupancy = shared_s + alone * (alone_s - shared_s)
    busy = rate * occupancy
    varies = 1.0 - alone * np.minimum(state.decode_s / alone_s, 1.0)
    second, third = deep.prompt_moments
    scv = second * varies * varies
    arrivals, slowed = traffic.arrival_scv_ratio, told_slowed_ratio(state, traffic)
    third = 1.0 + 3.0 * scv + third * varies**3
    wait = routing.pool_wait(*traffic.router, busy, occupancy, arrivals, scv, slowed, third)
    mixed_time = np.minimum(state.share * state.mixed_s / state.step_s, 1.0)
    residual = (1.0 - mixed_time) * state.decode_s + np.maximum(mixed_time - busy, 0.0) * state.mixed_s
    return PrefillQueue(
        busy=busy,
        wait_probability_fraction=wait.probability_fraction,
        wait_mean_s=wait.mean_s,
        wait_scale_s=(1.0 + (_TAIL_RATIO - 1.0) * wait.random_ratio) * wait.scale_s,
        wait_scv_ratio=wait.scv_ratio,
        meanwhile_ratio=routing.meanwhile_ratio(*traffic.router, busy, wait, slowed),
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
    fetch_s: FloatArray | float,
) -> FloatArray:
    metric, statistic = name.split("_")
    extra = policy.ttft_factor_ratio / policy.step_factor_ratio * replicas.first_token_ratio(state.rows)
    overhead = replicas.first_token_overhead_s[state.rows] + replicas.before_prompt_s[state.rows]
    fixed = extra * (overhead + service) + fetch_s
    residual, wait_mean = extra * queue.residual_s, extra * queue.wait_mean_s
    ttft_mean = weight @ fixed + residual / 2.0 + wait_mean
    if statistic == "mean":
        rest = (traffic.output_mean_tokens - 1.0) / state.tokens * state.step_s
        return np.asarray(ttft_mean + rest if metric == "e2e" else ttft_mean)
    probability = PERCENTILE[statistic]
    if metric == "ttft":
        fixed = fixed + probability * residual
        waits, scale, varies = queue.wait_probability_fraction, queue.wait_scale_s, queue.wait_scv_ratio
        return waiting.quantile_s(probability, weight, fixed, waits, extra * scale, varies)
    variance = weight @ (fixed - weight @ fixed) ** 2 + residual**2 / 12.0
    finite_wait = np.where(np.isfinite(wait_mean), wait_mean, 0.0)
    scale = np.where(np.isfinite(wait_mean), extra * queue.wait_scale_s, 0.0)
    variance = variance + finite_wait * ((1.0 + np.maximum(queue.wait_scv_ratio, 1.0)) * scale - finite_wait)
    return end_to_end(state, traffic, probability, ttft_mean, variance)


def end_to_end(
    state: State, traffic: Traffic, probability: float, ttft_mean_s: FloatArray, ttft_variance_s2: FloatArray
) -> FloatArray:
    """Quantile of TTFT + answer: a lognormal for each answer length, with the moments of both parts.

    The steps of an answer vary where drafts are verified (`speculation.answer_steps_variance`).
    """
    finite = np.isfinite(ttft_mean_s)
    first = np.where(finite, ttft_mean_s, 0.0)
    spread = np.where(finite, ttft_variance_s2, 0.0)
    weight, answer = lengths.atoms_around(traffic.output_weight, traffic.output_tokens, 1.0 - probability)
    gaps = np.maximum(answer - 1.0, 0.0)
    mean = first + gaps[:, None] / state.tokens * state.step_s
    variance = np.stack([spread + _answer_variance_s2(state, traffic, n) for n in gaps])
    value = mixtures.lognormal_quantile(probability, weight, mean, np.sqrt(variance))
    return np.where(finite, value, np.inf)


def _answer_variance_s2(state: State, traffic: Traffic, answer_tokens: float) -> FloatArray:
    """Variance of the time between the first token and the last."""
    steps = answer_tokens / state.tokens
    number = speculation.answer_steps_variance(answer_tokens, state.tokens, state.tokens_variance)
    gap_s2 = gap_variance_s2(state, traffic, steps, traffic.prefill_scv_ratio)
    return np.asarray(steps * steps * gap_s2 + number * state.step_s**2)
