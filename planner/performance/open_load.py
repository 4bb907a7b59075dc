"""One replica under an open load: steady state, latency percentiles, capacity.

The engine runs steps. A decode-only step takes T_d(D); a mixed step also prefills a chunk of p
prompt tokens and takes T_m(D, p). By Little's law the mean number decoding is
D = rate x answer tokens x mean step, so a step carries w = D x prompt tokens / answer tokens
prompt tokens on average, whatever the step time is. The share of mixed steps is w/p, the mean step
T = (1 - w/p) T_d + (w/p) T_m, and the rate is D / (answer tokens x T).

Prompts wait for the prefill work in front of them: one server that works off a full chunk per
mixed step, with renewal arrivals (Kingman) and an exponential tail.

Assumes: chunked prefill; stationary arrivals; independent lengths; first come, first served.
Breaks down when: the batch cap is reached often (its probability is held at a small planned value);
prompts arrive in correlated bursts longer than the queue's memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.queueing import lengths, waiting
from planner.schema.traffic import Traffic

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

StepFunction = Callable[[IntArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray], FloatArray]
"""(rows, decode_sequences, context_tokens, prefill_tokens, prefill_context_tokens, finishing_prompts) -> s."""

PERCENTILE = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_PROMPT_LEVELS = (0.5, 0.9, 0.98, 1.0)
_ANSWER_LEVELS = (0.25, 0.5, 0.75, 0.9, 0.98, 1.0)
_SMALLEST_CHUNK_FRACTION = 0.25


@dataclass(frozen=True, eq=False)
class Replicas:
    """What the load model needs to know of the configurations: one entry a row of the step model."""

    step_s: StepFunction
    batched_tokens: FloatArray
    """Tokens in one step at most."""
    first_token_overhead_s: FloatArray
    """Front end and scheduler, before any prefill."""
    image_encoder_s: FloatArray
    """Time to encode the images of one request."""
    prompt_servers: FloatArray
    """Attention-data-parallel ranks x pipeline stages: each has its own token budget and prompts."""

    def mixed_s(
        self,
        rows: IntArray,
        decode_sequences: FloatArray,
        context_tokens: FloatArray,
        server_prefill_tokens: FloatArray,
        prefill_context_tokens: FloatArray,
        finishing_prompts: FloatArray,
    ) -> FloatArray:
        """A step in which every prompt server works off the given tokens (the slowest sets the time)."""
        everywhere = server_prefill_tokens * self.prompt_servers[rows]
        return self.step_s(
            rows, decode_sequences, context_tokens, everywhere, prefill_context_tokens, finishing_prompts
        )


@dataclass(frozen=True)
class LoadPolicy:
    """Judgement of the load model (from the catalog)."""

    slot_z_score: float
    """Normal score of the probability that every slot of the batch is taken."""
    step_factor_ratio: float
    """Step times are multiplied by this to hold at the planned confidence."""
    ttft_factor_ratio: float
    """The same for TTFT."""
    saturated: bool
    """No limit on TTFT or E2E: requests may queue without end and the batch is always full."""


@dataclass(frozen=True, eq=False)
class Load:
    """A steady state per row, and what requests experience in it. Seconds, shape (rows,)."""

    rate_rps: FloatArray
    concurrency: FloatArray
    """Mean number decoding."""
    decode_step_s: FloatArray
    mean_step_s: FloatArray
    mixed_fraction: FloatArray
    """Share of steps that prefill."""
    prefill_s: FloatArray
    """Mean time of one prompt, alone in the prefill queue."""
    prefill_utilization: FloatArray
    latency_s: Mapping[str, FloatArray]
    """``ttft_p99`` and so on: those that were asked for."""


@dataclass(frozen=True, eq=False)
class _State:
    """Intermediate quantities of one evaluation."""

    rows: IntArray
    mean: FloatArray
    chunk: FloatArray
    """Prompt tokens of a full mixed step, of one prompt server."""
    chunk_mean: FloatArray
    decode_s: FloatArray
    mixed_s: FloatArray
    share: FloatArray
    step_s: FloatArray
    rate: FloatArray


def concurrency_at_cap(batch_sequences: FloatArray, traffic: Traffic, policy: LoadPolicy) -> FloatArray:
    """Mean number decoding when the largest batch is just enough (see `waiting.mean_number_for_cap`)."""
    if policy.saturated:
        return np.asarray(batch_sequences, dtype=np.float64)
    peakedness = waiting.peakedness_ratio(traffic.arrival_scv_ratio)
    return waiting.mean_number_for_cap(batch_sequences, policy.slot_z_score, peakedness)


def measure(
    replicas: Replicas,
    rows: IntArray,
    concurrency: FloatArray,
    batch_sequences: FloatArray,
    traffic: Traffic,
    policy: LoadPolicy,
    wanted: tuple[str, ...],
) -> Load:
    """The steady state at a mean number decoding, and the wanted latencies (``"itl_p99"``, ``"ttft_mean"``).

    Args:
        replicas: step model and engine facts by row. rows: rows to evaluate, shape (n,).
        concurrency: mean number decoding, shape (n,). batch_sequences: the largest batch, shape (n,).
        wanted: names of `Slo`.
    """
    state = _steady_state(replicas, rows, concurrency, traffic, policy)
    latency: dict[str, FloatArray] = {}
    per_token = tuple(name for name in wanted if name.startswith(("itl", "tpot")))
    if per_token:
        latency |= _token_latency(replicas, state, batch_sequences, traffic, policy, per_token)
    first = tuple(name for name in wanted if name.startswith(("ttft", "e2e")))
    prefill = np.zeros_like(state.rate)
    busy = np.minimum(state.share * state.mixed_s / state.step_s, 1.0)
    if first:
        wait, fixed, weights, prefill = _first_token(replicas, state, traffic, policy)
        busy = wait.busy
        latency |= _arrival_latency(wait, fixed, weights, state, traffic, policy, first)
    return Load(
        rate_rps=state.rate,
        concurrency=state.mean,
        decode_step_s=state.decode_s,
        mean_step_s=state.step_s,
        mixed_fraction=state.share,
        prefill_s=prefill,
        prefill_utilization=busy,
        latency_s=latency,
    )


def _steady_state(
    replicas: Replicas, rows: IntArray, concurrency: FloatArray, traffic: Traffic, policy: LoadPolicy
) -> _State:
    answer = traffic.output_mean_tokens
    prompt = max(traffic.prefill_mean_tokens, 1e-9)
    budget, servers = replicas.batched_tokens[rows], replicas.prompt_servers[rows]
    chunk = np.maximum(budget - concurrency / servers, budget * _SMALLEST_CHUNK_FRACTION)
    # Beyond this number the prompts of the decoding requests fill every step completely.
    mean = np.minimum(concurrency, 0.999 * chunk * servers * answer / prompt)
    running = np.maximum(mean, 1.0)
    work = running * prompt / (answer * servers)
    chunk_mean = np.minimum(np.maximum(_mean_chunk(chunk, traffic), work), chunk)
    share = np.minimum(work / chunk_mean, 1.0)
    context = np.full(rows.shape, traffic.decode_context_tokens)
    second = float(traffic.input_weight @ (traffic.input_tokens * traffic.input_tokens))
    prompt_context = np.full(rows.shape, second / traffic.input_mean_tokens * (1.0 + traffic.cached_fraction) / 2.0)
    nothing = np.zeros(rows.shape)
    factor = policy.step_factor_ratio
    decode_s = factor * replicas.step_s(rows, running, context, nothing, nothing, nothing)
    finishing = np.minimum(chunk_mean / prompt, np.maximum(1.0, work / prompt))
    mixed_s = factor * replicas.mixed_s(rows, running, context, chunk_mean, prompt_context, finishing)
    mixed_s = np.maximum(mixed_s, decode_s)
    step_s = (1.0 - share) * decode_s + share * mixed_s
    rate = mean / (answer * step_s)
    return _State(rows, mean, chunk, chunk_mean, decode_s, mixed_s, share, step_s, rate)


def _mean_chunk(chunk: FloatArray, traffic: Traffic) -> FloatArray:
    """Mean prompt tokens of a mixed step that serves one prompt: E[e] / E[ceil(e / chunk)]."""
    weight, tokens = lengths.coarse_atoms(traffic.input_weight, traffic.input_tokens, _PROMPT_LEVELS)
    prefill = np.maximum(tokens * (1.0 - traffic.cached_fraction), 1e-9)
    chunks = weight @ np.ceil(prefill[:, None] / chunk[None, :])
    return np.asarray((weight @ prefill) / np.maximum(chunks, 1e-9))


def _token_latency(
    replicas: Replicas,
    state: _State,
    batch_sequences: FloatArray,
    traffic: Traffic,
    policy: LoadPolicy,
    wanted: tuple[str, ...],
) -> dict[str, FloatArray]:
    """ITL and TPOT: the number decoding varies, and a share of the steps prefills.

    ITL pools the gaps of all tokens: when more than 1 - p of the steps are mixed, its p quantile is a
    mixed step with the chunk of that rank; otherwise a decode step. TPOT averages over a request, so
    its quantiles follow the number decoding alone.
    """
    result: dict[str, FloatArray] = {}
    peakedness = waiting.peakedness_ratio(traffic.arrival_scv_ratio)
    factor = policy.step_factor_ratio
    context = np.full(state.rows.shape, traffic.decode_context_tokens)
    prompt_context = np.full(
        state.rows.shape, traffic.input_mean_tokens * (1.0 + traffic.cached_fraction) / 2.0
    )
    nothing = np.zeros(state.rows.shape)
    for name in wanted:
        statistic = name.split("_")[1]
        if statistic == "mean":
            result[name] = state.step_s
            continue
        probability = PERCENTILE[statistic]
        number = waiting.number_quantile(state.mean, lengths.normal_score(probability), peakedness)
        number = np.maximum(np.clip(number, state.mean, np.maximum(batch_sequences, state.mean)), 1.0)
        decode_s = factor * replicas.step_s(state.rows, number, context, nothing, nothing, nothing)
        if name.startswith("tpot"):
            mixed_s = np.maximum(state.mixed_s + decode_s - state.decode_s, decode_s)
            result[name] = (1.0 - state.share) * decode_s + state.share * mixed_s
            continue
        chunk = _chunk_quantile(state, traffic, probability)
        finishing = np.minimum(chunk / max(traffic.prefill_mean_tokens, 1e-9), 1.0)
        mixed_s = factor * replicas.mixed_s(state.rows, number, context, chunk, prompt_context, finishing)
        result[name] = np.where(state.share > 1.0 - probability, np.maximum(mixed_s, decode_s), decode_s)
    return result


def _chunk_quantile(state: _State, traffic: Traffic, probability: float) -> FloatArray:
    """Prompt tokens of the mixed step whose rank among all steps is ``probability``."""
    rank = 1.0 - (1.0 - probability) / np.maximum(state.share, 1.0 - probability)
    order = np.argsort(traffic.input_tokens, kind="stable")
    cumulative = np.cumsum(traffic.input_weight[order])
    index = np.minimum(np.searchsorted(cumulative, rank - 1e-12), order.size - 1)
    prefill = traffic.input_tokens[order][index] * (1.0 - traffic.cached_fraction)
    return np.asarray(np.minimum(np.maximum(prefill, state.chunk_mean), state.chunk))


@dataclass(frozen=True, eq=False)
class _Wait:
    probability: FloatArray
    scale_s: FloatArray
    mean_s: FloatArray
    busy: FloatArray


def _first_token(
    replicas: Replicas, state: _State, traffic: Traffic, policy: LoadPolicy
) -> tuple[_Wait, FloatArray, FloatArray, FloatArray]:
    """Wait of the prefill queue, and what each prompt atom takes besides: shapes (atoms, rows)."""
    weight, tokens = lengths.coarse_atoms(traffic.input_weight, traffic.input_tokens, _PROMPT_LEVELS)
    prefill = np.maximum(tokens * (1.0 - traffic.cached_fraction), 1e-9)
    context = np.full(state.rows.shape, traffic.decode_context_tokens)
    running = np.maximum(state.mean, 1.0)
    factor = policy.step_factor_ratio
    service = np.empty((tokens.size, state.rows.size))
    for index, (prompt, computed) in enumerate(zip(tokens, prefill, strict=True)):
        chunks = np.ceil(computed / state.chunk)
        prompt_context = np.full(state.rows.shape, prompt - computed / 2.0)
        one = replicas.mixed_s(
            state.rows, running, context, computed / chunks, prompt_context, np.ones(state.rows.shape)
        )
        service[index] = factor * chunks * one
    service = np.maximum(service, state.decode_s)
    mean_service = weight @ service
    # A waiting queue is worked off in full chunks: what a prompt adds to the work of the others.
    full = service[-1] / np.ceil(prefill[-1] / state.chunk)
    full_tokens = prefill[-1] / np.ceil(prefill[-1] / state.chunk)
    occupancy = np.minimum(mean_service, traffic.prefill_mean_tokens * full / full_tokens)
    busy = state.rate / replicas.prompt_servers[state.rows] * occupancy
    wait_mean = waiting.mean_wait_s(
        busy, occupancy, traffic.arrival_scv_ratio, np.full(busy.shape, traffic.prefill_scv_ratio)
    )
    wait = _Wait(np.minimum(busy, 1.0), wait_mean / np.maximum(busy, 1e-12), wait_mean, busy)
    overhead = replicas.first_token_overhead_s[state.rows] + replicas.image_encoder_s[state.rows]
    fixed = overhead[None, :] + service
    return wait, fixed, weight, mean_service


def _arrival_latency(
    wait: _Wait,
    fixed: FloatArray,
    weight: FloatArray,
    state: _State,
    traffic: Traffic,
    policy: LoadPolicy,
    wanted: tuple[str, ...],
) -> dict[str, FloatArray]:
    """TTFT and E2E quantiles from the joint distribution of wait, prompt and answer length.

    A request joins between steps: on average half a step passes first, in the tail a whole one.
    """
    result: dict[str, FloatArray] = {}
    extra = policy.ttft_factor_ratio / policy.step_factor_ratio
    answer_weight, answer = lengths.coarse_atoms(traffic.output_weight, traffic.output_tokens, _ANSWER_LEVELS)
    for name in wanted:
        metric, statistic = name.split("_")
        if statistic == "mean":
            first = extra * (weight @ fixed + wait.mean_s + state.step_s / 2.0)
            rest = (traffic.output_mean_tokens - 1.0) * state.step_s
            result[name] = first if metric == "ttft" else first + rest
            continue
        parts, weights = extra * (fixed + state.step_s), weight
        if metric == "e2e":
            tail = np.maximum(answer - 1.0, 0.0)[:, None] * state.step_s[None, :]
            parts = (parts[:, None, :] + tail[None, :, :]).reshape(-1, state.rows.size)
            weights = (weight[:, None] * answer_weight[None, :]).ravel()
        result[name] = waiting.quantile_s(
            PERCENTILE[statistic], weights, parts, wait.probability, extra * wait.scale_s
        )
    return result
