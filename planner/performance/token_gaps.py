"""Inter-token latency (all gaps pooled) and time per output token (gaps averaged in a request).

With speculative decoding tokens come in groups, one group a step. TPOT and the mean of ITL divide by the
tokens of a group; percentiles of ITL are gaps between groups: what a reader of the stream waits for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.performance.deep_steps import DeepSteps, Pieces, pieces_of
from planner.performance.load import PERCENTILE, FloatArray, LoadPolicy, State
from planner.queueing import lengths, mixtures, routing, waiting
from planner.schema.traffic import Traffic

_GENERATIONS = 4
"""Steps after one in which what arrived is followed; the rest is a geometric series."""
_MOST_GROWTH = 0.95
_TAKEN_TOGETHER = 0.17
"""Further variance over mean of what is taken from a shared queue at once; from simulations."""
_ANSWERS = (0.03, 0.12, 0.3, 0.6, 1.0)
"""Bins of answers for TPOT: fine where they are short, whose gaps scatter most."""


def token_latency(
    state: State,
    deep: DeepSteps,
    batch_sequences: FloatArray,
    traffic: Traffic,
    policy: LoadPolicy,
    wanted: tuple[str, ...],
) -> dict[str, FloatArray]:
    """The wanted statistics of ITL and TPOT."""
    result: dict[str, FloatArray] = {}
    for name in wanted:
        metric, statistic = name.split("_")
        if statistic == "mean":
            short_s = _short_answers(traffic) * state.extra_s if metric == "tpot" else 0.0
            result[name] = (state.step_s + short_s) / state.tokens
        elif metric == "itl":
            result[name] = _gap(state, deep, batch_sequences, traffic, policy, PERCENTILE[statistic])
        else:
            result[name] = _per_token(state, deep, batch_sequences, traffic, policy, PERCENTILE[statistic])
    return result


def _gap(
    state: State,
    deep: DeepSteps,
    batch_sequences: FloatArray,
    traffic: Traffic,
    policy: LoadPolicy,
    probability: float,
) -> FloatArray:
    """A quantile of all gaps between steps.

    When more than 1 - p of the gaps are mixed steps, it is a mixed step with the chunk of that rank
    and the mean batch; otherwise a decode step with the batch of that rank. Just below 1 - p the latency
    would jump with a small error of the share, so the planned margin is kept from there.
    """
    decode_s = state.decode_s + _heavier_s(state, batch_sequences, policy, probability)
    prefill = _prefill(state, traffic, deep)
    rare = (1.0 - probability) / (1.0 + policy.rare_step_margin_fraction)
    tokens = np.maximum(prefill.tokens(1.0 - rare, state.chunk), prefill.one_piece(rare) * state.chunk)
    mixed_s = deep.step_s(state, tokens) + _heavier_s(state, batch_sequences, policy, 0.5)
    return np.where(prefill.share > rare, np.maximum(mixed_s, decode_s), decode_s)


def _heavier_s(
    state: State, batch_sequences: FloatArray, policy: LoadPolicy, probability: float
) -> FloatArray:
    """What a batch of that rank, as a token sees it, adds to a step with the mean number."""
    z_score = lengths.normal_score(probability)
    number = state.peakedness + waiting.number_quantile(state.mean, z_score, state.peakedness)
    if policy.saturated:
        number = np.minimum(number, batch_sequences)
    running = np.maximum(state.mean, 1.0)
    return np.asarray(np.maximum(number - running, 0.0) * state.per_sequence_s)


@dataclass(frozen=True, eq=False)
class _Prefill:
    """Prompt tokens that share the steps of a token, per row."""

    share: FloatArray
    """Of gaps with any, at any prompt server: ranks and stages wait for each other."""
    median_tokens: FloatArray
    """Of these, as a lognormal."""
    log_sigma: FloatArray
    in_step: FloatArray
    """Pieces of prompts in a mean step, at all servers."""
    pieces: Pieces

    def tokens(self, probability: float, most: FloatArray) -> FloatArray:
        """Of the gap whose rank among all gaps is ``probability``."""
        rank = 1.0 - (1.0 - probability) / np.maximum(self.share, 1.0 - probability)
        score = lengths.normal_scores(np.clip(rank, 1e-6, 1.0 - 1e-6))
        return np.clip(self.median_tokens * np.exp(score * self.log_sigma), 1e-9, most)

    def one_piece(self, rare: float) -> FloatArray:
        """Part of a full chunk that single pieces come to in more than a ``rare`` share of gaps."""
        return self.pieces.longest(self.in_step, rare)


def _prefill(state: State, traffic: Traffic, steps: DeepSteps) -> _Prefill:
    """How prompts come together in steps: what arrives during a long step makes the next one long.

    Equations: a step with W prompt tokens takes T_d + s W, and a Poisson number of pieces (prompts, cut to
    chunks) of mean m and variation c^2 arrives in it: a of them in T_d, g in the time of one on average. A
    step has none with probability exp(-a (u_0 + u_1 + ...)), u_0 = 1 and u_(k+1) = 1 - E[exp(-g u_k piece/m)]
    (pieces as gamma); Var[W] = w m (c^2 + c_a^2) / (1 - g^2) with w the mean. Steps with prompts are taken as
    lognormal with these moments. Of s prompt servers some has prompts in 1 - (1 - share)^s of the steps.
    Source: branching with immigration, N' = Poisson(a + g N) (Harris, The Theory of Branching Processes,
    1963, chapter V).
    """
    pieces = pieces_of(state.chunk, traffic, steps)
    mean, scv = pieces.mean_tokens, pieces.scv_ratio
    work = np.minimum(state.share * state.chunk_mean, state.chunk)
    slope_s = np.maximum(state.mixed_s - state.decode_s, 0.0) / state.chunk_mean
    growth = np.minimum(slope_s * work / state.step_s, _MOST_GROWTH)
    arriving = work / mean * state.decode_s / state.step_s
    left, total = np.ones_like(work), np.zeros_like(work)
    for _ in range(_GENERATIONS):
        total += left
        left = 1.0 - np.power(1.0 + scv * growth * left, -1.0 / scv)
    share = -np.expm1(-arriving * (total + left / (1.0 - growth)))
    share = np.clip(np.maximum(share, work / state.chunk), 1e-12, 1.0)
    own = _arrivals_scv_ratio(traffic, work / traffic.prefill_mean_tokens)
    together = work / share
    both = (work * mean * (scv + arrivals) / (1.0 - growth * growth) + work * work for arrivals in (1.0, own))
    random, uneven = (np.log(np.maximum(v / share / (together * together), 1.0 + 1e-6)) for v in both)
    # Uneven arrivals widen what comes together; a lower median must not make up for all of it.
    median, log_sigma = together * np.exp(-(random + uneven) / 4.0), np.sqrt(uneven)
    anywhere = -np.expm1(state.servers * np.log1p(-np.minimum(share, 1.0 - 1e-12)))
    return _Prefill(anywhere, median, log_sigma, state.servers * work / mean, pieces)


def _arrivals_scv_ratio(traffic: Traffic, prompts: FloatArray) -> FloatArray:
    """Variance over mean of how many prompts come to a step, where ``prompts`` come on average.

    Equation: 1 + (c^2 - 1) sqrt(m / (1 + m)): uneven gaps tell less the fewer arrive (gamma gaps, within 0.03
    for c^2 = 2). A router evens loads out over many steps, not what arrives in one; from a shared queue the
    first replica to end a step takes all that waits.
    """
    policy, replicas = traffic.router
    own = routing.replica_scv_ratio(policy, replicas, traffic.arrival_scv_ratio)
    seen = prompts / (1.0 + prompts)
    if policy == "round-robin" and own < 1.0:
        return np.asarray(1.0 - (1.0 - own) * seen)
    taken = 1.0 + _TAKEN_TOGETHER * traffic.arrival_scv_ratio**0.5 if policy == "shared-queue" else 1.0
    return np.asarray(np.maximum(1.0 + (own - 1.0) * np.sqrt(seen), taken))


def _short_answers(traffic: Traffic) -> float:
    """E[mean answer / answer] - 1: the mean of a request counts the start of short answers more."""
    inverse = float(traffic.output_weight @ (1.0 / np.maximum(traffic.output_tokens, 1.0)))
    return max(traffic.output_mean_tokens * inverse - 1.0, 0.0)


def _per_token(
    state: State,
    deep: DeepSteps,
    batch_sequences: FloatArray,
    traffic: Traffic,
    policy: LoadPolicy,
    probability: float,
) -> FloatArray:
    """A quantile of the mean gap of a request: short answers scatter most.

    A router that compares loads sends less to a replica whose answers prompts delay: the variance that they
    make is taken half of the way to what it leaves of their queues (`routing.seen_ratio`).
    With drafts the number of steps varies too: independent of the gaps, so its part is added in quadrature.
    """
    weight, answer = lengths.distinct_atoms(
        *lengths.coarse_atoms(traffic.output_weight, traffic.output_tokens, _ANSWERS)
    )
    varied = deep.prompt_moments[0]
    seen = (1.0 + routing.seen_ratio(*traffic.router, state.slowed_ratio)) / 2.0
    variance = np.stack(
        [seen * gap_variance_s2(state, traffic, tokens / state.tokens, varied) for tokens in answer]
    )
    usual_s, common_s, most_s = (
        _heavier_s(state, batch_sequences, policy, rank) for rank in (0.5, 0.84, max(probability, 0.84))
    )
    common_s, most_s = common_s - usual_s, most_s - usual_s
    start = traffic.output_mean_tokens / np.maximum(answer, 1.0) - 1.0
    excess = np.maximum(state.step_s - state.decode_s + start[:, None] * state.extra_s, 0.0)
    common = (common_s * state.step_s / state.decode_s) ** 2
    value = mixtures.lognormal_quantile(probability, weight, excess, np.sqrt(variance + common))
    slowest_s = np.maximum(deep.full_s, state.step_s) + most_s
    gap_s = np.minimum(state.decode_s + value, slowest_s)
    above_s = np.maximum(gap_s - state.step_s, 0.0)
    gap_s = gap_s + np.hypot(above_s, _number_s(state, weight, answer, probability)) - above_s
    # A step emits one token at least.
    return np.asarray(np.minimum(gap_s / state.tokens, slowest_s))


def _number_s(state: State, weight: FloatArray, answer_tokens: FloatArray, probability: float) -> FloatArray:
    """What a number of steps above the mean adds to the mean gap: ``z T sqrt(Var(X) E[1/n] / tau)``."""
    per_token = float(weight @ (1.0 / np.maximum(answer_tokens, 1.0)))
    spread = np.sqrt(state.tokens_variance * per_token / state.tokens)
    return np.asarray(max(lengths.normal_score(probability), 0.0) * state.step_s * spread)


def gap_variance_s2(
    state: State, traffic: Traffic, answer_steps: FloatArray | float, prompt_scv_ratio: FloatArray | float
) -> FloatArray:
    """Variance of the mean gap of a request whose answer takes n steps, from the prompts it meets.

    Equation: an M/G/1 queue of load r with jobs of mean s = r / lambda goes first. To get x = n T_d
    seconds of decoding done from an empty queue takes a time of variance x lambda s^2 c / (1 - r)^3, with
    c = c_a^2 + c_s^2; the queue found at the start, of mean v = r s c / (2 (1 - r)), adds
    v^2 (2/r - 1) / (1 - r)^2. Both over n^2.
    Source: completion times under preemptive priority (Gaver 1962).
    """
    n, r = np.maximum(answer_steps, 1.0), np.maximum(state.delayed, 1e-9)
    job_s = r / np.maximum(state.rate, 1e-12)
    both = routing.replica_scv_ratio(*traffic.router, traffic.arrival_scv_ratio) + prompt_scv_ratio
    met = n * state.decode_s * r * job_s * both / (1.0 - r) ** 3
    found_s = r * job_s * both / (2.0 * (1.0 - r))
    found = found_s * found_s * (2.0 / r - 1.0) / (1.0 - r) ** 2
    return np.asarray((met + found) / (n * n))
