"""A benchmark run of the user's own, in the same words and units whatever tool wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from planner.schema.base import Noun

FloatArray = NDArray[np.float64]
Latency = Mapping[str, float]
"""``mean, p50, p90, p95, p99, std, max`` in seconds; those that the file states."""
Tokens = Mapping[str, float]
"""``mean, p50, p90, p95, p99`` of the lengths of requests; those that the file states."""
Facts = Mapping[str, str | int]
"""``gpu, engine, weights, kv, tp, pp, ep, attention_dp`` as far as a file states them."""


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """The answered requests of a run one by one, in the order in which they were sent.

    Arrays hold one number a request, NaN where it is not known.
    """

    ttft_s: FloatArray
    tpot_s: FloatArray
    e2e_s: FloatArray
    gaps_s: tuple[FloatArray, ...]
    """The gaps between the tokens of each request; empty where the file lists none."""
    input_tokens: FloatArray
    output_tokens: FloatArray
    start_s: FloatArray

    def __len__(self) -> int:
        """Number of requests."""
        return int(self.ttft_s.size)


@dataclass(frozen=True, slots=True)
class BenchmarkPoint:
    """One run at one load. TPOT averages the gaps within a request, ITL pools the gaps of all tokens.

    AIPerf, GenAI-Perf and GuideLLM call "inter-token latency" what is a TPOT here.
    """

    source: str
    """The tool: vllm, sglang, aiperf, genai-perf, guidellm, inference-perf; or prometheus."""
    where: str
    """File, with the run inside it where it holds several."""
    raw_sha256: str
    """Digest of the file."""
    model: str | None = None
    """As the file names it."""
    facts: Facts = field(default_factory=dict)
    isl_mean_tokens: float | None = None
    osl_mean_tokens: float | None = None
    offered_rps: float | None = None
    """Requests sent per second; None where clients wait for answers or all are sent at once."""
    concurrency: float | None = None
    """Requests in flight at most, or on average where the file states no limit."""
    arrival_scv_ratio: float | None = None
    """Squared coefficient of variation of the gaps between arrivals that the tool was asked for; None where
    the file does not say."""
    input_tokens: Tokens = field(default_factory=dict)
    output_tokens: Tokens = field(default_factory=dict)
    ttft_s: Latency = field(default_factory=dict)
    tpot_s: Latency = field(default_factory=dict)
    itl_s: Latency = field(default_factory=dict)
    e2e_s: Latency = field(default_factory=dict)
    output_tokens_per_s: float | None = None
    requests_per_s: float | None = None
    completed: int = 0
    failed: int = 0
    prefix_hit_fraction: float = 0.0
    tokens_per_step: float = 1.0
    """Above 1 where drafts are verified."""
    date: str = ""
    """ISO date of the run, where the file states it."""
    samples: Samples | None = None
    """Where the file lists single requests."""
    histograms: Mapping[str, Mapping[float, float]] = field(default_factory=dict)
    """Of a server's metrics: metric -> upper edge in seconds -> events at or below it."""

    @property
    def mean_tpot_s(self) -> float | None:
        """The mean gap: of TPOT, else of ITL, else from end-to-end time."""
        for latency in (self.tpot_s, self.itl_s):
            if "mean" in latency:
                return latency["mean"]
        e2e, ttft, answer = self.e2e_s.get("mean"), self.ttft_s.get("mean"), self.osl_mean_tokens
        if e2e is not None and ttft is not None and answer is not None and answer > 1.0 and e2e > ttft:
            return (e2e - ttft) / (answer - 1.0)
        return None


class CalibratedRow(Noun):
    """One run beside its prediction, before and after."""

    where: str
    source: str
    load: str
    """Requests in flight or per second, in words."""
    tpot_ms: float | None
    predicted_tpot_ms: float | None
    calibrated_tpot_ms: float | None
    ttft_ms: float | None
    predicted_ttft_ms: float | None
    calibrated_ttft_ms: float | None
    note: str = ""
    """Why a number did not take part in the fit."""


class FactorChange(Noun):
    """One fitted factor: what the predictions are multiplied with, and what that does to their error."""

    name: Literal["step", "ttft"]
    factor: float
    rows: int
    mean_ratio: float | None
    """Geometric mean of measured over predicted, before any shrinking."""
    median_error_before: float | None
    """Median of |predicted / measured - 1|."""
    median_error_after: float | None
    sigma_log_before: float
    sigma_log_after: float
    text: str = ""


class Calibrated(Noun):
    """What a calibration found and wrote."""

    model: str
    gpu: str
    engine: str
    weights: str
    factors: tuple[FactorChange, ...]
    rows: tuple[CalibratedRow, ...]
    path: str
    """The file written."""
    use: str
    """What to give to ``--catalog``."""
    warnings: tuple[str, ...] = ()
