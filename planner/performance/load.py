"""What the load model works on: configurations as functions of a step, judgement, and the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

StepFunction = Callable[[IntArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray], FloatArray]
"""Rows, decode_sequences, context_tokens, prefill_tokens, prefill_context_tokens, finishing_prompts -> s."""

PERCENTILE = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}


@dataclass(frozen=True, eq=False)
class Replicas:
    """What the load model needs to know of the configurations: one entry a row of the step model."""

    step_s: StepFunction
    batched_tokens: FloatArray
    """Tokens in one step at most."""
    first_token_overhead_s: FloatArray
    """Front end and scheduler, before any prefill."""
    image_encoder_s: FloatArray
    """Time to encode the images of one request."""
    prompt_servers: FloatArray
    """Attention-data-parallel ranks x pipeline stages: each has its own token budget and prompts."""
    first_token_factor: FloatArray | None = None
    """On TTFT beyond what the steps explain, from the user's own benchmarks; None = 1 everywhere."""

    def first_token_ratio(self, rows: IntArray) -> FloatArray | float:
        """`first_token_factor` of the rows."""
        return 1.0 if self.first_token_factor is None else self.first_token_factor[rows]

    def mixed_s(
        self,
        rows: IntArray,
        decode_sequences: FloatArray,
        context_tokens: FloatArray,
        server_prefill_tokens: FloatArray,
        prefill_context_tokens: FloatArray,
        server_finishing_prompts: FloatArray,
    ) -> FloatArray:
        """A step in which every prompt server works off the given tokens (the slowest sets the time)."""
        servers = self.prompt_servers[rows]
        return self.step_s(
            rows,
            decode_sequences,
            context_tokens,
            server_prefill_tokens * servers,
            prefill_context_tokens,
            server_finishing_prompts * servers,
        )


@dataclass(frozen=True)
class LoadPolicy:
    """Judgement of the load model (from the catalog)."""

    slot_z_score: float
    """Normal score of the probability that every slot of the batch is taken."""
    step_factor_ratio: float
    """Step times are multiplied by this to hold at the planned confidence."""
    ttft_factor_ratio: float
    """The same for TTFT."""
    saturated: bool
    """No limit on TTFT or E2E: requests may queue without end and the batch is always full."""
    margin_z_score: float = 0.0
    """Normal score of the confidence behind the two factors."""
    rare_step_margin_fraction: float = 0.0
    """Mixed steps count in a quantile of ITL while their share, more by this, is above 1 - p."""


@dataclass(frozen=True, eq=False)
class Load:
    """A steady state per row, and what requests experience in it. Seconds, shape (rows,)."""

    rate_rps: FloatArray
    concurrency: FloatArray
    """Mean number decoding."""
    slots: FloatArray
    """Batch that is exceeded only with the planned probability, given how the number decoding varies."""
    decode_step_s: FloatArray
    mean_step_s: FloatArray
    """Mean gap between two tokens of a request."""
    mixed_fraction: FloatArray
    """Share of gaps in which prompts are prefilled."""
    prefill_s: FloatArray
    """Mean time of one prompt, alone in the prefill queue."""
    prefill_utilization: FloatArray
    latency_s: Mapping[str, FloatArray]
    """``ttft_p99`` and so on: those that were asked for."""


@dataclass(frozen=True, eq=False)
class State:
    """Intermediate quantities of one evaluation; seconds and tokens, shape (rows,)."""

    rows: IntArray
    mean: FloatArray
    """Mean number decoding."""
    peakedness: FloatArray
    """Variance over mean of the number decoding."""
    chunk: FloatArray
    """Prompt tokens of a full mixed step, of one prompt server."""
    chunk_mean: FloatArray
    work: FloatArray
    """Prompt tokens that arrive in the time of one step, of one prompt server."""
    decode_s: FloatArray
    mixed_s: FloatArray
    per_sequence_s: FloatArray
    """What one more decoding sequence adds to a step."""
    share: FloatArray
    """Share of gaps that are mixed steps."""
    step_s: FloatArray
    rate: FloatArray
    delayed: FloatArray
    """Share of time that prefill takes from decoding."""
    extra_s: FloatArray
    """Part of a mean gap that comes from prompts an answer meets at its start."""
