"""The problem file: workloads, fleet, search and objective, as the user states them."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from planner.schema.base import (
    BytesPerSecond,
    DeadlineSeconds,
    Exact,
    GapSeconds,
    Noun,
    Percentage,
    Share,
    UsdPerHour,
    UsdPerKwh,
    Watts,
)
from planner.schema.lengths import Lengths
from planner.schema.reuse import KvEviction, KvOffload, PrefixCache, Trim, reuse_fault
from planner.schema.routing import RoutingPolicy
from planner.schema.sessions import Sessions
from planner.schema.slo import Slo
from planner.schema.speculation import Experts, Speculation
from planner.schema.supply import ApiOffer, Budgets, PlaceLink, StartCost, SupplyLine, Text, Tier
from planner.schema.today import TodayPool

MAX_HOURS = 8784
"""Hours of a leap year."""
MAX_WORKLOADS = 1000
Rate = Annotated[Exact, Field(gt=0, le=1_000_000_000)]
"""Requests per second, exact."""
RateOrZero = Annotated[Exact, Field(ge=0, le=1_000_000_000)]
Positive = Annotated[int, Field(ge=1, le=1_000_000_000, strict=True)]
Count = Annotated[int, Field(ge=0, le=1_000_000_000, strict=True)]
SpareCount = Annotated[int, Field(ge=0, le=100, strict=True)]
"""What may be lost at once. Room in proportion to the demand is ``headroom.capacity``."""
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^/\s:][^/:]*$")]
Mode = Literal["aggregated", "disaggregated"]


DEMAND_FORMS = (
    "peak_rps", "hourly_rps", "trace", "sessions", "tokens_per_day", "requests_per_day", "free",
)  # fmt: skip


class Demand(Noun):
    """What arrives: a peak rate, hourly rates, a trace, or sessions."""

    peak_rps: Rate | None = None
    """Requests per second that the fleet must carry."""
    mean_rps: Rate | None = None
    """Requests per second on average; divides the cost per token. Default: peak, or mean of the hours."""
    hourly_rps: Annotated[tuple[RateOrZero, ...], Field(max_length=MAX_HOURS)] | None = None
    """One rate an hour, of a day or week that begins again; several are planned hour by hour."""
    trace: str | None = None
    """File with arrival times; the path is relative to the problem file."""
    sessions: Sessions | None = None
    """Sessions of several turns; rate, lengths and prefix hits follow from them."""
    tokens_per_day: Annotated[Exact, Field(gt=0, le=10**18)] | None = None
    """Work that may wait: tokens to write in 24 hours, arriving evenly (class batch)."""
    requests_per_day: Annotated[Exact, Field(gt=0, le=10**15)] | None = None
    """The same as requests in 24 hours."""
    deadline: DeadlineSeconds | None = None
    """Of work that may wait: from arrival to the answer; default: a day. Whole hours count."""
    free: bool = False
    """No demand to meet: the most output for the money."""
    burstiness: Annotated[Exact, Field(ge=0, le=1000)] = Decimal(1)
    """Squared coefficient of variation of inter-arrival times; 1 = Poisson."""

    @model_validator(mode="after")
    def _one_form(self) -> Demand:
        if self.forms > 1:
            raise _refused(f"{self.forms} forms of demand", f"one of {', '.join(DEMAND_FORMS)}")
        if self.mean_rps is not None and (self.deferrable or self.free):
            raise _refused("mean_rps beside work without a rate", "no such key")
        if self.sessions is not None and self.mean_rps is not None:
            raise _refused("mean_rps beside sessions", "sessions.mean_per_hour")
        if self.hourly_rps is not None and (not self.hourly_rps or max(self.hourly_rps) == 0):
            raise _refused("no demand in any hour", "at least one hourly rate above zero")
        if self.peak_rps is not None and self.mean_rps is not None and self.mean_rps > self.peak_rps:
            raise _refused(
                f"mean_rps {self.mean_rps} above peak_rps {self.peak_rps}", "a mean of at most the peak"
            )
        return self

    @property
    def forms(self) -> int:
        """How many forms of demand are stated; none where a file of workers states the rate."""
        return sum(getattr(self, name) not in (None, False) for name in DEMAND_FORMS)

    @property
    def deferrable(self) -> bool:
        """Work that may wait, until its deadline."""
        return self.tokens_per_day is not None or self.requests_per_day is not None


class Precision(Noun):
    """Formats that the quality target allows."""

    weights: tuple[str, ...] | None = None
    """Formats of the weights; default: the checkpoint's own, and narrower down to 8 bits. INT8, 4 bits, GGUF
    (``Q4_K_M``), 2:4 sparse formats (``fp8-2:4``) and mixes by part (``int4+attention=fp8+head=fp8``; parts
    are attention, dense, head and embedding) only when named."""
    kv: tuple[str, ...] | None = None
    """Formats of the KV cache; default: 16 and 8 bits."""

    @model_validator(mode="after")
    def _not_empty(self) -> Precision:
        if self.weights == () or self.kv == ():
            raise _refused("an empty list", "at least one format, or no key for the default")
        return self


class Lora(Noun):
    """Adapters served beside the base model."""

    adapters: Positive
    """Adapters that exist."""
    active: Positive | None = None
    """Largest number of adapters in use at once: so many slots are kept in device memory; default: all."""
    rank: Positive = 16

    @model_validator(mode="after")
    def _active_exist(self) -> Lora:
        if self.active is not None and self.active > self.adapters:
            raise _refused(f"active {self.active}", f"at most adapters ({self.adapters})")
        return self


class Images(Noun):
    """Images in the prompts of a vision model."""

    per_request: Annotated[Exact, Field(gt=0, le=10000)]
    tokens_per_image: Positive | None = None
    """Default: the model's own figure."""


