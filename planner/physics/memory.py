"""Memory of one GPU besides weights: cache blocks, activations, adapters, loading."""

from __future__ import annotations

import numpy as np

from planner.physics.arrays import Floats


def kv_blocks(tokens: Floats, block_tokens: Floats) -> Floats:
    """Whole cache blocks that hold ``tokens``: ``ceil(c / b)``."""
    blocks: Floats = np.ceil(np.asarray(tokens, dtype=np.float64) / block_tokens)
    return blocks


def sequence_kv_bytes(
    tokens: Floats,
    block_tokens: Floats,
    full_bytes_per_token: Floats,
    sliding_bytes_per_token: Floats,
    window_tokens: Floats,
    state_bytes: Floats = 0.0,
) -> Floats:
    """Cache of one sequence on one GPU, in whole blocks.

    ``ceil(c/b) b kv_full + ceil(min(c, window)/b) b kv_sliding + state``; layers with a window keep no more
    than the window, linear-attention layers keep a constant state.

    Breaks down when: the engine keeps every token in sliding layers too.
    """
    full = kv_blocks(tokens, block_tokens) * block_tokens * full_bytes_per_token
    kept_tokens = kv_blocks(np.minimum(tokens, window_tokens), block_tokens) * block_tokens
    return full + kept_tokens * sliding_bytes_per_token + state_bytes


def spared_kv_bytes(tokens: Floats, block_tokens: Floats, full_bytes_per_token: Floats) -> Floats:
    """Cache that a sequence need not hold itself when its first ``tokens`` are held once for many.

    ``floor(c/b) b kv_full``: whole blocks are shared; the layers with a window have moved past the beginning.

    Source: block sharing of paged attention (Kwon et al. 2023, section 4.4).
    """
    blocks = np.floor(np.asarray(tokens, dtype=np.float64) / block_tokens)
    return blocks * block_tokens * full_bytes_per_token


def sampler_bytes(sequences: Floats, vocabulary_size: Floats, bytes_per_logit: Floats) -> Floats:
    """Logits, sorted copies and masks of the start-up profile: ``n V b``. Every rank gathers all logits."""
    return sequences * vocabulary_size * bytes_per_logit


def workspace_bytes(
    batched_tokens: Floats, widest_row_elements: Floats, bytes_per_element: Floats, copies: Floats
) -> Floats:
    """Activation rows alive at once in the largest step: ``T w b copies``."""
    return batched_tokens * widest_row_elements * bytes_per_element * copies


def widest_row_elements(
    hidden_size: Floats, attention_row: Floats, mlp_row: Floats, tensor_parallel: Floats
) -> Floats:
    """Widest activation row on one rank: whole hidden rows, or a split row of attention or feed-forward."""
    split: Floats = np.maximum(attention_row, mlp_row) / tensor_parallel
    widest: Floats = np.maximum(hidden_size, split)
    return widest


def vision_bytes(images: Floats, image_elements: Floats, bytes_per_element: Floats, copies: Floats) -> Floats:
    """Activations of the image encoder: ``n (tokens patches h_v) b copies``.

    ``image_elements`` is one activation of one image: patches of the encoder times its width.

    Assumes: fused attention, so no score matrix is stored.
    """
    return images * image_elements * bytes_per_element * copies


def load_peak_bytes(weight_bytes: Floats, copy_fraction: Floats, framework_bytes: Floats) -> Floats:
    """Device memory while weights are loaded and repacked: ``weights (1 + copy) + framework``."""
    return weight_bytes * (1.0 + copy_fraction) + framework_bytes


def host_bytes(weight_bytes: Floats, copy_fraction: Floats, gpus: Floats) -> Floats:
    """Host memory of one server that stages the weights of its GPUs: ``weights copy gpus``."""
    return weight_bytes * copy_fraction * gpus


def usable_bytes(capacity_bytes: Floats, utilization_fraction: Floats, headroom_fraction: Floats) -> Floats:
    """Memory that a plan may fill: the tighter of the engine's limit and 1 - headroom, not both."""
    tighter: Floats = np.minimum(utilization_fraction, 1.0 - np.asarray(headroom_fraction))
    return capacity_bytes * tighter


def pool_of_total_bytes(
    capacity_bytes: Floats, utilization_fraction: Floats, headroom_fraction: Floats, resident_bytes: Floats
) -> Floats:
    """Cache of an engine that takes a share of all memory: ``min(u, 1 - h) total - resident``, 0 at least."""
    room = usable_bytes(capacity_bytes, utilization_fraction, headroom_fraction) - resident_bytes
    return np.maximum(room, 0.0)


def pool_of_free_bytes(
    capacity_bytes: Floats, utilization_fraction: Floats, headroom_fraction: Floats, resident_bytes: Floats
) -> Floats:
    """Cache of an engine that takes a share of what loading leaves.

    ``min(u (total - resident), (1 - h) total - resident)``, 0 at least.
    """
    engine_bytes = utilization_fraction * (capacity_bytes - resident_bytes)
    plan_bytes = (1.0 - np.asarray(headroom_fraction)) * capacity_bytes - resident_bytes
    pool: Floats = np.maximum(np.minimum(engine_bytes, plan_bytes), 0.0)
    return pool
