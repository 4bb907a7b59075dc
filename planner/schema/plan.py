"""The plan document (``planner/plan/1``), the estimate and the fit: what the commands answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from planner.schema.apart import ModeChoice, PrefillDecodeStep
from planner.schema.base import Noun
from planner.schema.efficiency import Efficiency
from planner.schema.fleet_answers import ChangeStep, Move, RobustVariant, Scenario, Survival
from planner.schema.fleet_plan import (
    ApiTaken,
    Costs,
    EnginesTried,
    Order,
    PeriodTaken,
    PriceUsed,
    Shortage,
    SupplyTaken,
    TierTaken,
    UtilizationTrap,
)
from planner.schema.reuse_state import PoolReuse, SessionsTaken
from planner.schema.routing import RouterCost, RoutingPolicy
from planner.schema.safety import CostError, SafetyStep
from planner.schema.sizing import WorkloadSizing
from planner.schema.speculation import DraftsTaken

Statistic = dict[str, float]
"""``{"mean": s, "p50": s, "p95": s, "p99": s}`` in seconds."""
Bound = Literal["compute", "memory-bandwidth", "interconnect", "overhead"]
Evidence = Literal["measured", "calibrated", "modelled"]


class Objective(Noun):
    """What was minimized, and how well the answer is proved."""

    name: Literal["cost", "cost_per_token", "gpus", "power"]
    value: float | None
    lower_bound: float | None
    gap: float | None
    """(value - lower_bound) / value; 0 is a proof."""


class OfferTaken(Noun):
    """The instance that a pool is bought as."""

    provider: str
    region: str
    instance: str
    gpus: int
    usd_per_hour: float


class Memory(Noun):
    """Memory of one GPU in bytes; the parts add up to the capacity."""

    weights: float
    kv_cache: float
    """The pool that the engine keeps for KV blocks."""
    activations: float
    framework: float
    adapters: float
    free: float
    """Kept free by the engine's limit or the memory headroom."""
    capacity: float


class PoolRouting(Noun):
    """The router in front of a pool, and what it is worth."""

    policy: RoutingPolicy
    capacity_rps_alone: float
    """Largest load of a replica that is no part of a pool."""
    capacity_rps_random: float
    """The same in a pool whose requests go to any replica at random."""


class KvCache(Noun):
    """The KV cache of one attention rank, at the planned batch."""

    tokens: int
    request_tokens: int
    """Of the longest planned request."""
    max_concurrency: float
    """Requests of that length that it holds: what engines print at their start."""
    preemptions_per_s: float
    """Requests of one replica that are set back because the cache is full, at most."""
    recomputed_tokens_per_s: float
    """Tokens that are computed again because of that."""
    block_tokens: int = 1
    """Of one block of the cache, the engine's own."""
    block_waste: float = 0.0
    """Share of the blocks of running requests that hold nothing yet: half a block each, on average."""


class Pool(Noun):
    """Equal replicas of one option."""

    id: str
    workload: str
    model: str
    role: Literal["serve", "prefill", "decode"]
    option: str
    """Every choice made, as one unique text."""
    mode: Literal["aggregated", "disaggregated"]
    engine: str
    gpu: str
    offer: OfferTaken | None = None
    gpus_per_replica: int
    replicas: int
    weights: str
    kv: str
    tp: int
    pp: int
    ep: int
    attention_dp: int
    max_batch: int
    batched_tokens: int
    speculation: DraftsTaken | None = None
    """Drafts that the replicas verify; null: one token a step."""
    reuse: PoolReuse | None = None
    """KV that is used again or kept outside the GPU; null where the problem asks for neither."""
    capacity_rps: float
    """Largest load of one replica that keeps every limit, in a pool that carries the busiest hour."""
    routing: PoolRouting | None = None
    """Null where measured workers state what they carry."""
    load_rps: float
    """Planned load of one replica at peak demand."""
    utilization: float
    """load / capacity."""
    concurrency: float | None = None
    """Requests decoding in one replica on average at the planned load."""
    kv_usage: float | None = None
    """Share of the KV cache that these requests take on average."""
    memory_bytes: Memory | None = None
    memory_share: float | None = None
    """Share of device memory that the engine is told to take, or of what loading leaves (an engine fact)."""
    memory_flag: str | None = None
    """The argument that says so."""
    kv_cache: KvCache | None = None
    """What its KV cache holds; null where rates were measured, or no request needs one."""
    ttft_s: Statistic = {}
    itl_s: Statistic = {}
    tpot_s: Statistic = {}
    e2e_s: Statistic = {}
    e2e_is_upper_bound: bool = False
    """True where the percentiles of E2E are sums of percentiles."""
    hand_over_s: Statistic = {}
    """Prefill pools: from the end of prefill to the first token of the decode side, with the slowest pool."""
    link_load: float | None = None
    """Prefill pools: share of the busiest link between both sides that KV caches take."""
    bound: dict[str, Bound] = {}
    cold_start_s: float | None = None
    """From an empty server to the first token."""
    host_memory_bytes: float | None = None
    """Host memory needed while loading, one replica."""
    power_w: float | None = None
    uncertainty: dict[str, float] = {}
    """Log-standard deviation by quantity, at the planned batch."""
    outside_measured: tuple[str, ...] = ()
    """What of it lies outside what was measured, in words; the spread has grown with it."""
    evidence: Evidence = "modelled"
    limited_by: str | None = None
    """Constraint that stops one replica from carrying more."""
    efficiency: Efficiency | None = None
    """At the planned load; null for measured workers."""
    usd_per_hour: float
    """Of a fleet over several hours the mean."""
    site: str | None = None
    """Provider, region and zone, where the supply states them."""
    slice: str | None = None
    """Hardware slice of a GPU that each replica has to itself; None: whole GPUs."""


