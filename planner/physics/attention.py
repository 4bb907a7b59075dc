"""Work of attention in decode and prefill: (FLOP, bytes) on one GPU, windows and latent caches included."""

from __future__ import annotations

import numpy as np

from planner.physics.arrays import Floats

FIRST_SPLIT_TOKENS = 256.0
"""Contexts up to it are read in one go."""


def attended_tokens(context_tokens: Floats, windowed_fraction: Floats, window_tokens: Floats) -> Floats:
    """Mean context that a layer reads: ``(1 - phi) c + phi min(c, window)``.

    ``windowed_fraction`` (phi) is the share of layers with a window. Sparse attention that reads the top k
    tokens has phi = 1 and window = k; `index_work` is what picking them takes.
    """
    seen_tokens = np.minimum(context_tokens, window_tokens)
    return (1.0 - windowed_fraction) * context_tokens + windowed_fraction * seen_tokens


def heads_per_rank_fraction(query_heads: Floats, tensor_parallel: Floats) -> Floats:
    """Share of the query heads on one rank: ``max(1 / t, 1 / n_q)``; a rank has at least one head."""
    share: Floats = np.maximum(1.0 / np.asarray(tensor_parallel), 1.0 / np.asarray(query_heads))
    return share


def decode_attention_work(
    sequences: Floats,
    attended_tokens: Floats,
    layers: Floats,
    flops_per_context_token: Floats,
    kv_bytes_per_token_layer: Floats,
) -> tuple[Floats, Floats]:
    """One new token per sequence against its cache: ``D c L f`` FLOP, ``D c L b`` bytes.

    ``flops_per_context_token`` (f) and ``kv_bytes_per_token_layer`` (b) are those of one rank:
    f = 4 n_q d / t, or 2 n_q (2 r_kv + d_rope) / t for a latent cache, which every rank reads whole; KV heads
    are replicated beyond one per rank.

    Source: performance model, section 2.
    Breaks down when: contexts differ so much that the longest sequence sets the time.
    """
    read_tokens = sequences * attended_tokens * layers
    return read_tokens * flops_per_context_token, read_tokens * kv_bytes_per_token_layer


def index_work(
    tokens: Floats,
    sequences: Floats,
    context_tokens: Floats,
    flops_per_context_token: Floats,
    bytes_per_context_token: Floats,
) -> tuple[Floats, Floats]:
    """Scoring the whole context to pick what sparse attention reads: ``T c f`` FLOP, ``D c b`` bytes.

    ``f = 2 H d`` a layer and ``b`` one key, both of all layers and whole on every rank; new tokens of one
    sequence share a reading of its keys.

    Source: DeepSeek-V3.2 report, section 2.1 (lightning indexer); engines replicate it over ranks.
    Assumes: taking the top k of the scores is free.
    """
    return (
        tokens * context_tokens * flops_per_context_token,
        sequences * context_tokens * bytes_per_context_token,
    )


def decode_start_s(
    context_tokens: Floats, sequences: Floats, start_s: Floats, doubling_s: Floats, sequence_s: Floats
) -> Floats:
    """Launch of one layer's decode attention: ``t0 + t_c log2(max(c, 256) / 256) + t_s D``.

    Kernels cut long contexts into parts and add the parts up, and schedule every sequence.

    Source: fitted to measured kernels (docs/accuracy.md, operators).
    """
    doublings = np.log2(np.maximum(context_tokens, FIRST_SPLIT_TOKENS) / FIRST_SPLIT_TOKENS)
    return start_s + doubling_s * doublings + sequence_s * sequences


def tiled_context(context_tokens: Floats, half_context_tokens: Floats) -> Floats:
    """Mean context that causal prefill pays for, tiles on the diagonal included: ``c_p + h / 2``.

    The same as a factor ``1 + h / ISL`` on the work of a whole prompt, for which ``c_p = ISL / 2``.
    """
    return context_tokens + half_context_tokens / 2.0


def prefill_bytes(tokens: Floats, query_values: Floats, kv_values: Floats) -> Floats:
    """Queries read and outputs written, keys and values read: ``2 P (2 q + kv)`` bytes in 16 bit."""
    return 2.0 * tokens * (2.0 * query_values + kv_values)


def state_bytes(
    sequences: Floats, state_bytes_per_sequence: Floats, tokens_per_sequence: Floats = 1.0
) -> Floats:
    """Linear-attention layers read their state once a step and write it once a token: ``(1 + m) D state``.

    With several tokens per sequence (drafts) each one's state is kept until it is known how many are taken.
    """
    return (1.0 + np.asarray(tokens_per_sequence)) * sequences * state_bytes_per_sequence


def prefill_attention_flops(
    prompt_tokens: Floats, attended_tokens: Floats, layers: Floats, flops_per_context_token: Floats
) -> Floats:
    """Prompt tokens against their causal mean context: ``P c_p L f_p`` FLOP, ``c_p`` about half the prompt.

    Assumes: fused kernels keep scores on the chip, so memory traffic is negligible.
    """
    return prompt_tokens * attended_tokens * layers * flops_per_context_token
