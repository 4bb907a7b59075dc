"""The steady state of replicas that decode a given mean number of sequences.

Equations: a decode step takes T_d(D), a mixed step with a chunk of p prompt tokens T_m(D, p). By
Little's law D = rate x answer x T, so w = D x prompt / answer prompt tokens arrive in a step of mean
time T, whatever T is; the share of mixed steps is x = w/p, T = (1 - x) T_d + x T_m and the rate is
D / (answer x T). Three corrections follow from prompts that come in clumps:

- Prefill takes the share r = 1 - T_d/T of the time from decoding. Prompts that wait for each other
  start their answers in batches, as many as a busy period of an M/G/1 queue of load r serves, so the
  number decoding varies more than Poisson (`waiting.batched_peakedness_ratio`, k).
- A token is likelier to be in a full step: the batch it sees is D + k on average. Answers slow each other,
  so their number varies more than k says (`State.peakedness`); seen by more tokens, longer steps are as much
  more as if they did not.
- An answer meets more prompts than D. It starts when L = b + b^2 (1 + c_s^2)/(2 (1 - b)) others are in the
  prefill queue of utilization b = x T_m/T (a departing prompt leaves what an arriving one finds), and ends
  after a token, so that only the share x/b of that is there: L (1 - T/T_m) more. And (c_a^2 - 1)/2 more
  come in its own burst. So x = (w/p) (1 + more/D).

With speculative decoding an answer takes ``answer / tau`` steps, tau tokens each, and a sequence brings all
verified tokens to a step.

Assumes: chunked prefill; first come, first served; attention ranks and stages prefill in the same steps.
Breaks down when: attention ranks prefill in different steps, each delaying the others.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.performance.load import FloatArray, IntArray, LoadPolicy, Replicas, State
from planner.queueing import routing, waiting
from planner.schema.traffic import Traffic

_ALMOST_ALL = 0.999
"""Of the largest number whose prompts just fit into every step; at that number the queue has no end."""
_MOST_SLOWED_FRACTION = 0.9
"""Of a step that its answers may cause; by judgment: beyond, their number drifts longer than a busy hour."""


def prompt_context_tokens(traffic: Traffic) -> float:
    """Mean context of a prompt token that is computed: longer prompts have more such tokens.

    Equation: E[e (n - e / 2)] / E[e] for prompts of n tokens of which the last e are computed; with the same
    share cached of all, (1 + cached) E[n^2] / (2 E[n]).
    """
    if traffic.prefill_tokens is not None:
        computed = traffic.computed_tokens
        seen = computed * (traffic.input_tokens - computed / 2.0)
        return float(traffic.input_weight @ seen / (traffic.input_weight @ computed))
    second = float(traffic.input_weight @ (traffic.input_tokens * traffic.input_tokens))
    return (1.0 + traffic.cached_fraction) * second / (2.0 * traffic.input_mean_tokens)


def steady_state(
    replicas: Replicas, rows: IntArray, concurrency: FloatArray, traffic: Traffic, policy: LoadPolicy
) -> State:
    """The state at a mean number decoding, shape (rows,)."""
    verified, tokens, tokens_variance = replicas.emitted(rows)
    steps = traffic.output_mean_tokens / tokens
    prompt = max(traffic.prefill_mean_tokens, 1e-9)
    budget, servers = replicas.batched_tokens[rows], replicas.prompt_servers[rows]
    # With all steps full, each decoding sequence takes its tokens of the budget and prompt / steps more.
    most = _ALMOST_ALL * budget * servers * steps / (verified * steps + prompt)
    mean = np.minimum(concurrency, most)
    chunk = np.maximum(budget - verified * np.maximum(mean, 1.0) / servers, 1.0)
    work = mean * prompt / (steps * servers)
    chunk_mean = np.minimum(np.maximum(_one_prompt_chunk(chunk, traffic), work), chunk)
    share = np.minimum(work / chunk_mean, 1.0)
    decode_s, mixed_s, per_sequence_s = _step_times(
        replicas, rows, np.maximum(mean, 1.0), chunk_mean, traffic, policy.step_factor_ratio
    )
    step_s = decode_s + share * (mixed_s - decode_s)
    state = State(
        rows=rows,
        servers=servers,
        mean=mean,
        peakedness=np.zeros_like(mean),
        chunk=chunk,
        chunk_mean=chunk_mean,
        work=work,
        decode_s=decode_s,
        mixed_s=mixed_s,
        per_sequence_s=per_sequence_s,
        share=share,
        step_s=step_s,
        rate=mean / (steps * step_s),
        delayed=1.0 - decode_s / step_s,
        extra_s=np.zeros_like(mean),
        tokens=tokens,
        tokens_variance=tokens_variance,
    )
    return state if policy.saturated else _clumped(state, traffic)


def _step_times(
    replicas: Replicas,
    rows: IntArray,
    running: FloatArray,
    chunk: FloatArray,
    traffic: Traffic,
    factor: float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Decode step, mixed step, and what one more sequence adds (secant to about the 99th percentile)."""
    more, nothing = 1.0 + 3.0 * np.sqrt(running), np.zeros(rows.shape)
    finishing = chunk / max(traffic.prefill_mean_tokens, 1e-9)
    finishing = np.minimum(np.maximum(finishing, 1.0), np.maximum(chunk, 1.0))
    # One call for the three: calls for few rows cost as much as for some hundred.
    decode_s, higher_s, mixed_s = factor * replicas.mixed_s(
        rows,
        np.stack((running, running + more, running)),
        np.full(rows.shape, traffic.decode_context_tokens),
        np.stack((nothing, nothing, chunk)),
        np.full(rows.shape, prompt_context_tokens(traffic)),
        np.stack((nothing, nothing, finishing)),
    )
    return decode_s, np.maximum(mixed_s, decode_s), np.maximum((higher_s - decode_s) / more, 0.0)


