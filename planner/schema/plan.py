"""The plan document (``planner/plan/1``): what the commands answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from planner.schema.answer import Answer
from planner.schema.base import Noun
from planner.schema.capacity import Capacity
from planner.schema.checkpoint_taken import CheckpointTaken
from planner.schema.compared import FormatTried, GpuType, RunnerUp, WhyNot
from planner.schema.demand_taken import DemandTaken
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
from planner.schema.limits_told import ConstraintState, Price, Relaxation, Removal
from planner.schema.mode_choice import ModeChoice, PrefillDecodeStep
from planner.schema.pool import Pool
from planner.schema.replay import Proof
from planner.schema.reuse_state import SessionsTaken
from planner.schema.routing import RouterCost
from planner.schema.safety import CostError, LimitMargin, SafetyStep
from planner.schema.sizing import WorkloadSizing
from planner.schema.traces import TraceTaken


class Objective(Noun):
    """What was minimized, and how well the answer is proved."""

    name: Literal["cost", "cost_per_token", "gpus", "power", "throughput"]
    """``throughput`` is maximized, within `Capacity.tolerance`."""
    value: float | None
    lower_bound: float | None
    """No plan is below; of throughput: so much is carried."""
    gap: float | None
    """(value - lower_bound) / value; of throughput what may be missing over what may be carried. 0 is a
    proof."""


class Route(Noun):
    """Share of a workload's bucket that goes to a pool."""

    workload: str
    bucket: str
    pool: str
    share: float


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


class Difference(Noun):
    """One thing that differs between two plans."""

    what: str
    """``status``, ``cost``, ``gpus:GPU``, ``supply:GPU/TERM``, ``mode:WORKLOAD``, ``pool:ID/FIELD``,
    ``latency:ID``, ``binding``, ``conflict``, ``input:PATH``, ``price:MACHINE``, ``catalog``, …"""
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
    revisions: dict[str, str] = {}
    """Commits of the models that were read from the Hugging Face hub, by their name in the problem."""
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
    pools_at_least: int = 0
    """No plan within the tolerance has fewer pools."""
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


class Plan(Answer):
    """The answer to a problem."""

    ROWS: ClassVar[str] = "pools"

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
    margins: tuple[LimitMargin, ...] = ()
    """What the confidence asks of every latency limit; empty for measured workers and without a plan."""
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
    capacity: Capacity | None = None
    """Of the largest load that a fleet carries (objective ``throughput``): the plan is at that load."""
    mean_utilization: float | None
    gpus: dict[str, int] = {}
    """GPUs bought by type, idle ones included."""
    pd_ratio: dict[str, str] | None = None
    pd_steps: tuple[PrefillDecodeStep, ...] = ()
    """What one step of the ratio to either side would cost."""
    mode_choice: tuple[ModeChoice, ...] = ()
    """Aggregated or disaggregated, of each workload that was searched in both modes."""
    pools: tuple[Pool, ...] = ()
    routing: tuple[Route, ...] = ()
    traces: tuple[TraceTaken, ...] = ()
    """What the traces became that the problem names."""
    sessions: tuple[SessionsTaken, ...] = ()
    """What follows from demand that is stated as sessions."""
    constraints: tuple[ConstraintState, ...] = ()
    conflicts: tuple[tuple[str, ...], ...] = ()
    conflicts_complete: bool = Field(default_factory=_has_plan)
    """False: there may be more: a limit of time or number ended the search, or nobody looked for them
    (``relax`` does). A plan has none."""
    conflict_context: tuple[tuple[str, ...], ...] = ()
    """Beside each conflict the given facts (demand, what is owned, what the market has, headroom, spares)
    without which it would not be one."""
    relaxations: tuple[Relaxation, ...] = ()
    """Single limits first, then several together; of these the smallest change first."""
    prices: tuple[Price, ...] = ()
    routers: tuple[RouterCost, ...] = ()
    """What the fleet costs behind other routers; ``relax`` asks."""
    demand: tuple[DemandTaken, ...] = ()
    """Rates that follow from demand in other words: people, requests in flight, amounts of a day."""
    checkpoints: tuple[CheckpointTaken, ...] = ()
    """Weights to load, by workload and format."""
    guardrails: SharedGuardrails | None = None
    """Those of the workload; of several workloads what is the same for all of them."""
    guardrails_by_workload: dict[str, Guardrails] = {}
    """Of every workload that the fleet serves itself."""
    runners_up: tuple[RunnerUp, ...] = ()
    why_not: tuple[WhyNot, ...] = ()
    gpu_types: tuple[GpuType, ...] = ()
    """Every accelerator of the catalog once; of predicted problems over one period."""
    formats: tuple[FormatTried, ...] = ()
    """Only with --details, of predicted problems over one period: every pair of formats of every workload."""
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
    proof: Proof | None = None
    """Of `planner plan --prove`: replays of the plan; null where none was asked for."""
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
