"""What a fleet survives, how to get there from today's fleet, and how it fares when things change."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from planner.schema.base import Noun, refused
from planner.schema.choice import Role
from planner.schema.today import TodayPool

LossKind = Literal["replica", "gpu", "server", "spot", "zone", "region", "provider", "supplier"]
"""``gpu``: one that several replicas share; ``supplier``: the outside supplier that is paid by the token."""


class CarriedAfter(Noun):
    """What is still carried of one workload after a loss."""

    workload: str
    share: float
    """Of the demand with headroom, from 0 to 1."""
    share_without_headroom: float
    may_wait: bool = False
    """The work is deferrable: what is not carried may be done later, within its deadline."""
    supplier_could_help: bool = False
    """An outside supplier could take what is not carried, at its price; it is not counted in the shares."""


class Survival(Noun):
    """One loss at the worst moment, and what the rest carries with traffic re-routed freely."""

    loss: LossKind
    name: str
    """What is lost: ``chat/serve`` (the pool hit hardest), ``dc1/eu/a``, …"""
    period: int
    """The worst period, from 0."""
    lost_gpus: int
    """With idle ones in what is lost."""
    lost_replicas: int
    carried: tuple[CarriedAfter, ...]
    share: float
    """Requests that are carried, over all workloads, of the demand with headroom; from 0 to 1."""
    share_without_headroom: float
    survives: bool
    """Every workload is carried whole in every period, headroom included."""
    is_lower_bound: bool = False
    """True: more may be carried; not every choice of replicas to drop was tried."""


class RatedPool(TodayPool):
    """Equal replicas that run today, with what one of them carries."""

    capacity_rps: Annotated[float, Field(gt=0)] | None = None
    """Largest load of one replica, of requests in their usual mix; None: not known."""
    role: Role | None = None
    """None: it serves whole requests."""


class Today(Noun):
    """The fleet that runs today: its pools, or only its GPUs."""

    pools: tuple[RatedPool, ...] = ()
    gpus: dict[str, Annotated[int, Field(ge=0, le=1_000_000_000, strict=True)]] = {}
    """GPUs by type, idle ones included; empty: those of the pools."""

    @model_validator(mode="after")
    def _holds_its_pools(self) -> Today:
        # GPUs stated as none are a fleet too: of a plan whose requests all go to outside suppliers.
        if not self.pools and "gpus" not in self.model_fields_set:
            raise refused("neither pools nor gpus", "pools, or gpus by type")
        taken: dict[str, int] = {}
        for pool in self.pools:
            taken[pool.gpu] = taken.get(pool.gpu, 0) + pool.gpus
        over = {gpu: count for gpu, count in taken.items() if self.gpus and count > self.gpus.get(gpu, 0)}
        if over:
            gpu, count = next(iter(sorted(over.items())))
            raise refused(f"{self.gpus.get(gpu, 0)} {gpu} for pools that take {count}", f"at least {count}")
        return self

    @property
    def gpu_counts(self) -> dict[str, int]:
        """GPUs by type."""
        counts = dict(self.gpus)
        if not counts:
            for pool in self.pools:
                counts[pool.gpu] = counts.get(pool.gpu, 0) + pool.gpus
        return {gpu: count for gpu, count in sorted(counts.items()) if count}


class ChangeStep(Noun):
    """One step: GPUs of one type added, removed or given other work."""

    step: int
    """From 1."""
    gpu: str
    from_: int = Field(alias="from", serialization_alias="from")
    to: int
    """The same as ``from`` where the GPUs stay and get other work."""
    retasked: int = 0
    """GPUs that get other work in this step; they carry nothing meanwhile."""
    share: float | None = None
    """The least of any workload's demand that is carried during the step and after it; None: not known."""


class Excess(Noun):
    """How far a limit must give for as long as the move takes."""

    id: str
    most: float
    """The limit."""
    needed: float
    """The largest value on the way."""
    unit: str


class Move(Noun):
    """The way from today's fleet to the new one."""

    steps: tuple[ChangeStep, ...]
    period: int | None = None
    """The period in which the steps keep the demand carried; None: any."""
    keeps_demand: bool = True
    """False: capacity falls below the demand on the way."""
    every_order: bool = True
    """Every order of these changes was looked at; False: GPUs were moved in portions, or types together."""
    excess: tuple[Excess, ...] = ()
    """Limits that must give for a while; empty where none must."""
    assumed: str = ""
    """What was taken for granted about today's fleet; empty where nothing was."""
    double_gpu_h: float = 0.0
    """GPU-hours in which an old GPU still runs while its successor is already paid."""
    double_usd: float | None = None
    hours: float = 0.0
    """All lead times and cold starts one after the other."""


class Scenario(Noun):
    """The plan kept as it is, and the best plan, when something changes."""

    name: str
    """``demand +20 %``."""
    demand: float = 1.0
    """Times the demand of the plan."""
    speed: float = 1.0
    """Times the speed of every replica."""
    prices: dict[str, float] = {}
    """By term, times its price."""
    carried_share: float
    """What the fixed fleet carries in its worst period of the workload hit hardest; headroom included."""
    carried_without_headroom: float
    workload: str = ""
    """The workload hit hardest; empty where all is carried."""
    late: tuple[str, ...] = ()
    """Workloads whose first token comes later than its limit, prefill and decode being disaggregated."""
    fixed_usd_per_hour: float
    """Of the fixed fleet, on average over the periods."""
    best_usd_per_hour: float | None
    """Of the fleet planned again; None: no plan was found."""
    status: Literal["optimal", "feasible", "infeasible", "unknown"]
    """Of the fleet planned again; ``unknown`` where that was not asked for too."""


class RobustVariant(Noun):
    """The cheapest fleet for the worst case, priced as things are."""

    demand: float
    speed: float
    status: Literal["optimal", "feasible", "infeasible", "unknown"]
    usd_per_hour: float | None = None
    premium_usd_per_hour: float | None = None
    """More than the plan costs."""
    premium_share: float | None = None
    gpus: dict[str, int] = {}
    """By type, the most of any period."""
