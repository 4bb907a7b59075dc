"""What can be bought, what lies between servers, where weights come from, kinds of workloads, days."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from planner.numbers import as_decimal
from planner.schema.base import Bytes, BytesPerSecond, Exact, Noun, Seconds, UsdPerHour, refused
from planner.schema.catalog_entry import CatalogEntry, Positive, Source
from planner.schema.lengths import Lengths
from planner.schema.slo import Slo


class Offer(Noun):
    """One instance type in one region: bought whole."""

    instance: str
    region: str
    accelerator: str
    gpus: Positive
    on_demand: UsdPerHour
    spot: UsdPerHour | None = None
    reserved_1y: UsdPerHour | None = None
    """Paid in every hour of a year; a problem buys at it by a line of ``fleet.supply``."""
    reserved_3y: UsdPerHour | None = None
    vcpus: Positive | None = None
    host_memory: Bytes | None = None
    bridged: bool = False
    """Cards are joined in pairs by an optional bridge."""
    usable: bool = True
    """False for disputed rows and rows without a host: listed, never bought by default."""
    note: str = ""
    source: Source


class ApiPrice(Noun):
    """What an outside supplier asks for one model, in USD per million tokens."""

    model: str
    supplier: str
    entry: str
    """Its name of the model: several versions may share one catalog id."""
    usd_per_million_input: Exact
    usd_per_million_cached_input: Exact | None = None
    usd_per_million_output: Exact
    context_tokens: Positive | None = None


class Discount(Noun):
    """A market rule of thumb for other purchase terms."""

    instrument: str
    term: str
    ratio_to_on_demand: Annotated[Exact, Field(gt=0, le=1)] | None = None
    """Price over the on-demand price; absent where the source gives only a ceiling or a price."""
    text: str
    note: str = ""
    source: Source


class PriceList(CatalogEntry):
    """The offers of one provider."""

    kind: Literal["prices"] = "prices"
    marketplace: bool = False
    """Hosts of others without a service level: bought only where ``fleet.providers`` names it."""
    offers: tuple[Offer, ...] = ()
    table: str | None = None
    """More offers: a CSV file beside this one; their source is ``table``."""
    discounts: tuple[Discount, ...] = ()
    api_table: str | None = None
    """Prices by the token: a CSV file beside this one."""
    api_prices: tuple[ApiPrice, ...] = ()


class Network(CatalogEntry):
    """A fabric between servers."""

    kind: Literal["network"] = "network"
    one_way: BytesPerSecond
    """Per port or per node, see scope."""
    scope: Literal["gpu", "port", "node"]
    per_gpu_one_way: BytesPerSecond
    """What one GPU of a common server gets."""
    latency: Seconds
    """Small-message latency between servers."""
    source: Source


class Storage(CatalogEntry):
    """A path from which weights are loaded."""

    kind: Literal["storage"] = "storage"
    read: BytesPerSecond
    """Sequential read, one server."""
    source: Source


class Archetype(CatalogEntry):
    """A kind of workload with lengths, limits and golden defaults."""

    kind: Literal["archetype"] = "archetype"
    lengths: Lengths
    slo: Slo
    batch: tuple[Positive, Positive]
    """Golden range of the batch."""
    context_tokens: Positive
    kv: tuple[str, ...]
    goal: str
    source: Source


HOURS_PER_DAY = 24


def _mean_of_one(hours: tuple[Decimal, ...]) -> tuple[Decimal, ...]:
    if len(hours) != HOURS_PER_DAY or sum(hours) != HOURS_PER_DAY:
        raise refused(f"{len(hours)} hours that sum to {sum(hours)}", "24 hours that sum to 24: a mean of 1")
    return hours


class DayShape(CatalogEntry):
    """How the requests of a day spread over its hours."""

    kind: Literal["shape"] = "shape"
    hours: Annotated[tuple[Annotated[Exact, Field(ge=0)], ...], AfterValidator(_mean_of_one)]
    """Rate of each hour from midnight, local time, over the mean of the day."""
    source: Source

    def hourly_rps(self, per_day: Fraction) -> tuple[Decimal, ...]:
        """Requests per second in each hour, of so many requests in the day."""
        mean_rps = per_day / (HOURS_PER_DAY * 3600)
        return tuple(as_decimal(mean_rps * Fraction(hour)) for hour in self.hours)
