"""What a fleet may be bought from: lines of supply, budgets over longer times, outside suppliers."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from planner.schema.base import (
    BytesPerSecond,
    Exact,
    GapSeconds,
    LeadSeconds,
    Noun,
    PartInPercent,
    Percentage,
    Share,
    UsdPerHour,
    Watts,
    plain_usd,
    refused,
)
from planner.schema.catalog_index import folded
from planner.schema.fleet import Term

Usd = Annotated[Exact, Field(ge=0, le=1_000_000_000), AfterValidator(plain_usd)]
Whole = Annotated[int, Field(ge=0, le=1_000_000_000, strict=True)]
Text = Annotated[str, Field(min_length=1, max_length=100)]
HOURS_PER_YEAR = Decimal(8760)
HOURS_PER_DAY = 24
HOURS_PER_MONTH = 730


class Amortized(Noun):
    """Hardware that is bought: what an hour of one GPU costs over its life.

    ``(capex (1 - resale)) / (years x 8760 h) + power x PUE x electricity + hosting``; paid in every hour that
    the GPU is counted in.
    """

    capex_usd_per_gpu: Usd
    """Price of one GPU with its share of server and network."""
    years: Annotated[Exact, Field(gt=0, le=20)]
    """Time over which it is written off."""
    resale: Share = Decimal(0)
    """Share of the price that is left at the end."""
    power: Watts | None = None
    """Of one GPU with its share of the server, running; needed where electricity is paid."""
    pue: Annotated[Exact, Field(ge=1, le=3)] = Decimal("1.3")
    """Power of the building over power of the machines."""
    electricity_usd_per_kwh: Usd = Decimal(0)
    hosting_usd_per_gpu_h: Usd = Decimal(0)
    """Rack, network and people."""

    @model_validator(mode="after")
    def _power_of_paid_electricity(self) -> Amortized:
        if self.electricity_usd_per_kwh and self.power is None:
            raise refused("electricity_usd_per_kwh without power", "power of one GPU, such as 700 W")
        return self

    @property
    def usd_per_gpu_h(self) -> Decimal:
        """What an hour of one GPU costs."""
        written_off = self.capex_usd_per_gpu * (1 - self.resale) / (self.years * HOURS_PER_YEAR)
        kilowatts = (self.power or Decimal(0)) / 1000
        return written_off + kilowatts * self.pue * self.electricity_usd_per_kwh + self.hosting_usd_per_gpu_h


class SupplyLine(Noun):
    """GPUs of one type under one term, at one price and place."""

    gpu: Text
    term: Term
    """``owned``, ``on_demand`` and ``spot`` are chosen per period and paid for the periods they are used in;
    ``reserved`` is one number for all periods, paid in each."""
    usd_per_gpu_h: Usd | None = None
    """Price; owned hardware that is paid anyway has 0."""
    amortized: Amortized | None = None
    """Instead of a price, of owned hardware."""
    max_gpus: Whole | None = None
    """GPUs in a period at most."""
    provider: Text | None = None
    region: Text | None = None
    zone: Text | None = None
    max_share: Share | None = None
    """Of all GPUs of this type bought in a period, at most."""
    interruption_reserve: Annotated[Share, Field(lt=1)] = Decimal(0)
    """Share of these GPUs that is kept idle against interruptions."""
    lead_time: LeadSeconds | None = None
    """From order to service."""

    @model_validator(mode="after")
    def _one_price(self) -> SupplyLine:
        if (self.usd_per_gpu_h is None) == (self.amortized is None):
            found = "no price" if self.amortized is None else "two prices"
            raise refused(found, "one of usd_per_gpu_h, amortized")
        if self.amortized is not None and self.term != "owned":
            raise refused(f"amortized hardware on term {self.term}", "term: owned")
        return self

    @property
    def price_usd_per_gpu_h(self) -> Decimal:
        """What an hour of one GPU costs."""
        if self.amortized is not None:
            return self.amortized.usd_per_gpu_h
        assert self.usd_per_gpu_h is not None
        return self.usd_per_gpu_h


class PlaceLink(Noun):
    """A link over which prompts that are prefilled at one place may be decoded at another."""

    between: tuple[Text, Text]
    """Two regions or providers of the supply."""
    network: BytesPerSecond
    """One way, for every GPU that sends KV."""
    latency: GapSeconds | None = None
    """One way between the two; default: that of the network between servers."""

    @model_validator(mode="after")
    def _of_two(self) -> PlaceLink:
        if folded(self.between[0]) == folded(self.between[1]):
            raise refused(f"{self.between[0]} twice", "two regions or providers that differ")
        return self


class Budgets(Noun):
    """Money at most, by how long it is counted."""

    per_hour: UsdPerHour | None = None
    """In every hour."""
    per_day: Usd | None = None
    """USD in 24 hours."""
    per_month: Usd | None = None
    """USD in 730 hours."""

    @model_validator(mode="after")
    def _one_at_least(self) -> Budgets:
        if self.per_hour is None and self.per_day is None and self.per_month is None:
            raise refused("no amount", "one of per_hour, per_day, per_month")
        return self


class ApiOffer(Noun):
    """An outside supplier of one workload, paid by the token."""

    workload: Text
    name: Text | None = None
    """Default: the supplier, else ``api``; needed where one workload has several."""
    supplier: Text | None = None
    """Instead of prices: one that the price lists know for the workload's model, or ``any``, the cheapest."""
    usd_per_million_input: Usd | None = None
    usd_per_million_output: Usd | None = None
    usd_per_million_cached_input: Usd | None = None
    """Price of prompt tokens that its prefix cache holds; default: that of other input."""

    @model_validator(mode="after")
    def _one_way(self) -> ApiOffer:
        prices = (self.usd_per_million_input, self.usd_per_million_output)
        stated = [price for price in (*prices, self.usd_per_million_cached_input) if price is not None]
        if self.supplier is not None and stated:
            raise refused("a supplier and prices", "one of supplier, prices")
        if self.supplier is None and None in prices:
            raise refused(
                "no price of input or output", "supplier, or usd_per_million_input and usd_per_million_output"
            )
        return self


