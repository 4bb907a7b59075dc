"""Bytes of weights and of cached tokens, from counts and bits. Plain numbers or NumPy arrays, SI units."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

BITS_PER_BYTE = 8.0
Floats = NDArray[np.float64]


def stored_bytes(values: ArrayLike, bits_per_value: ArrayLike) -> Floats:
    """Bytes of ``values`` numbers of ``bits_per_value`` bits, scales included: ``values bits / 8``."""
    return np.asarray(values, dtype=np.float64) * np.asarray(bits_per_value, dtype=np.float64) / BITS_PER_BYTE


def padded_size(size: ArrayLike, multiple: ArrayLike) -> Floats:
    """The smallest multiple of ``multiple`` that is not below ``size``: ``ceil(size / m) m``."""
    step = np.asarray(multiple, dtype=np.float64)
    return np.ceil(np.asarray(size, dtype=np.float64) / step) * step


def expert_matrix_values(
    hidden_size: ArrayLike,
    intermediate_size: ArrayLike,
    matrices: ArrayLike,
    multiple: ArrayLike,
    shard_gpus: ArrayLike = 1.0,
) -> Floats:
    """Values stored for one expert, its inner side padded in each shard: ``matrices h g ceil(i / (g m)) m``.

    The kernels of block-scaled formats want the inner side in whole tiles, so 2,880 becomes 3,072 where
    the multiple is 256, and 4,096 where it is cut over eight GPUs. The padding takes memory and reading
    time; no FLOP count includes it.
    """
    outer = np.asarray(matrices, dtype=np.float64) * np.asarray(hidden_size, dtype=np.float64)
    cut = np.asarray(shard_gpus, dtype=np.float64)
    return outer * cut * padded_size(np.asarray(intermediate_size, dtype=np.float64) / cut, multiple)


def kv_share_per_rank(kv_heads: ArrayLike, tensor_parallel: ArrayLike) -> Floats:
    """Share of a token's cached values that one tensor-parallel rank keeps: ``max(n_kv / t, 1) / n_kv``.

    With more ranks than KV heads each head is kept several times. A latent cache (MLA) counts as one
    head, so every rank keeps all of it.
    """
    heads = np.asarray(kv_heads, dtype=np.float64)
    return np.maximum(heads / np.asarray(tensor_parallel, dtype=np.float64), 1.0) / heads


def kv_bytes_per_token(
    layers: ArrayLike,
    values_per_layer: ArrayLike,
    bits_per_value: ArrayLike,
    share_per_rank: ArrayLike = 1.0,
) -> Floats:
    """Bytes that one token keeps in ``layers`` layers on one rank: ``L values bits / 8 share``."""
    kept = np.asarray(layers, dtype=np.float64) * np.asarray(values_per_layer, dtype=np.float64)
    return stored_bytes(kept, bits_per_value) * np.asarray(share_per_rank, dtype=np.float64)
