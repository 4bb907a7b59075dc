"""Predictions beside measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planner.schema.measurement import Measurement


@dataclass(frozen=True, slots=True)
class PredictedRow:
    """One row of a table, with what the planner says about it."""

    measured: Measurement
    group: str
    """Kind of model, accelerator, engine, batch class, and whether the pair is known."""
    skipped: str
    """Why there is no prediction; empty where there is one."""
    output_tokens_per_s: float | None = None
    ttft_ms: float | None = None
    tpot_ms: float | None = None
    itl_ms: float | None = None
    max_rps: float | None = None
    sigma_log: Mapping[str, float] = field(default_factory=dict)
    """Log-standard deviation of throughput, TPOT and TTFT; ITL is as sure as TPOT."""


@dataclass(frozen=True, slots=True)
class Validation:
    """A whole table."""

    rows: tuple[PredictedRow, ...]
    calibration: str


@dataclass(frozen=True, slots=True)
class ErrorLine:
    """Errors of one number over rows of one class: |predicted / measured - 1|, and the median's sign."""

    number: str
    group: str
    rows: int
    bias: float
    median: float
    mean: float
    p90: float
    inside: float | None = None
    """Share of rows inside their intervals of 80 %; None where the number has no spread."""


@dataclass(frozen=True, slots=True)
class ChoiceLoss:
    """What predictions lose under one limit on TPOT when they choose among measured configurations."""

    limit_ms: float
    groups: int
    """Those in which some measured choice keeps the limit, and there is something to choose."""
    loss: float
    """Mean share of the best that is lost."""
    over: float
    """Share of groups whose pick breaks the limit by more than a tenth."""
    none: float
    """Share of groups in which no choice seemed to keep the limit."""


@dataclass(frozen=True, slots=True)
class GpuWinners:
    """The choice of a GPU type by predicted cost per token, each type with its best configuration."""

    groups: int
    """Those of a model, lengths and a limit in which at least two types with a price were measured."""
    right: float
    """Share in which the type that seems cheapest is."""
    loss: float
    """Mean cost per token of the picked type over that of the cheapest, less 1."""


@dataclass(frozen=True, slots=True)
class ChoiceReport:
    """What predictions lose when they choose."""

    fit: tuple[ChoiceLoss, ...]
    """By the calibration, without a margin."""
    left_out: tuple[ChoiceLoss, ...]
    """The same while the pair of model and GPU was left out of the fit."""
    planned: tuple[ChoiceLoss, ...]
    """With the margin of plans, the pair left out."""
    gpus: GpuWinners
    """With the same margin, the pairs left out."""
