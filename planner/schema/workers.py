"""Rows of a table of measured workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from planner.schema.base import plain_usd
from planner.schema.choice import ChoiceProblem, Role


@dataclass(frozen=True)
class WorkerRow:
    """One replica option on one bucket of one workload, as measured."""

    where: str
    """``file:line``, for messages."""
    option: str
    gpu: str
    gpus: int
    max_rps: Decimal
    """Largest rate of one replica on this bucket alone; 0 = cannot serve it."""
    workload: str | None = None
    """None: every workload."""
    bucket: str | None = None
    """None: the one bucket."""
    role: Role = "serve"
    usd_per_hour: Decimal | None = None
    """Price of the whole option; None: priced by GPU."""
    ttft_ms: Decimal | None = None
    itl_ms: Decimal | None = None
    memory_fraction: Decimal | None = None
    """Share of device memory in use."""
    kv: str | None = None
    transfer_ms: Decimal | None = None

    def __post_init__(self) -> None:
        """Prices as in problem files."""
        if self.usd_per_hour is not None:
            object.__setattr__(self, "usd_per_hour", plain_usd(self.usd_per_hour))


@dataclass(frozen=True)
class WorkerTable:
    """A whole table; files of other tools bring buckets, rate and counts along."""

    rows: tuple[WorkerRow, ...]
    shares: dict[str, Fraction] | None = None
    """Share of requests by bucket, where the file states them."""
    rate_rps: Fraction | None = None
    """Total rate, where the file states it."""
    stock_gpus: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class MeasuredCase:
    """A problem over measured workers in the solver's terms, and what was left out on the way."""

    problem: ChoiceProblem
    rows: dict[str, tuple[WorkerRow, ...]]
    """By option id the rows that it may serve: those that break a limit by themselves are left out."""
    excluded: tuple[tuple[WorkerRow, tuple[str, ...]], ...]
    """Rows left out, each with the ids of the constraints that it breaks by itself."""
    warnings: tuple[str, ...] = ()
