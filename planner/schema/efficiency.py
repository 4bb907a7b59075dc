"""How well a replica uses its hardware, in the field's own figures."""

from __future__ import annotations

from planner.schema.base import Noun


class Efficiency(Noun):
    """One replica at its load; see `planner.performance.efficiency` for the equations."""

    mfu: float
    """Model FLOPs utilization: FLOPs that the model needs for the tokens served over the dense peak."""
    mbu: float | None = None
    """Model bandwidth utilization: weights and KV read over peak bandwidth; null where nothing is decoded."""
    arithmetic_intensity: dict[str, float] = {}
    """FLOPs per byte of weights and KV read, by phase: ``prefill`` (one step of one prompt), ``decode``."""
    ridge_flops_per_byte: float
    """Dense peak over peak bandwidth: below it a phase waits for memory, above it for arithmetic."""
    goodput_rps_per_gpu: float | None = None
    """Largest rate that keeps every limit, over the GPUs; null where there are no limits."""
    first_tokens_per_usd: float | None = None
    """Requests that get their first token for one USD; null without a price."""
    output_tokens_per_s_per_gb: float | None = None
    """Tokens written a second over device memory; null where nothing is decoded."""
