"""How parallel degrees divide layers, tokens and time."""

from __future__ import annotations

import numpy as np

from planner.physics.arrays import Floats


def layers_per_stage(layers: Floats, stages: Floats) -> Floats:
    """Layers of the largest pipeline stage: ``ceil(L / s)``. It sets the pace and the memory."""
    share: Floats = np.ceil(np.asarray(layers) / stages)
    return share


def experts_per_gpu(experts: Floats, expert_parallel: Floats) -> Floats:
    """Whole experts on the fullest expert-parallel rank: ``ceil(E / ep)``."""
    share: Floats = np.ceil(np.asarray(experts) / expert_parallel)
    return share


def expert_shards(stage_gpus: Floats, expert_parallel: Floats) -> Floats:
    """GPUs that share each expert: ``m = n / ep``. Where ranks hold whole experts, 1."""
    return np.maximum(np.asarray(stage_gpus) / expert_parallel, 1.0)


def gpus_per_stage(tensor_parallel: Floats, attention_ranks: Floats) -> Floats:
    """GPUs that hold one pipeline stage: ``n = t g``."""
    return tensor_parallel * attention_ranks


def rank_share(replica_tokens: Floats, attention_ranks: Floats, stages: Floats) -> Floats:
    """What one attention rank sees of a quantity in one micro-batch: ``x / (g s)``."""
    return replica_tokens / (attention_ranks * stages)


def pipeline_step_s(stage_s: Floats, stages: Floats, transfer_s: Floats) -> Floats:
    """Time between two tokens of one sequence: ``s t_stage + (s - 1) t_transfer``.

    The replica's sequences form ``s`` micro-batches that follow each other through the stages, so the
    replica emits D tokens in this time.

    Source: performance model, section 2.
    Assumes: equal micro-batches; the way back from the last stage carries token ids only.
    """
    return stages * stage_s + (np.asarray(stages) - 1.0) * transfer_s


def pipeline_prompt_s(chunk_stage_s: Floats, chunks: Floats, stages: Floats) -> Floats:
    """Time of one prompt alone, cut into chunks that follow each other: ``(n + s - 1) t_stage(chunk)``."""
    return (chunks + np.asarray(stages) - 1.0) * chunk_stage_s


def bubble_fraction(stages: Floats, chunks: Floats) -> Floats:
    """Share of stage time that idles while ``n`` chunks pass ``s`` empty stages: ``(s - 1) / (n + s - 1)``.

    The chunks of one prompt, or micro-batches that start and drain together. Where micro-batches follow
    each other without end (decoding of at least ``s`` sequences) no stage waits.

    Source: Sizing LLM Inference for Production, section 5.2.
    """
    waiting = np.asarray(stages) - 1.0
    return waiting / (chunks + waiting)
