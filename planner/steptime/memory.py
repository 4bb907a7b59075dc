"""Where the memory of the fullest GPU goes, and how many sequences the rest holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.physics import memory
from planner.physics.adapters import adapter_bytes
from planner.physics.arrays import FloatArray, Floats, IntArray
from planner.physics.operators import BYTES_PER_ACTIVATION
from planner.steptime.specs import StepSpecs


@dataclass(frozen=True)
class MemoryAccount:
    """Bytes on the fullest GPU of a replica. The parts, without loading and host, sum to the capacity."""

    weights_bytes: FloatArray
    kv_cache_bytes: FloatArray
    """What the engine gives to the cache; 0 where nothing is left."""
    activations_bytes: FloatArray
    framework_bytes: FloatArray
    adapters_bytes: FloatArray
    free_bytes: FloatArray
    """Left empty; negative where the parts do not fit."""
    capacity_bytes: FloatArray
    load_peak_bytes: FloatArray
    """While weights are loaded and repacked; must not exceed the capacity."""
    host_bytes: FloatArray
    """Host memory of one server that stages the weights."""
    fits: np.ndarray[Any, np.dtype[np.bool_]]
    """Loads, and keeps its parts within the limit."""

    @property
    def resident_bytes(self) -> FloatArray:
        """Everything but the cache."""
        parts = self.weights_bytes + self.activations_bytes + self.framework_bytes
        return np.asarray(parts + self.adapters_bytes)


def memory_account(
    specs: StepSpecs,
    rows: IntArray,
    headroom_fraction: Floats = 0.0,
    images: Floats = 1.0,
    running: Floats = np.inf,
) -> MemoryAccount:
    """Divide the memory of one GPU.

    The limit is the tighter of the engine's own utilization and ``1 - headroom``. Activations are what an
    engine reserves in its start-up profile: logits of the sampler, rows of the largest step, ``images`` in
    the image encoder of a vision model, and padded buffers of the exchange between experts.

    Args:
        specs: columns of the configurations.
        rows: those meant.
        headroom_fraction: memory kept free.
        images: in one prompt.
        running: sequences that the engine is told to run at most on one attention rank (``max_num_seqs``),
            and so profiles; default: its own limit.

    Source: performance model, section 3.
    Assumes: the largest stage also has the larger of embedding and head.
    """
    s = specs.take(rows)
    activations = (
        memory.sampler_bytes(
            np.minimum(s.sampler_sequences, running), s.vocabulary_size, s.sampler_bytes_per_logit
        )
        + memory.workspace_bytes(
            s.batched_tokens, s.widest_row_elements, BYTES_PER_ACTIVATION, s.workspace_copies
        )
        + memory.vision_bytes(images, s.image_elements, BYTES_PER_ACTIVATION, s.workspace_copies)
        + s.exchange_buffer_bytes
    )
    adapters = adapter_bytes(s.adapters, s.adapter_params, BYTES_PER_ACTIVATION)
    resident = s.weight_bytes + activations + s.framework_bytes + adapters
    pool = cache_bytes(s, headroom_fraction, resident)
    peak = np.asarray(memory.load_peak_bytes(s.weight_bytes, s.load_copy, s.framework_bytes))
    usable = np.where(
        s.takes_free_share > 0,
        s.capacity_bytes * (1.0 - np.asarray(headroom_fraction)),
        memory.usable_bytes(s.capacity_bytes, s.engine_utilization, headroom_fraction),
    )
    server_gpus = np.minimum(s.stage_gpus * s.pp, s.node_gpus)
    return MemoryAccount(
        weights_bytes=s.weight_bytes,
        kv_cache_bytes=pool,
        activations_bytes=np.asarray(activations),
        framework_bytes=s.framework_bytes,
        adapters_bytes=np.asarray(adapters) + np.zeros_like(pool),
        free_bytes=s.capacity_bytes - resident - pool,
        capacity_bytes=s.capacity_bytes,
        load_peak_bytes=peak,
        host_bytes=np.asarray(memory.host_bytes(s.weight_bytes, s.host_copy, server_gpus)),
        fits=(resident <= usable) & (peak <= s.capacity_bytes),
    )


def cache_bytes(specs: StepSpecs, headroom_fraction: Floats, resident_bytes: Floats) -> FloatArray:
    """Cache of one GPU that an engine takes beside what is resident, shape of the columns."""
    given = (specs.capacity_bytes, specs.engine_utilization, headroom_fraction, resident_bytes)
    of_free = specs.takes_free_share > 0
    return np.where(of_free, memory.pool_of_free_bytes(*given), memory.pool_of_total_bytes(*given))


def logit_bytes(specs: StepSpecs, running: Floats) -> FloatArray:
    """What the profile of so many sequences on a rank holds more than that of one."""
    more = np.maximum(np.minimum(specs.sampler_sequences, running) - 1.0, 0.0)
    return np.asarray(memory.sampler_bytes(more, specs.vocabulary_size, specs.sampler_bytes_per_logit))


def sequence_bytes(specs: StepSpecs, rows: IntArray, tokens: Floats) -> FloatArray:
    """Cache of one sequence of ``tokens`` on one GPU: whole blocks, windows capped, state included.

    Drafts take the place of tokens until they are verified, and a draft model keeps a cache of its own.
    """
    return copy_bytes(specs, rows, tokens + (specs.decode_tokens[rows] - 1.0))


def copy_bytes(specs: StepSpecs, rows: IntArray, tokens: Floats) -> FloatArray:
    """Cache of the first ``tokens`` of many sequences on one GPU, held once."""
    columns = (
        specs.kv_block_tokens,
        specs.kv_full_bytes_per_token,
        specs.kv_sliding_bytes_per_token,
        specs.kv_window_tokens,
        specs.kept_state_bytes,
    )
    return np.asarray(memory.sequence_kv_bytes(tokens, *(column[rows] for column in columns)))


def spared_bytes(specs: StepSpecs, rows: IntArray, tokens: Floats) -> FloatArray:
    """What each of these sequences then need not hold itself."""
    blocks, per_token = specs.kv_block_tokens[rows], specs.kv_full_bytes_per_token[rows]
    return np.asarray(memory.spared_kv_bytes(tokens, blocks, per_token))


def max_sequences(specs: StepSpecs, rows: IntArray, kv_cache_bytes: Floats, tokens: Floats) -> FloatArray:
    """Sequences of ``tokens`` that the caches of one replica hold at once: ``g floor(pool / sequence)``.

    Each attention-data-parallel rank serves its own sequences; pipeline stages hold their layers of all of
    them. Infinite where a sequence needs no cache; the scheduler's own limit is `StepSpecs.max_running`.
    """
    one = sequence_bytes(specs, rows, tokens)
    with np.errstate(divide="ignore", invalid="ignore"):
        fitting = np.where(one > 0, np.floor(kv_cache_bytes / one), np.inf)
    result: FloatArray = specs.attention_dp[rows] * fitting
    return result