class Redundancy(Noun):
    """Spares: what may be lost while the rest still carries the demand."""

    replicas: SpareCount | None = None
    """Any n replicas of a pool."""
    per_option: SpareCount | None = None
    """Each option in use keeps n spares of its own."""
    servers: SpareCount | None = None
    """Any n servers, under whole-server purchase."""
    zones: SpareCount | None = None
    """Any n zones of the supply, with every replica that stands there."""
    providers: SpareCount | None = None
    """Any n providers of the supply, with every replica that stands there."""

    @model_validator(mode="after")
    def _one_form(self) -> Redundancy:
        forms = (self.replicas, self.per_option, self.servers, self.zones, self.providers)
        if sum(value is not None for value in forms) != 1:
            raise _refused("none or several forms", "one of replicas, per_option, servers, zones, providers")
        return self


MemoryShare = Annotated[Share, Field(gt=0, lt=1)]


class RouterChoice(Noun):
    """The router in front of every pool."""

    policy: RoutingPolicy


class Headroom(Noun):
    """Room kept free."""

    memory: Share | None = None
    """Share of device memory that plans leave empty, where ``memory_share`` is not tighter. Default: none;
    with a table of workers 10 %."""
    capacity: Percentage = Decimal("0.2")
    """A pool carries demand x (1 + this)."""

    @property
    def memory_of_tables(self) -> Decimal:
        """Of measured workers, whose table says what they fill."""
        return Decimal("0.1") if self.memory is None else self.memory


class WorkloadHeadroom(Noun):
    """Room kept free for one workload; a key that is not given is the fleet's."""

    memory: Share | None = None
    """Overrides the fleet's."""
    capacity: Percentage | None = None
    """Overrides the fleet's."""


def _sum_to_one(shares: dict[str, Decimal]) -> dict[str, Decimal]:
    total = sum(shares.values(), Decimal(0))
    if abs(total - 1) > Decimal("1e-6"):
        raise _refused(f"shares that sum to {total}", "shares that sum to 1")
    return shares


Shares = Annotated[dict[Text, Annotated[Exact, Field(gt=0, le=1)]], AfterValidator(_sum_to_one)]


