"""What sizing one configuration answers: estimates, curves and fits."""

from __future__ import annotations

from typing import ClassVar, Literal

from planner.schema.answer import Answer
from planner.schema.base import Noun
from planner.schema.efficiency import Efficiency
from planner.schema.pool import Bound, Evidence, Memory, OfferTaken, Statistic


class CannotRun(Noun):
    """One reason why a configuration cannot run."""

    id: str
    value: float | str | None
    limit: float | str | None
    unit: str
    text: str = ""


class Estimate(Answer):
    """One configuration at one load."""

    option: str
    load: str = ""
    """What it is put under, with the conventions of a benchmark, in words."""
    cannot_run: tuple[CannotRun, ...] = ()
    memory_bytes: Memory | None = None
    max_batch: int | None = None
    """Sequences of this length that one replica holds."""
    concurrency: float | None = None
    """Requests in flight, those waiting and in prefill included."""
    decoding: float | None = None
    """Of these, the mean number decoding."""
    prefill_s: float | None = None
    decode_step_s: float | None = None
    bound: dict[str, Bound] = {}
    output_tokens_per_s: float | None = None
    requests_per_s: float | None = None
    utilization: float | None = None
    """Requests completed, over those of a replica that is never without work."""
    ttft_s: Statistic = {}
    itl_s: Statistic = {}
    tpot_s: Statistic = {}
    e2e_s: Statistic = {}
    e2e_is_upper_bound: bool = False
    gpus: int = 0
    usd_per_hour: float | None = None
    usd_per_million_output_tokens: float | None = None
    cold_start_s: float | None = None
    host_memory_bytes: float | None = None
    efficiency: Efficiency | None = None
    uncertainty: dict[str, float] = {}
    outside_measured: tuple[str, ...] = ()
    """What of it lies outside what was measured, in words; the spread has grown with it."""
    evidence: Evidence = "modelled"
    warnings: tuple[str, ...] = ()


class CurvePoint(Noun):
    """One load of a configuration, and what requests experience there."""

    concurrency: float
    """Requests in flight: always so many, or on average where a rate is given."""
    rate_rps: float
    output_tokens_per_s: float
    power: float
    """Output tokens/s over mean end-to-end time."""
    ttft_s: Statistic = {}
    itl_s: Statistic = {}
    tpot_s: Statistic = {}
    e2e_s: Statistic = {}
    keeps_slo: bool | None = None
    """Whether every limit holds; null without limits."""


class Curve(Answer):
    """One configuration over a range of loads."""

    ROWS: ClassVar[str] = "points"

    model: str = ""
    option: str
    cannot_run: tuple[CannotRun, ...] = ()
    memory_bytes: Memory | None = None
    load: Literal["concurrency", "rate"] = "concurrency"
    """What was varied: requests always in flight, or requests that arrive at random."""
    load_text: str = ""
    """The largest load, with the conventions of a benchmark, in words."""
    max_batch: int | None = None
    """Sequences of this length that one replica holds."""
    points: tuple[CurvePoint, ...] = ()
    """By rising load."""
    knee: CurvePoint | None = None
    """Where throughput over mean end-to-end time is largest."""
    asked: CurvePoint | None = None
    """The load that was asked about; null where none was, or where one replica does not carry it."""
    slo: dict[str, float] = {}
    """Limits in seconds, by name."""
    largest: CurvePoint | None = None
    """The largest load that keeps every limit; null without limits, or where none does."""
    broken_by: str | None = None
    """The limit that a little more load breaks."""
    gpus: int = 0
    usd_per_hour: float | None = None
    """Of one replica, at the cheapest on-demand price of its GPU; null where no price is known."""
    uncertainty: dict[str, float] = {}
    outside_measured: tuple[str, ...] = ()
    """What of it lies outside what was measured, in words; the spread has grown with it."""
    evidence: Evidence = "modelled"
    before: Curve | None = None
    """The configuration before a change, over the same kind of loads; null where none was asked for."""
    warnings: tuple[str, ...] = ()


class FitRow(Noun):
    """A configuration that holds the model, the context and the concurrency."""

    option: str
    gpu: str
    gpus: int
    tp: int
    pp: int
    ep: int = 1
    attention_dp: int = 1
    weights: str
    kv: str
    offer: OfferTaken | None
    usd_per_hour: float
    holds: int
    """Sequences of this context that fit."""
    memory_bytes: Memory
    notes: tuple[str, ...] = ()


class Fit(Answer):
    """The hardware router's answer, cheapest first."""

    ROWS: ClassVar[str] = "rows"

    model: str
    context_tokens: int
    concurrency: int
    rows: tuple[FitRow, ...]
    refused: dict[str, int] = {}
    """Configurations refused, by constraint."""
