"""Published runs with percentiles: what was sent, through which router, and what was observed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from planner.schema.measurement import Measurement
from planner.schema.routing import RoutingPolicy

METRICS = ("ttft", "tpot", "itl", "e2e")
PERCENTILES = ("p50", "p90", "p95", "p99")
NUMBERS = tuple(f"{metric}_{percentile}" for metric in METRICS for percentile in PERCENTILES)
"""``ttft_p50`` and so on."""
MEANS = tuple(f"{metric}_mean" for metric in METRICS)
LengthKind = Literal["fixed", "uniform", "lognormal", "sharegpt", "other"]


@dataclass(frozen=True, slots=True)
class SharedPrompts:
    """How prompts of a run repeat each other."""

    share: float
    """Of a prompt, what it has in common with others of its group."""
    groups: int = 0
    """Groups with the same beginning; 0: not stated."""
    prompts_per_group: int = 0


@dataclass(frozen=True, slots=True)
class PercentileRow:
    """One row of a table with percentiles."""

    measured: Measurement
    source: str
    router: str
    """As the source names it; empty for one engine, or where it is not stated."""
    policy: RoutingPolicy | None
    """What the name stands for; None where nothing is stated."""
    replicas: int
    """0: not stated."""
    burstiness: float
    """Squared coefficient of variation of the gaps between arrivals."""
    window_s: float
    """Length of the run, or of its arrivals; 0: not stated."""
    completed_rps: float
    input_kind: LengthKind
    output_kind: LengthKind
    prompts: SharedPrompts | None
    """None: every prompt is new."""
    prefix_cache: bool
    doubt: str
    """Why its numbers mean something else than those of other rows: predicted, and not scored; else empty."""
    observed_ms: Mapping[str, float] = field(default_factory=dict)
    """By name of `NUMBERS` and `MEANS`."""

    def is_place_in_queue(self, number: str) -> bool:
        """Whether a number is a place in the queue of a start, and no time that anybody plans for.

        Requests of a burst start together, and so do those of a closed loop, one for each client. Where a
        table does not say how many requests followed these, the start may be the whole run: its percentiles
        lie anywhere between those of the start and those of the steady state.
        """
        measured = self.measured
        together = measured.requests > max(self.replicas, 1)
        unstated = measured.kind == "closed-loop" and together and not measured.run_requests
        return (measured.kind == "burst" or unstated) and number.startswith(("ttft", "e2e"))


@dataclass(frozen=True, slots=True)
class PredictedPercentiles:
    """One row with what the planner says about it."""

    row: PercentileRow
    load: str
    """The load in words."""
    classes: tuple[str, ...]
    """Kind of model, load, router, accelerator, engine, whether the pair is known."""
    skipped: str
    """Why there is no prediction; empty where there is one."""
    ms: Mapping[str, float] = field(default_factory=dict)
    """By name of `NUMBERS` and `MEANS`."""
    output_tokens_per_s: float | None = None
    max_rps: float | None = None
    """The largest rate of all replicas within the limits that the row states; None where it states none."""
    utilization: float | None = None
    """Of what the service carries at most; None where nothing says."""
    sigma_log: Mapping[str, float] = field(default_factory=dict)
    """Log-standard deviation of the means of TPOT and TTFT at this load."""

    @property
    def scored(self) -> bool:
        """Whether its errors count."""
        return not self.skipped and not self.row.doubt


@dataclass(frozen=True, slots=True)
class RouterOrder:
    """Runs of one source that differ in the router alone: whether the predicted order is the measured one."""

    pairs: int
    right: int


@dataclass(frozen=True, slots=True)
class PercentileValidation:
    """A whole table."""

    rows: tuple[PredictedPercentiles, ...]
    calibration: str
