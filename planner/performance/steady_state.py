"""The steady state of replicas that decode a given mean number of sequences.

Equations: a decode step takes T_d(D), a mixed step with a chunk of p prompt tokens T_m(D, p). By
Little's law D = rate x answer x T, so w = D x prompt / answer prompt tokens arrive in a step of mean
time T, whatever T is; the share of mixed steps is x = w/p, T = (1 - x) T_d + x T_m and the rate is
D / (answer x T). Three corrections follow from prompts that come in clumps:

- Prefill takes the share r = 1 - T_d/T of the time from decoding. Prompts that wait for each other
  start their answers in batches as long as the busy periods of an M/G/1 queue of load r, so the number
  decoding has variance over mean k = k_a/(1 - r) + r (c_a^2 + r c_s^2)/(2 (1 - r)^2).
- A token is likelier to be in a full step: its mean batch is D + k.
- A request sees more prompts than a random moment: (c_a^2 - 1)/2 of its own burst, and the ones that its
  own prompt left waiting, r (1 - c_s^2)/(2 (1 - r)) more than usual.

Source: busy periods and departures of the M/G/1 queue (Kleinrock, Queueing Systems I, 1975, section 5);
compared with a simulation of chunked prefill in the tests.
Assumes: chunked prefill; first come, first served; attention ranks and stages prefill in the same steps.
"""

from __future__ import annotations

import numpy as np

from planner.performance.load import FloatArray, IntArray, LoadPolicy, Replicas, State
from planner.queueing import waiting
from planner.schema.traffic import Traffic

_ALMOST_ALL = 0.999
"""Of the largest number whose prompts just fit into every step: there the queue would not end."""


def steady_state(
    replicas: Replicas, rows: IntArray, concurrency: FloatArray, traffic: Traffic, policy: LoadPolicy
) -> State:
    """The state at a mean number decoding, shape (rows,); see the equations above."""
    answer = traffic.output_mean_tokens
    prompt = max(traffic.prefill_mean_tokens, 1e-9)
    budget, servers = replicas.batched_tokens[rows], replicas.prompt_servers[rows]
    # With all steps full, each decoding sequence takes one token of the budget and prompt / answer more.
    most = _ALMOST_ALL * budget * servers * answer / (answer + prompt)
    mean = np.minimum(concurrency, most)
    running = np.maximum(mean, 1.0)
    chunk = np.maximum(budget - running / servers, 1.0)
    work = mean * prompt / (answer * servers)
    chunk_mean = np.minimum(np.maximum(mean_chunk_tokens(chunk, traffic), work), chunk)
    share = np.minimum(work / chunk_mean, 1.0)
    decode_s, mixed_s, per_sequence_s = _step_times(replicas, rows, running, chunk_mean, work, traffic)
    factor = policy.step_factor_ratio
    decode_s, mixed_s, per_sequence_s = factor * decode_s, factor * mixed_s, factor * per_sequence_s
    delayed = share * (mixed_s - decode_s) / (decode_s + share * (mixed_s - decode_s))
    peakedness = waiting.batched_peakedness_ratio(
        delayed, traffic.arrival_scv_ratio, traffic.prefill_scv_ratio
    )
    seen = max(traffic.arrival_scv_ratio - 1.0, 0.0) / 2.0 + np.maximum(
        delayed * (1.0 - traffic.prefill_scv_ratio) / (2.0 * (1.0 - delayed)), 0.0
    )
    share = np.minimum(share * (1.0 + seen / np.maximum(mean, 1e-9)), 1.0)
    heavier_s = per_sequence_s * (np.minimum(peakedness, running))
    step_s = decode_s + heavier_s + share * (mixed_s - decode_s)
    return State(
        rows=rows,
        mean=mean,
        peakedness=peakedness,
        chunk=chunk,
        chunk_mean=chunk_mean,
        work=work,
        decode_s=decode_s,
        mixed_s=mixed_s,
        per_sequence_s=per_sequence_s,
        share=share,
        step_s=step_s,
        rate=mean / (answer * step_s),
        delayed=delayed,
    )
