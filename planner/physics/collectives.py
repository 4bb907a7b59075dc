"""Communication between the GPUs of a replica: bytes sent by one GPU, and seconds."""

from __future__ import annotations

import numpy as np

from planner.physics.arrays import Floats


def all_reduce_bytes(message_bytes: Floats, ranks: Floats) -> Floats:
    """Bytes that one rank sends in an all-reduce: ``2 (n - 1) / n m`` (0 for one rank).

    Source: ring all-reduce; the bus-bandwidth convention of nccl-tests divides by the same factor.
    """
    return 2.0 * (np.asarray(ranks) - 1.0) / ranks * message_bytes


def all_reduce_s(
    message_bytes: Floats,
    ranks: Floats,
    rate_bytes_per_s: Floats,
    direct_bytes_per_s: Floats,
    latency_s: Floats,
    second_s: Floats,
) -> Floats:
    """Time of one all-reduce: ``t0 + min((n - 1) m / r1, t2 + 2 (n - 1) / n m / r2)``.

    Small messages go whole to every other rank at once (r1, ``direct_bytes_per_s``). Larger ones are first
    scattered and added up, then gathered: fewer bytes (r2), and the ranks wait for each other a second time
    (t2, ``second_s``). Where that is 0 the second way holds for all messages.

    Source: one-shot and two-shot kernels of vLLM, SGLang and TensorRT-LLM; form fitted to measured times.
    """
    small_s = (np.asarray(ranks) - 1.0) * message_bytes / direct_bytes_per_s
    large_s = all_reduce_bytes(message_bytes, ranks) / rate_bytes_per_s
    return latency_s + np.minimum(small_s, second_s + large_s)


def falling_rate(rate_bytes_per_s: Floats, ranks: Floats, exponent: Floats) -> Floats:
    """Rate of one of n ranks that share what connects them: ``r (2 / n)^p`` (p 0: a switch serves all)."""
    falling: Floats = rate_bytes_per_s * (2.0 / np.asarray(ranks)) ** exponent
    return falling


def transfer_s(
    sent_bytes: Floats, rate_bytes_per_s: Floats, efficiency_fraction: Floats, latency_s: Floats
) -> Floats:
    """Time of one call: ``latency + bytes / (eta rate)``, the rate one way.

    With a measured bus bandwidth the efficiency is 1.

    Breaks down when: an algorithm for small messages replaces the ring (then the latency floor rules).
    """
    return latency_s + sent_bytes / (rate_bytes_per_s * efficiency_fraction)


def mesh_rate_bytes_per_s(all_links_bytes_per_s: Floats, pair_bytes_per_s: Floats, ranks: Floats) -> Floats:
    """What ``n`` ranks of a full mesh of single links can use: ``min(all links, (n - 1) pair)``."""
    return np.minimum(all_links_bytes_per_s, pair_bytes_per_s * (np.asarray(ranks) - 1.0))


def exchange_bytes(
    tokens: Floats,
    hidden_size: Floats,
    bytes_per_element: Floats,
    attention_ranks: Floats,
    tensor_parallel: Floats,
) -> Floats:
    """Tokens that leave their attention rank for their experts and come back, in one layer.

    ``2 (g - 1) / g T h b / t`` bytes per GPU; T counts the tokens of all ranks and ``bytes_per_element`` (b)
    folds the number of copies per token into one fitted number.

    Source: performance model, section 2.
    """
    away_fraction = (np.asarray(attention_ranks) - 1.0) / attention_ranks
    return 2.0 * away_fraction * tokens * hidden_size * bytes_per_element / tensor_parallel


def spread_copies(experts_per_token: Floats, gpus: Floats) -> Floats:
    """GPUs that one token is sent to: ``n (1 - (1 - 1/n)^k)``, since several of its experts may share one.

    Assumes: tokens choose their experts evenly over the GPUs.
    """
    return gpus * (1.0 - (1.0 - 1.0 / np.asarray(gpus)) ** experts_per_token)


def all_to_all_bytes(
    tokens: Floats,
    hidden_size: Floats,
    bytes_per_element: Floats,
    copies: Floats,
    remote_fraction: Floats,
    gpus: Floats,
) -> Floats:
    """What one of ``n`` GPUs sends over the network for one layer, there and back: ``T/n c r h b`` bytes.

    T counts the tokens of all ranks, ``copies`` (c) are the GPUs of one token (`spread_copies`), of which
    the share r is on other servers; ``bytes_per_element`` (b) adds both directions.

    Source: dispatch and combine of expert parallelism, DeepEP README (8-bit there, 16-bit back).
    Assumes: what stays on the fast link of a server hides behind the network; computation hides nothing.
    Breaks down when: the router keeps a token to few servers (then less crosses the network).
    """
    return tokens / gpus * copies * remote_fraction * hidden_size * bytes_per_element


def stage_message_bytes(
    tokens: Floats, hidden_size: Floats, bytes_per_element: Floats, tensor_parallel: Floats
) -> Floats:
    """Hidden states that one GPU hands to the next pipeline stage: ``T h b / t``."""
    return tokens * hidden_size * bytes_per_element / tensor_parallel