class Workload(Noun):
    """One model under one traffic with its limits."""

    name: Name
    model: str | None = None
    """Catalog id or alias, or a folder or file with a Hugging Face config.json."""
    archetype: str | None = None
    """Catalog archetype that gives lengths and limits where the problem does not."""
    demand: Demand = Demand()
    """What arrives. Needed, but where a file of workers states the rate."""
    lengths: Lengths | None = None
    """Prompt and answer lengths."""
    slo: Slo = Slo()
    """Latency limits."""
    precision: Precision = Precision()
    """Formats that the quality target allows."""
    max_quality_loss: Share | None = None
    """Largest loss of quality that its number formats may cost by what is published of them, weights and
    cache added; formats without a published figure are then left out. Default: no limit."""
    prefix_cache_hit: Share = Decimal(0)
    """Share of prompt tokens found in the prefix cache, whatever the number of replicas."""
    prefix_cache: PrefixCache | None = None
    """A prefix cache in more detail; instead of prefix_cache_hit."""
    kv_offload: KvOffload | None = None
    """KV of requests that do not run may be kept outside the GPU."""
    kv_eviction: KvEviction | None = None
    """Drop tokens from the KV of running requests."""
    trim: Trim | None = None
    """Shorter prompts and capped answers than ``lengths`` says."""
    engine: str | Annotated[tuple[str, ...], Field(min_length=1)] = "vllm"
    """Serving engine, by catalog id or alias, or several to choose one from; ``naive`` is a stack to compare
    with."""
    kv_block_tokens: Annotated[int, Field(ge=1, le=4096, strict=True)] | None = None
    """Tokens of a block (page) of the KV cache: larger ones leave more of the last block of a request empty,
    and find less of a prefix. Default: the engine's own."""
    speculation: Speculation | tuple[Speculation, ...] | None = None
    """Speculative decoding that the search may use: one kind of drafts, or several to choose from."""
    experts: Experts | None = None
    """How evenly tokens reach the experts of a mixture, where whole experts are spread over GPUs."""
    lora: Lora | None = None
    """Adapters served beside the base model."""
    images: Images | None = None
    """Images in the prompts of a vision model."""
    buckets: Shares | None = None
    """Shares of requests per bucket of the worker table."""
    min_replicas: Positive | None = None
    """Overrides the fleet's."""
    max_replicas: Count | None = None
    """Replicas in a period at most, prefill and decode counted. Default: no limit."""
    redundancy: SpareCount | Redundancy | None = None
    """Overrides the fleet's."""
    routing: RouterChoice | None = None
    """How its requests are spread over replicas; default: the fleet's."""
    headroom: WorkloadHeadroom | None = None
    """Overrides the fleet's, key by key."""
    storage: str | None = None
    """Where weights are loaded from: a storage of the catalog."""
    class_: Literal["interactive", "batch"] | None = Field(default=None, alias="class")
    """``batch`` is work that may wait (``demand.tokens_per_day``); default: what the demand says."""
    priority: Positive | None = None
    """Who is served first when not all can be: 1 before 2. Default: all alike."""
    regions: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Residency: regions in which it may run."""
    providers: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Providers on whose machines it may run."""

    @field_validator("engine")
    @classmethod
    def _engines_differ(cls, named: str | tuple[str, ...]) -> str | tuple[str, ...]:
        if isinstance(named, str):
            return named
        if len(set(named)) < len(named):
            raise _refused(f"engines {', '.join(named)}", "each engine once")
        return named[0] if len(named) == 1 else named

    @property
    def engines(self) -> tuple[str, ...]:
        """Engines to choose one from."""
        return (self.engine,) if isinstance(self.engine, str) else self.engine

    @model_validator(mode="after")
    def _class_is_clear(self) -> Workload:
        demand = self.demand
        if self.class_ == "interactive" and demand.deferrable:
            raise _refused("class interactive with work by the day", "class: batch")
        if demand.deadline is not None and not self.may_wait:
            raise _refused("a deadline for interactive work", "class: batch, or no deadline")
        if self.class_ == "batch" and (demand.sessions is not None or demand.free):
            raise _refused("class batch with sessions or free demand", "a rate, or tokens_per_day")
        return self

    @property
    def own_capacity_headroom(self) -> Decimal | None:
        """Capacity kept free where the workload states it itself."""
        return None if self.headroom is None else self.headroom.capacity

    @property
    def may_wait(self) -> bool:
        """Work that is done at any time before its deadline."""
        return self.class_ == "batch" or self.demand.deferrable

    @model_validator(mode="after")
    def _reuse_is_clear(self) -> Workload:
        sessions = self.demand.sessions is not None
        if sessions and self.lengths is not None:
            raise _refused("lengths beside demand.sessions", "one of them: lengths follow from sessions")
        fault = reuse_fault(self.prefix_cache, self.prefix_cache_hit, sessions)
        if fault is not None:
            raise _refused(*fault)
        return self

    @model_validator(mode="after")
    def _routers_agree(self) -> Workload:
        cache = self.prefix_cache
        if self.routing is None or cache is None or "routing" not in cache.model_fields_set:
            return self
        if (cache.routing == "cache-aware") != (self.routing.policy == "cache-aware"):
            raise _refused(
                f"routing.policy {self.routing.policy} with prefix_cache.routing {cache.routing}",
                "one of them, or two that agree",
            )
        return self


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
    start_cost: StartCost = Decimal(0)
    """Of an on-demand hour, for every on-demand or spot GPU more than in the period before (cyclic)."""
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
    day, then fewer places. Default: 0 %, the optimum itself."""
    max_layouts_per_workload: Positive | None = None
    """Layouts (configurations of replicas) of a workload over the day at most; a prefill and a decode layout
    count as one. Default: no limit."""
    max_changes_per_day: Count | None = None
    """Hours at most in which other layouts of a workload are in use than in the hour before, summed over the
    workloads; the day is cyclic. More or fewer replicas of a layout are no change. Default: no limit."""
    layouts: Literal["fixed", "by-hour"] | None = None
    """``fixed``: the same layouts of a workload are in use in all hours. Default: by-hour."""
    min_layout_hours: Positive | None = None
    """Hours in a row that a layout is in use at least. Default: no limit; with ``simplicity`` over several
    predicted hours 3, if a plan within it keeps that."""
    mix_places: bool | None = None
    """False: the replicas of a workload stand with one provider and in one region; owned GPUs never count as
    a second place, and spares by zone or provider may stand elsewhere. Default: true."""
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
            raise _refused("an empty list of accelerators", "at least one, or no key for all")
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


class Search(Noun):
    """What the search may choose from; absent lists mean everything that can run."""

    modes: Annotated[tuple[Mode, ...], Field(min_length=1)] = ("aggregated", "disaggregated")
    """Ways to serve: prompts and answers together, or apart; each workload takes the better one."""
    tp: tuple[Positive, ...] | None = None
    """Tensor-parallel degrees. Default: all that can run."""
    pp: tuple[Positive, ...] | None = None
    """Pipeline stages. Default: all that can run."""
    ep: tuple[Positive, ...] | None = None
    """Expert-parallel degrees: ranks of whole experts. Default: experts cut over all GPUs of a stage (1), or
    whole ones spread over them."""
    attention_dp: tuple[Positive, ...] | None = None
    """Attention-data-parallel ranks. Default: all that can run."""
    wide_ep: bool | None = None
    """Also spread the experts of one replica over several whole servers, up to 256 GPUs in one stage: whole
    experts on every GPU, no copy of the attention across two servers. Default: where fleet.network is
    stated. Planning rules refuse it below 25 GB/s a GPU."""
    max_batch: tuple[Positive, ...] | None = None
    """Batch caps; the largest that fits memory is the ceiling."""
    batched_tokens: tuple[Positive, ...] | None = None
    """Chunk of chunked prefill; default: the engine's."""
    mix: bool = True
    """Several options for one workload; false: one option per workload and role, in all hours."""
    length_classes: Literal["one", "stated", "auto"] | Annotated[int, Field(ge=1, le=20, strict=True)] = "one"
    """Classes of prompts that may go to different pools: none, the buckets that ``lengths`` states, as many
    as pay for an error of at most 1 % of the cost, or so many of equal work."""
    rules_off: tuple[str, ...] = ()
    """Planning rules to switch off, by id."""


