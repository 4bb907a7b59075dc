"""What arrives at a workload: rates, a trace, sessions, work by the day, or people and what they do."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import Field, model_validator

from planner.schema.base import DeadlineSeconds, Exact, Noun, RequestSeconds, refused
from planner.schema.sessions import Sessions
from planner.schema.traces import TraceNamed

MAX_HOURS = 8784
"""Hours of a leap year."""
Rate = Annotated[Exact, Field(gt=0, le=1_000_000_000)]
"""Requests per second, exact."""
RateOrZero = Annotated[Exact, Field(ge=0, le=1_000_000_000)]
Heads = Annotated[Exact, Field(gt=0, le=1_000_000_000)]
DEMAND_FORMS = (
    "peak_rps", "hourly_rps", "trace", "sessions", "concurrency", "users", "tokens_per_day",
    "requests_per_day", "free",
)  # fmt: skip


class Demand(Noun):
    """What arrives: a peak rate, hourly rates, a trace, sessions, or what people say of it."""

    peak_rps: Rate | None = None
    """Requests per second that the fleet must carry."""
    mean_rps: Rate | None = None
    """Requests per second on average; divides the cost per token. Default: peak, or mean of the hours."""
    hourly_rps: Annotated[tuple[RateOrZero, ...], Field(max_length=MAX_HOURS)] | None = None
    """One rate an hour, of a day or week that begins again; several are planned hour by hour."""
    trace: TraceNamed | None = None
    """File with arrival times, relative to the problem file, or the file with the names of its columns. A
    trace of 20 hours or more is planned by the hours of a day, of 156 or more by those of a week."""
    counted_in: str | None = None
    """The trace that ``hourly_rps`` were counted in; plans say so."""
    sessions: Sessions | None = None
    """Sessions of several turns; rate, lengths and prefix hits follow from them."""
    concurrency: Heads | None = None
    """Requests in flight at the peak hour: waiting, being read or being answered. The rate follows from
    Little's law at the mean end-to-end time of the plan, which states it."""
    users: Heads | None = None
    """People at the peak hour who ask, read for ``think_time`` and ask again: users / (think_time + E2E)
    requests a second, E2E at its limits where the limits say one, else the plan's mean."""
    think_time: RequestSeconds | None = None
    """From the end of an answer to the next request of the same user. Default: 20 s."""
    tokens_per_day: Annotated[Exact, Field(gt=0, le=10**18)] | None = None
    """Tokens to write in 24 hours: work that may wait and arrives evenly (class batch), or with ``shape``
    requests of people who wait for them."""
    requests_per_day: Annotated[Exact, Field(gt=0, le=10**15)] | None = None
    """The same as requests in 24 hours."""
    shape: str | None = None
    """Hours of the day of requests_per_day or tokens_per_day, by a profile of the catalog: office, consumer,
    flat. With it the work is interactive."""
    deadline: DeadlineSeconds | None = None
    """Of work that may wait: from arrival to the answer; default: a day. Whole hours count."""
    free: bool = False
    """No demand to meet: the most output for the money."""
    burstiness: Annotated[Exact, Field(ge=0, le=1000)] = Decimal(1)
    """Squared coefficient of variation of inter-arrival times; 1 = Poisson."""

    @model_validator(mode="after")
    def _one_form(self) -> Demand:
        if self.forms > 1:
            raise refused(f"{self.forms} forms of demand", f"one of {', '.join(DEMAND_FORMS)}")
        if self.sessions is not None and self.mean_rps is not None:
            raise refused("mean_rps beside sessions", "sessions.mean_per_hour")
        if self.mean_rps is not None and (self.by_day or self.people or self.free):
            raise refused("mean_rps beside work without a rate", "no such key")
        if self.hourly_rps is not None and (not self.hourly_rps or max(self.hourly_rps) == 0):
            raise refused("no demand in any hour", "at least one hourly rate above zero")
        if self.peak_rps is not None and self.mean_rps is not None and self.mean_rps > self.peak_rps:
            raise refused(
                f"mean_rps {self.mean_rps} above peak_rps {self.peak_rps}", "a mean of at most the peak"
            )
        return self

    @model_validator(mode="after")
    def _keys_of_a_form(self) -> Demand:
        if self.think_time is not None and self.users is None:
            raise refused("think_time without users", "users: how many people ask")
        if self.shape is not None and not self.by_day:
            raise refused("shape without work by the day", "requests_per_day or tokens_per_day beside it")
        return self

    @property
    def forms(self) -> int:
        """How many forms of demand are stated; none where a file of workers states the rate."""
        return sum(getattr(self, name) not in (None, False) for name in DEMAND_FORMS)

    @property
    def by_day(self) -> bool:
        """An amount of 24 hours."""
        return self.tokens_per_day is not None or self.requests_per_day is not None

    @property
    def people(self) -> bool:
        """People or requests in flight: the rate depends on how fast answers are."""
        return self.concurrency is not None or self.users is not None

    @property
    def deferrable(self) -> bool:
        """Work that may wait, until its deadline."""
        return self.by_day and self.shape is None