def _clumped(state: State, traffic: Traffic) -> State:
    """The three corrections for prompts that come in clumps."""
    arrival = routing.replica_scv_ratio(*traffic.router, traffic.arrival_scv_ratio)
    busy = np.minimum(state.share * state.mixed_s / state.step_s, _ALMOST_ALL)
    queue = busy + busy * _wait_ratio(state, traffic, busy)
    even_speed, peakedness = _peakedness(state, traffic, arrival, queue)
    met = max(arrival - 1.0, 0.0) / 2.0 + queue * (1.0 - state.step_s / state.mixed_s)
    even = _random_ratio(traffic)
    found = even + (1.0 - even) * _found_by_even(state.mean) + met / np.maximum(state.mean, 1e-9)
    share = np.minimum(state.share * found, 1.0)
    running = np.maximum(state.mean, 1.0)
    heavier = np.clip(state.mean + even_speed - running, 0.0, running) * state.per_sequence_s
    step_s = state.decode_s + heavier + share * (state.mixed_s - state.decode_s)
    extra_s = (share - state.share) * (state.mixed_s - state.decode_s)
    rate = state.rate * state.step_s / step_s
    return replace(state, peakedness=peakedness, share=share, step_s=step_s, rate=rate, extra_s=extra_s)


def _peakedness(
    state: State, traffic: Traffic, arrival_scv_ratio: float, prompts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Variance over mean of the number decoding: as if it did not slow steps, and as it does.

    Equations: with steps of a + b n the number leaves as n / (a + b n), so of births and deaths at a mean m
    the variance is k m / (1 - s), s = b m / (a + b m): answers that slow each other keep more of them here,
    whatever their lengths (a symmetric queue). Behind a router that compares loads replicas differ by few
    requests, and what varies is the pool: k/(n (1 - s)), and v (1 + q)/m for the requests by which counts
    differ and the q prompts among them, v of `routing.count_variance`; never more than arrivals at one
    replica explain, nor less than evenly spaced ones do.
    Source: Kelly, Reversibility and stochastic networks, 1979, section 3.3, for the symmetric queue. Against
        runs of 20 to 600 answers, one to 16 replicas: ``docs/decisions/0049-answers-slow-each-other.md``.
    """
    policy, replicas = traffic.router
    r, prompt = state.delayed, traffic.prefill_scv_ratio
    slowed_fraction = state.per_sequence_s * state.mean / state.decode_s
    more_ratio = 1.0 / (1.0 - np.minimum(slowed_fraction, _MOST_SLOWED_FRACTION))
    alone = waiting.batched_peakedness_ratio(r, arrival_scv_ratio, prompt)
    differ = routing.count_variance(policy, replicas)
    if differ is None:
        return alone, alone * more_ratio
    n, least = min(replicas, routing.MOST_SERVERS), waiting.peakedness_ratio(0.0)
    pool = waiting.batched_peakedness_ratio(r, traffic.arrival_scv_ratio, prompt) / n
    own = np.minimum(differ * (1.0 + prompts) / np.maximum(state.mean, 1e-9), alone) * (1.0 - 1.0 / n)
    return np.maximum(pool + own, least), np.maximum(pool * more_ratio + own, least)


def _random_ratio(traffic: Traffic) -> float:
    """How far arrivals at a replica are from evenly spaced (0) to random (1), answers that run considered.

    Who takes from a shared queue is the first to end a step: half chance, half that little runs there.
    """
    policy, replicas = traffic.router
    own, scattered = (
        routing.replica_scv_ratio(name, replicas, traffic.arrival_scv_ratio, large_pool_ratio=0.0)
        for name in (policy, "random")
    )
    return min((own + scattered) / 2.0 if policy == "shared-queue" else own, 1.0)


def _found_by_even(mean: FloatArray) -> FloatArray:
    """Of the mean number running, what an arrival finds where gaps between arrivals are equal.

    Equation: sum over k >= 1 of exp(-k / m), over m: exponential stays, places for all. Near m - 1/2.
    Source: Takacs, Introduction to the Theory of Queues, 1962, chapter 3 (GI/M/inf).
    """
    m = np.maximum(mean, 1e-2)
    return np.asarray(1.0 / (m * np.expm1(1.0 / m)))


def told_slowed_ratio(state: State, traffic: Traffic) -> FloatArray:
    """`State.slowed_ratio` as the ends of answers tell it to a router.

    Ends that repeat earlier arrivals (`routing.repeated_fraction`) tell nothing of what a replica computes.
    """
    slowed = state.slowed_ratio
    repeated = routing.repeated_fraction(traffic.routing.policy, state.mean, traffic.output_scv_ratio)
    return np.asarray(slowed + (1.0 - slowed) * repeated)


def _wait_ratio(state: State, traffic: Traffic, busy: FloatArray) -> FloatArray:
    """Mean wait of prompts for each other over their service, behind the router, for random arrivals."""
    scv, slowed = np.full_like(busy, traffic.prefill_scv_ratio), told_slowed_ratio(state, traffic)
    return routing.pool_wait(*traffic.router, busy, np.ones_like(busy), 1.0, scv, slowed).mean_s


def _one_prompt_chunk(chunk: FloatArray, traffic: Traffic) -> FloatArray:
    """Mean prompt tokens of a mixed step that serves one prompt: E[e] / E[ceil(e / chunk)]."""
    prefill = traffic.computed_tokens
    chunks = traffic.input_weight @ np.ceil(prefill[:, None] / chunk)
    return np.asarray(traffic.input_weight @ prefill / chunks)
