"""What the load model works on: configurations as functions of a step, judgment, and the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from planner.performance.user_factors import PercentileMargin
from planner.steptime.drafting import Drafts

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

StepFunction = Callable[[IntArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray], FloatArray]
"""Rows, decode_sequences, context_tokens, prefill_tokens, prefill_context_tokens, finishing_prompts -> s."""

PERCENTILE = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}


@dataclass(frozen=True, eq=False)
class Fetching:
    """KV that comes from host memory or drives, by row of the step model."""

    s_per_token: FloatArray
    """Of one token, alone on the link."""
    links: FloatArray
    """Links that serve different requests of a replica: one an attention-data-parallel rank."""

    def busy(self, rows: IntArray, rate_rps: FloatArray, mean_tokens: float) -> FloatArray:
        """Utilization of a link."""
        return np.asarray(rate_rps * mean_tokens * self.s_per_token[rows] / self.links[rows])

    def time_s(self, rows: IntArray, tokens: FloatArray, busy: FloatArray) -> FloatArray:
        """Time to fetch by prompt and row: transfers share the link; very long where it is full.

        Equation: x / (1 - busy), the mean stay of a job of x seconds in M/G/1 with processor sharing.
        Source: Kleinrock, Queueing Systems II, 1976, section 4.4.
        """
        return np.asarray(tokens[:, None] * self.s_per_token[rows] / np.maximum(1.0 - busy, 1e-6))


@dataclass(frozen=True, eq=False)
class Replicas:
    """What the load model needs to know of the configurations: one entry a row of the step model."""

    step_s: StepFunction
    batched_tokens: FloatArray
    """Tokens in one step at most."""
    first_token_overhead_s: FloatArray
    """Front end and scheduler, before any prefill."""
    before_prompt_s: FloatArray
    """Of one request: text to tokens, launches of its prompt by the host, encoding of its images."""
    prompt_servers: FloatArray
    """Attention-data-parallel ranks x pipeline stages: each has its own token budget and prompts."""
    fetching: Fetching | None = None
    """Where KV is fetched from outside the GPU; None = nowhere."""
    first_token_factor: FloatArray | None = None
    """On TTFT beyond what the steps explain, from the user's own benchmarks; None = 1 everywhere."""
    drafts: Drafts | None = None
    """What speculative decoding emits; ``step_s`` already holds its time. None = one token a step."""
    stages: FloatArray | None = None
    """Pipeline stages; None = one everywhere."""
    percentiles: PercentileMargin | None = None
    """What percentiles carry beyond the margin of their means; None = nothing."""

    def emitted(self, rows: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """By row: tokens of a sequence in a step, those it emits on average, and their variance."""
        if self.drafts is None:
            one = np.ones(rows.shape)
            return one, one, np.zeros(rows.shape)
        drafts = self.drafts
        return (
            1.0 + drafts.tokens[rows],
            drafts.tokens_per_step[rows],
            drafts.tokens_per_step_variance[rows],
        )

    def with_fetching(self, fetching: Fetching) -> Replicas:
        """The same replicas with links to KV outside the GPU."""
        return replace(self, fetching=fetching)

    def percentile_ratio(self, name: str, rows: IntArray) -> FloatArray | float:
        """Margin of a latency (``ttft_p99``) beyond that of its mean, of the rows."""
        return 1.0 if self.percentiles is None else self.percentiles.factor(name, rows)

    def planned(self, latency_s: Mapping[str, FloatArray], rows: IntArray) -> dict[str, FloatArray]:
        """Latencies of the rows, every percentile with its own margin."""
        return {
            name: np.asarray(value * self.percentile_ratio(name, rows)) for name, value in latency_s.items()
        }

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
    """Judgment of the load model (from the catalog)."""

    slot_z_score: float
    """Normal score of the probability that every slot of the batch is taken."""
    step_factor_ratio: float
    """Step times are multiplied by this to hold at the planned confidence."""
    ttft_factor_ratio: float
    """The same for TTFT."""
    saturated: bool
    """No limit on any latency: requests may queue without end and the batch is always full."""
    static_batches: bool = False
    """A batch is computed to its longest answer before the next one starts."""
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
    """Mean time between two steps of a request: the gap between two tokens, or two groups of them."""
    tokens_per_step: FloatArray
    """Tokens that a step emits per sequence on average; 1 without speculative decoding."""
    mixed_fraction: FloatArray
    """Share of gaps in which prompts are prefilled."""
    prefill_s: FloatArray
    """Mean time of one prompt, alone in the prefill queue."""
    link_utilization: FloatArray
    """Of the links over which KV is fetched from outside the GPU."""
    prefill_utilization: FloatArray
    latency_s: Mapping[str, FloatArray]
    """``ttft_p99`` and so on: those that were asked for."""


@dataclass(frozen=True, eq=False)
class State:
    """Intermediate quantities of one evaluation; seconds and tokens, shape (rows,)."""

    rows: IntArray
    servers: FloatArray
    """Attention ranks times stages: each computes prompts of its own, and the others wait for it."""
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
    tokens: FloatArray
    """Tokens that a step emits per sequence on average."""
    tokens_variance: FloatArray

    def taken(self, places: IntArray) -> State:
        """That of some rows; itself where these are all."""
        if places.size == self.rows.size:
            return self
        return State(*(getattr(self, column.name)[places] for column in fields(self)))

    @property
    def slowed_ratio(self) -> FloatArray:
        """How fast answers get on while their replica computes prompts, over how fast without."""
        return np.minimum(self.decode_s / self.mixed_s, 1.0)