class Stage(Noun):
    """One tier of a routed or cascaded service."""

    workload: Text
    share: PartInPercent | None = None
    """Routing: share of all requests that the router sends here."""
    escalated: PartInPercent | None = None
    """Cascade: share of the requests of the stage before that go on to this one."""


class Threshold(Noun):
    """One setting of the router that quality allows."""

    name: Text
    shares: Annotated[tuple[PartInPercent, ...], Field(min_length=1)]
    """By stage, in their order."""
    misroute: Share | None = None
    """Default: the tier's."""


class Tier(Noun):
    """Several models behind one entrance."""

    name: Text
    kind: Literal["routing", "cascade"]
    stages: Annotated[tuple[Stage, ...], Field(min_length=2)]
    """From the small model to the large one."""
    router_latency: GapSeconds | None = None
    """Taken off the TTFT limit of every stage."""
    misroute: Share = Decimal(0)
    """Share of the requests of each stage but the last that the router should have sent on: they run there
    as well."""
    thresholds: tuple[Threshold, ...] = ()
    """Routing: other settings of the router; the search takes the cheapest of all."""
    or_single: bool = False
    """Also compare with sending everything to the last stage."""

    @model_validator(mode="after")
    def _stages_fit(self) -> Tier:
        names = [stage.workload for stage in self.stages]
        if len(set(names)) != len(names):
            raise refused(f"stages {', '.join(names)}", "each workload once")
        return self._routed() if self.kind == "routing" else self._cascaded()

    def _routed(self) -> Tier:
        shares = [stage.share for stage in self.stages]
        if any(stage.escalated is not None for stage in self.stages):
            raise refused("escalated in a routing tier", "share in every stage")
        stated = [share for share in shares if share is not None]
        if len(stated) < len(shares) and not (not stated and self.thresholds):
            raise refused("a stage without share", "share in every stage")
        every = [("stages", stated)] if stated else []
        every += [(f"threshold {item.name}", list(item.shares)) for item in self.thresholds]
        for name, row in every:
            if len(row) != len(shares):
                raise refused(f"{name} with {len(row)} shares", f"one for each of {len(shares)} stages")
            if abs(sum(row, Decimal(0)) - 1) > Decimal("1e-6"):
                raise refused(f"shares of {name} that sum to {sum(row, Decimal(0))}", "shares that sum to 1")
        return self

    def _cascaded(self) -> Tier:
        if self.thresholds or self.misroute or any(stage.share is not None for stage in self.stages):
            raise refused(
                "share, misroute or thresholds in a cascade", "escalated in every stage after the first"
            )
        if self.stages[0].escalated is not None:
            raise refused("escalated in the first stage", "it takes every request")
        if any(stage.escalated is None for stage in self.stages[1:]):
            raise refused("a later stage without escalated", "escalated in every stage after the first")
        return self


StartCost = Percentage
"""Of an on-demand hour."""