class Route(Noun):
    """Share of a workload's bucket that goes to a pool."""

    workload: str
    bucket: str
    pool: str
    share: float


class ConstraintState(Noun):
    """One named constraint with its value in this plan."""

    id: str
    value: float | None
    limit: float | None
    unit: str
    slack: float | None
    binding: bool
    text: str = ""


class Change(Noun):
    """One limit moved."""

    id: str
    from_: float | str | None = Field(alias="from", serialization_alias="from")
    to: float | str | None
    unit: str
    path: str | None = None
    """Where the problem states it, in the form of ``--set``."""


class Relaxation(Noun):
    """A set of moved limits and what the plan then costs."""

    changes: tuple[Change, ...]
    cost_usd_per_hour: float | None
    kind: Literal["single", "together", "mixed"] = "single"
    """One limit that suffices alone; limits of which each must change; the smallest mixed change."""
    relative_change: float | None = None
    """Sum of the changes relative to today's values. Turning a yes-or-no limit off counts as one; demand
    counts by how many times larger today's is."""
    gap: float | None = None
    """Of the plan that it allows; 0 is a proof."""


class Price(Noun):
    """What one step of a limit is worth."""

    id: str
    step: str
    """``+10 %``, ``-1 replica``, ``off``."""
    saves_usd_per_hour: float
    """Below zero where the objective is not cost and a better plan costs more."""
    removed_saves_usd_per_hour: float
    """With the limit taken away; demand to a thousandth."""
    saves_objective: float | None = None
    """In the unit of the objective, where that is GPUs or power."""
    removed_saves_objective: float | None = None
    proved: bool = True
    """False: a limit of time ended one of the searches; the savings may be larger."""
    path: str | None = None
    """Where the problem states the limit, in the form of ``--set``."""


class Guardrails(Noun):
    """Limits to configure in front of the fleet so that the plan keeps its promises."""

    max_input_tokens: int
    max_output_tokens: int
    max_queue: int
    """Depth at which a replica's circuit breaker opens."""
    max_batch: int
    max_rps: float
    """Admitted rate over all replicas."""


class SharedGuardrails(Noun):
    """Limits in front of the fleet that hold for all of its workloads; null: they differ by workload."""

    max_input_tokens: int | None
    max_output_tokens: int | None
    max_queue: int | None
    max_batch: int | None
    max_rps: float | None


class RunnerUp(Noun):
    """A plan that lost, and why."""

    option: str
    gpu: str
    replicas: int
    gpus: int
    cost_usd_per_hour: float
    why: str
    error: float | None = None
    """Standard deviation of the logarithm of its cost over that of the plan; null where cost is not minimized
    or nothing is modelled."""
    within_error: bool = False
    """The costs differ by less than that: nobody can tell which is cheaper without a measurement."""


class WhyNot(Noun):
    """A GPU type that no configuration can use within the limits."""

    gpu: str
    why: str
    stopped_by: str = ""
    """Id of the constraint or rule; empty where none is to blame alone."""


