"""LoRA adapters beside the base model: what a step that mixes several of them adds."""

from __future__ import annotations

import numpy as np

from planner.physics.arrays import FloatArray, Floats


def adapter_params(
    rank: Floats, layers: Floats, whole_elements: Floats, split_elements: Floats, tensor_parallel: Floats
) -> Floats:
    """Values of one adapter on one rank: ``r L (whole + split / t)``.

    ``whole_elements`` and ``split_elements`` are input and output widths of the adapted matrices of one
    layer: a matrix that is split along its output keeps its first factor whole on every rank, one that is
    split along its input its second.

    Source: vLLM documentation, LoRA configuration: by default only half of an adapter is sharded.
    Assumes: slots have the full rank.
    """
    return rank * layers * (whole_elements + split_elements / tensor_parallel)


def adapter_bytes(adapters: Floats, params: Floats, bytes_per_element: Floats) -> Floats:
    """Device memory of the adapters in use at once, of which each has a slot: ``n params b``."""
    return adapters * params * bytes_per_element


def log_unused(adapters: Floats) -> FloatArray:
    """Logarithm of the share of adapters that one request does not use: ``ln(1 - 1/n)``; 0 without any."""
    used_fraction = 1.0 / np.maximum(adapters, 1.0)
    missed = np.log1p(-np.minimum(used_fraction, 1.0 - 1e-12))
    return np.asarray(np.where(np.asarray(adapters) > 0.0, missed, 0.0))


def adapters_in_batch(adapters: Floats, requests: Floats) -> FloatArray:
    """Different adapters among ``D`` requests: ``n (1 - (1 - 1/n)^D)``.

    Assumes: requests choose evenly and independently among the adapters in use.
    """
    return np.asarray(adapters * -np.expm1(requests * log_unused(adapters)))


def adapter_work(
    tokens: Floats, half_tokens: Floats, adapters: Floats, params: Floats, bytes_per_element: Floats
) -> tuple[Floats, Floats]:
    """Both factors of every adapted matrix on one rank: ``2 (T + n M0) params`` FLOP, ``n params b`` bytes.

    ``adapters`` (n) are those of the batch, each read once; ``params`` is one adapter's share of the rank. An
    adapter's product over few rows costs as much as ``half_tokens`` (M0) more of them.

    Source: grouped products of several adapters (Chen et al. 2023, "Punica").
    """
    rows = tokens + adapters * half_tokens
    return 2.0 * rows * params, adapters * params * bytes_per_element