class Problem(Noun):
    """A planning problem."""

    name: Name
    workloads: Annotated[tuple[Workload, ...], Field(min_length=1, max_length=MAX_WORKLOADS)]
    """What must be served."""
    fleet: Fleet = Fleet()
    """What may be bought."""
    search: Search = Search()
    """What may be chosen from."""
    objective: Literal["cost", "cost_per_token", "gpus", "power"] = "cost"
    """What is minimized; by power, GPUs whose rated power is not known are left out."""
    confidence: Annotated[Share, Field(ge=Decimal("0.5"), lt=1)] | None = None
    """Probability with which modelled numbers keep their limits; default 80 % (measured tables 50 %)."""
    workers: str | Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Table of measured worker rates that replaces the performance model, or a list of files that make one:
    CSV, and JSON of Mélange and AIBrix (see worker-tables.md). Paths are relative to this file."""
    tiers: tuple[Tier, ...] = ()
    """Several models behind one entrance."""
    api: tuple[ApiOffer, ...] = ()
    """Outside suppliers that are paid by the token."""
    start: str | Annotated[tuple[TodayPool, ...], Field(min_length=1)] | None = None
    """The fleet of today: a plan, a file with a list of pools, or the list."""

    @property
    def worker_files(self) -> tuple[str, ...]:
        """Names of the files of measured workers; none: the performance model answers."""
        if self.workers is None:
            return ()
        return (self.workers,) if isinstance(self.workers, str) else self.workers

    @model_validator(mode="after")
    def _complete(self) -> Problem:
        names = [workload.name for workload in self.workloads]
        if len(set(names)) != len(names):
            raise _refused(f"workload names {names}", "names that differ")
        if self.workers is None:
            for place, workload in enumerate(self.workloads):
                if not workload.demand.forms:
                    at = ("workloads", place, "demand")
                    if "demand" not in workload.model_fields_set:
                        raise _refused("no such key", "a value", at)
                    raise _refused("0 forms of demand", f"one of {', '.join(DEMAND_FORMS)}", at)
                if workload.model is None:
                    raise _refused(
                        f"workload {workload.name} without model", "a model, or a table of workers"
                    )
                demand = workload.demand
                stated = (workload.lengths, workload.archetype, demand.trace, demand.sessions)
                if all(form is None for form in stated):
                    raise _refused(
                        f"workload {workload.name} without lengths",
                        "lengths, an archetype, a trace or sessions",
                    )
        return self


def _refused(found: str, expected: str, at: tuple[str | int, ...] = ()) -> PydanticCustomError:
    """``at``: the place of the fault below the one that is checked."""
    context = {"found": found, "expected": expected, "maybe": "", "at": at}
    return PydanticCustomError("problem", "found {found}, expected {expected}", context)