class GpuType(Noun):
    """What one accelerator of the catalog would do for the problem: its best fleet, or what stops it."""

    gpu: str
    """As the problem calls it, else the catalog id."""
    status: Literal["chosen", "dearer", "infeasible", "no-price", "excluded"]
    gpus: int | None = None
    """Of the plan where it is chosen, else of the best fleet of this type alone; idle ones included."""
    replicas: int | None = None
    layout: str | None = None
    """One layout a workload and role."""
    cost_usd_per_hour: float | None = None
    bound: Literal["exact", "upper", "lower"] | None = None
    """Of the cost: no fleet of this type is cheaper; a mix of layouts may be cheaper; losses of whole places
    are not in it."""
    stopped_by: str | None = None
    """The constraint that keeps it out, or a replica of it from carrying more."""
    provider: str | None = None
    place: str | None = None
    why: str = ""
    """In words."""


class Removal(Noun):
    """What one named constraint does to the candidates."""

    id: str
    title: str
    alone: int
    """Candidates that only this constraint removes."""
    total: int
    """Candidates that it removes, with others or alone."""
    nearest: str = ""
    """The candidate nearest to keeping it."""
    nearest_value: float | None = None
    limit: float | None = None
    unit: str = ""


class Difference(Noun):
    """One thing that differs between two plans."""

    what: str
    """``status``, ``cost``, ``gpus:GPU``, ``supply:GPU/TERM``, ``mode:WORKLOAD``, ``pool:ID/FIELD``,
    ``latency:ID``, ``binding``, ``conflict``, ``input:PATH``, ``catalog``, …"""
    before: bool | int | float | str | None
    """None where there was nothing of the kind."""
    after: bool | int | float | str | None
    unit: str = ""
    text: str
    """The difference as a sentence."""


class Inputs(Noun):
    """What the plan was made from."""

    problem: dict[str, Any]
    """The resolved problem: a plan can be explained and solved again from it alone."""
    files: dict[str, str] = {}
    """Text of the files that the problem names (tables, traces, configurations), by their name there."""
    catalog: str
    calibration: str


class Simplicity(Noun):
    """How simple the plan is within what `fleet.simplicity` lets it cost more than the optimum."""

    pools: int
    """Options in use at sites, over the day."""
    changes: int
    """Hours in which a workload has other layouts in use than in the hour before; the day is cyclic."""
    places: int
    """Providers and regions of every workload, summed; sites with owned GPUs alone are left out."""
    optimum_usd_per_hour: float
    costs_usd_per_hour: float
    """More than the optimum, on average over the hours."""
    optimum_pools: int
    optimum_changes: int
    proved: bool
    """Nothing simpler is within the tolerance: fewer pools, then fewer changes, then fewer places."""
    text: str = ""


class Provenance(Noun):
    """What made the plan."""

    planner: str
    seed: int
    solver: str
    confidence: float
    candidates: int
    """Configurations x operating points that were evaluated."""
    interrupted: bool = False
    """The user ended the search: the plan is the best that it had found."""
    timing_s: dict[str, float] | None = None
    """Only with --timing."""


def _has_plan(fields: Mapping[str, Any]) -> bool:
    return fields["status"] in ("optimal", "feasible")


