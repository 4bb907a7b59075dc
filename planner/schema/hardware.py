"""What a problem may buy, and what must be kept free."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, model_validator

from planner.schema.base import (
    BytesPerSecond,
    Exact,
    GapSeconds,
    Noun,
    Share,
    UsdPerHour,
    UsdPerKwh,
    Watts,
    refused,
)
from planner.schema.stated import (
    Count,
    Headroom,
    Positive,
    Redundancy,
    RouterChoice,
    SpareCount,
    WorkloadHeadroom,
)
from planner.schema.supply import Budgets, PlaceLink, StartCost, SupplyLine
from planner.schema.workload import Workload

MemoryShare = Annotated[Share, Field(gt=0, lt=1)]


class Fleet(Noun):
    """What may be bought and what must be kept free."""

    accelerators: tuple[str, ...] | None = None
    """Default: every accelerator that has a price."""
    prices: dict[str, UsdPerHour] | None = None
    """Per GPU-hour. Default: the on-demand offers of the price lists, bought whole."""
    stock: dict[str, Count] = {}
    """GPUs that can be had at most, by type. Default: no limit."""
    owned: dict[str, Count] = {}
    """GPUs that are there and paid anyway, by type: a line of supply on term ``owned`` that costs its
    electricity. More of the same type come from a line of ``supply`` or a price; other types stay allowed
    unless ``accelerators`` is given."""
    electricity: UsdPerKwh | None = None
    """What ``owned`` GPUs cost while they are used: rated power × ``pue`` × this. Default: nothing."""
    providers: tuple[str, ...] | None = None
    """Price lists to buy from; default: all."""
    regions: tuple[str, ...] | None = None
    """Regions to buy in, as the price lists write them; default: all."""
    budget: Budgets | UsdPerHour | None = None
    """Money at most: in every hour, or by day and month. Default: no limit."""
    supply: Annotated[tuple[SupplyLine, ...], Field(min_length=1)] | None = None
    """What can be bought under which terms; replaces prices, stock and offers for the GPUs it names."""
    quota: dict[str, Count] = {}
    """GPUs at most in a period, by region or provider. Default: no limit."""
    slices: dict[str, tuple[str, ...]] = {}
    """Hardware slices (MIG) that replicas may be placed on, by accelerator: names of its partitions."""
    start_cost: StartCost | None = None
    """Of an on-demand hour, for every on-demand or spot GPU more than in the period before (cyclic).
    Default: cold start and drain of predicted replicas that start on rented GPUs, over several periods; else
    0."""
    max_changes: Count | None = None
    """GPUs added or removed against ``start`` at most. Default: no limit."""
    max_gpus: Count | None = None
    """GPUs bought at most, idle ones in bought servers included. Default: no limit."""
    max_power: Watts | None = None
    """Power of all replicas at most, each GPU at its rated power; GPUs of unknown power are left out.
    Default: no limit."""
    max_replicas: Count | None = None
    """Replicas of all workloads in a period at most, prefill and decode counted. Default: no limit."""
    simplicity: Share | None = None
    """Part of the optimum that the plan may cost more for fewer pools, then fewer changes of layouts over the
    day, then fewer places. 0 %: the optimum itself. Default: 2 % of predicted problems over several periods;
    else 0 %."""
    max_layouts_per_workload: Positive | None = None
    """Layouts (configurations of replicas) of a workload over the day at most; a prefill and a decode layout
    count as one. Default: no limit."""
    max_changes_per_day: Count | None = None
    """Hours at most in which other layouts of a workload are in use than in the hour before, summed over the
    workloads; the day is cyclic. More or fewer replicas of a layout are no change. Default: no limit."""
    layouts: Literal["fixed", "by-hour"] | None = None
    """``fixed``: the same layouts of a workload are in use in all hours. Default: by-hour."""
    min_layout_hours: Positive | None = None
    """Hours in a row that a layout is in use at least. Default: 3 over several predicted hours,
    if a plan within ``simplicity`` keeps that; else no limit."""
    mix_places: bool | None = None
    """False: the replicas of a workload stand with one provider and in one region; owned GPUs never count as
    a second place, and spares by zone or provider may stand elsewhere. Default:
    false for offers of the price lists in predicted problems, else true."""
    max_co2_kg_per_day: Annotated[Exact, Field(ge=0, le=1_000_000_000)] | None = None
    """Carbon dioxide of all replicas at rated power on average over the periods, by the grid of each region;
    GPUs of unknown power are left out. Default: no limit."""
    co2_g_per_kwh: dict[str, Annotated[Exact, Field(ge=0, le=10_000)]] = {}
    """Carbon intensity of the grid by region, before the catalog's figures."""
    pue: Annotated[Exact, Field(ge=1, le=3)] = Decimal("1.3")
    """Power of the building over power of the machines, for carbon dioxide and electricity."""
    purchase: Literal["gpu", "node"] | None = None
    """Whole servers or single GPUs where the user gives prices or stock; default gpu."""
    node_size: Positive | None = None
    """GPUs in one server; default: the catalog's figure."""
    network: BytesPerSecond | str | None = None
    """Between servers, one way and per GPU: a bandwidth, or a network of the catalog."""
    network_latency: GapSeconds | None = None
    """Of that network; default: what the catalog states."""
    links: tuple[PlaceLink, ...] = ()
    """Between places of the supply: prefill may stand at one and decode at the other. Default: none."""
    routing: RouterChoice | None = None
    """How requests are spread over the replicas of a pool. Default: least-loaded, prompts for prefill workers
    in a shared queue; where a prefix cache is described, as its own ``routing`` says."""
    headroom: Headroom = Headroom()
    """Memory and capacity kept free."""
    memory_share: Annotated[tuple[MemoryShare, ...], Field(min_length=1)] | None = None
    """Shares of device memory that engines may be given. Default: the engine's own, and 95 %. A larger one is
    taken only where it makes a layout fit or the plan cheaper. Not read with a table of workers."""
    max_utilization: Annotated[Share, Field(gt=0)] = Decimal(1)
    """Load of a replica over its capacity, at most."""
    min_replicas: Positive = 1
    """Replicas of a workload at least, all counted."""
    redundancy: SpareCount | Redundancy = 0
    """Replicas of a pool that may be lost while the rest still carries the demand."""

    @model_validator(mode="after")
    def _not_empty(self) -> Fleet:
        if self.accelerators == ():
            raise refused("an empty list of accelerators", "at least one, or no key for all")
        return self

    @property
    def supplied(self) -> tuple[str, ...]:
        """GPUs that the user has lines of supply for: those owned and those of ``supply``."""
        lines = (line.gpu for line in self.supply or ())
        return tuple(dict.fromkeys((*lines, *self.owned)))

    def headroom_of(self, workload: Workload) -> Headroom:
        """Memory and capacity kept free for a workload: its own figures, the fleet's for the others."""
        own = workload.headroom or WorkloadHeadroom()
        stated = {"memory": own.memory, "capacity": own.capacity}
        return self.headroom.model_copy(
            update={key: value for key, value in stated.items() if value is not None}
        )