class Plan(Noun):
    """The answer to a problem."""

    schema_: Literal["planner/plan/1"] = Field(
        default="planner/plan/1", alias="schema", serialization_alias="schema"
    )
    problem: str
    inputs: Inputs
    status: Literal["optimal", "feasible", "infeasible", "unknown"]
    objective: Objective
    cost_usd_per_hour: float | None
    cost_usd_per_million_output_tokens: float | None
    cost_usd_per_million_tokens: float | None
    safety: tuple[SafetyStep, ...] = ()
    """From the bare need of the chosen layouts to the plan; empty for measured workers and without a plan."""
    cost_error: CostError | None = None
    """Null for measured workers and without a plan."""
    costs: Costs | None = None
    """Where the money goes; null without a plan."""
    prices_used: tuple[PriceUsed, ...] = ()
    """Of every line of the supply that the plan buys from."""
    prices_as_of: str | None = None
    """The day against which prices are old: ``--as-of``, else that of the catalog's newest price list."""
    simplicity: Simplicity | None = None
    """Null where the plan is the optimum itself (`fleet.simplicity: 0 %`)."""
    mean_utilization: float | None
    gpus: dict[str, int] = {}
    """GPUs bought by type, idle ones included."""
    pd_ratio: dict[str, str] | None = None
    pd_steps: tuple[PrefillDecodeStep, ...] = ()
    """What one step of the ratio to either side would cost."""
    mode_choice: tuple[ModeChoice, ...] = ()
    """Aggregated or disaggregated, of each workload that was searched in both ways."""
    pools: tuple[Pool, ...] = ()
    routing: tuple[Route, ...] = ()
    sessions: tuple[SessionsTaken, ...] = ()
    """What follows from demand that is stated as sessions."""
    constraints: tuple[ConstraintState, ...] = ()
    conflicts: tuple[tuple[str, ...], ...] = ()
    conflicts_complete: bool = Field(default_factory=_has_plan)
    """False: there may be more: a limit of time or number ended the search, or nobody looked for them
    (``relax`` does). A plan has none."""
    relaxations: tuple[Relaxation, ...] = ()
    prices: tuple[Price, ...] = ()
    routers: tuple[RouterCost, ...] = ()
    """What the fleet costs behind other routers; ``relax`` asks."""
    guardrails: SharedGuardrails | None = None
    """Those of the workload; of several workloads what is the same for all of them."""
    guardrails_by_workload: dict[str, Guardrails] = {}
    """Of every workload that the fleet serves itself."""
    runners_up: tuple[RunnerUp, ...] = ()
    why_not: tuple[WhyNot, ...] = ()
    gpu_types: tuple[GpuType, ...] = ()
    """Every accelerator of the catalog once; of predicted problems over one period."""
    removed: tuple[Removal, ...] = ()
    """Infeasible: what each named constraint does to the candidates."""
    supply: tuple[SupplyTaken, ...] = ()
    """Of fleets: what is bought, by line and period."""
    periods: tuple[PeriodTaken, ...] = ()
    """Of fleets: every hour."""
    orders: tuple[Order, ...] = ()
    """Of fleets over several hours: when to order more, and when to give back."""
    changes: tuple[ChangeStep, ...] = ()
    """From today's fleet, in an order in which capacity never falls below demand."""
    move: Move | None = None
    """What these changes cost and assume."""
    api: tuple[ApiTaken, ...] = ()
    tiers: tuple[TierTaken, ...] = ()
    engines: tuple[EnginesTried, ...] = ()
    """Where a workload names several engines, every combination, the cheapest first."""
    survives: tuple[Survival, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    """The plan kept as it is when demand, speeds or prices change (only when asked for)."""
    robust: RobustVariant | None = None
    """The cheapest fleet for the worst of the scenarios (only when asked for)."""
    shortage: tuple[Shortage, ...] = ()
    """Infeasible, and priorities are stated: who would be served how far."""
    utilization_trap: UtilizationTrap | None = None
    sizing: tuple[WorkloadSizing, ...] = ()
    """Traffic and memory of each workload before anything is chosen; empty for measured workers."""
    warnings: tuple[str, ...] = ()
    provenance: Provenance

    def guardrails_of(self, workload: str) -> Guardrails | None:
        """The limits to configure for one workload."""
        if self.guardrails_by_workload or self.guardrails is None:
            return self.guardrails_by_workload.get(workload)
        # A plan of an older version, with one workload.
        return Guardrails.model_validate(self.guardrails.model_dump())


class CannotRun(Noun):
    """One reason why a configuration cannot run."""

    id: str
    value: float | str | None
    limit: float | str | None
    unit: str
    text: str = ""


class Estimate(Noun):
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


class Curve(Noun):
    """One configuration over a range of loads."""

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
    slo: dict[str, float] = {}
    """Limits in seconds, by name."""
    largest: CurvePoint | None = None
    """The largest load that keeps every limit; null without limits, or where none does."""
    broken_by: str | None = None
    """The limit that a little more load breaks."""
    gpus: int = 0
    uncertainty: dict[str, float] = {}
    outside_measured: tuple[str, ...] = ()
    """What of it lies outside what was measured, in words; the spread has grown with it."""
    evidence: Evidence = "modelled"
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


class Fit(Noun):
    """The hardware router's answer, cheapest first."""

    model: str
    context_tokens: int
    concurrency: int
    rows: tuple[FitRow, ...]
    refused: dict[str, int] = {}
    """Configurations refused, by constraint."""
