"""The solver's question and answer: replicas to choose from, what must be carried, what was chosen.

Free of physics. Every number that decides is exact (``int`` or ``Fraction``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

Role = Literal["serve", "prefill", "decode"]
ServingMode = Literal["aggregated", "disaggregated"]
"""How a workload is served: by ``serve`` replicas, or by ``prefill`` and ``decode`` replicas."""
Purchase = Literal["gpu", "unit", "option"]
Objective = Literal["cost", "gpus", "power"]
Status = Literal["optimal", "feasible", "infeasible", "unknown"]
Pool = tuple[str, str]
"""Workload and role: the replicas that share one demand."""


def in_place(option: str, place: str) -> str:
    """Id of an option that stands at one place; without a place it is the option's own."""
    return f"{option} in {place}" if place else option


@dataclass(frozen=True)
class Option:
    """One kind of replica that may be bought for one workload and role."""

    id: str
    workload: str
    role: Role
    supply: str
    """Id of the `Supply` that it is bought from."""
    gpu: str
    gpus: int
    """GPUs of one replica."""
    rates_rps: tuple[Fraction, ...]
    """Largest rate of one replica alone on each bucket, before max_utilization; 0 = cannot serve it."""
    usd_per_h: Fraction = Fraction(0)
    """Price of one replica; read only where the supply's purchase is ``option``."""
    power_w: Fraction = Fraction(0)
    """Rated power of one replica; read only where power is limited or minimized."""
    units_per_replica: int | None = None
    """Whole servers that one replica takes; None: packed into servers when it fits, else rounded up."""
    ttft_s: Fraction | None = None
    """Time to first token up to the KV transfer; prefill options of a `Coupling`."""
    transfer_s: Fraction | None = None
    """Transfer of the KV cache; options of a `Coupling`."""
    kv: str | None = None
    """KV format; prefill and decode options in use must agree where both state it."""
    replicas_from: int = 1
    """Fewest replicas of the pool, all options counted, with which the rates hold."""
    replicas_to: int | None = None
    """Most replicas of the pool with which the rates hold; None: any number."""
    slices: int = 1
    """Replicas that share one GPU, each on a slice of its own (fleets only)."""
    place: str = ""
    """Prefill and decode replicas work together where their places are the same (fleets only)."""
    start_h: Fraction = Fraction(0)
    """Hours from an empty server to the first request, which a replica on rented GPUs is paid for when it
    starts (fleets over several periods only); zero: not counted."""
    drain_h: Fraction = Fraction(0)
    """Hours in which the last requests of a replica end, paid in the same way."""
    slack: float = 0.0
    """Room to the latency limits; the larger one stays when two options are otherwise the same."""
    label: str = ""

    @property
    def pool(self) -> Pool:
        """Workload and role."""
        return (self.workload, self.role)

    @property
    def anywhere(self) -> str:
        """Id of the configuration, whatever the place."""
        return self.id.removesuffix(in_place("", self.place))

    @property
    def counted(self) -> bool:
        """The rates hold only for some numbers of replicas of the pool."""
        return self.replicas_from > 1 or self.replicas_to is not None

    def but(self, **fields: object) -> Option:
        """A copy with other fields, like `dataclasses.replace` in a quarter of its time: there are thousands.

        Raises:
            TypeError: a field that there is not.
        """
        if not fields.keys() <= vars(self).keys():
            raise TypeError(f"an option has no field {sorted(fields.keys() - vars(self).keys())}")
        copy: Option = object.__new__(Option)
        vars(copy).update(vars(self), **fields)
        return copy

    def holds_for(self, replicas: int) -> bool:
        """The rates hold when the pool has so many replicas."""
        return self.replicas_from <= replicas and (self.replicas_to is None or replicas <= self.replicas_to)


@dataclass(frozen=True)
class Supply:
    """Where replicas are bought: single GPUs, whole servers (units), or whole options at their own price."""

    id: str
    gpu: str
    purchase: Purchase
    unit_gpus: int = 1
    """GPUs of one server or instance; only for purchase ``unit``."""
    usd_per_unit_h: Fraction = Fraction(0)
    """Price of a server (``unit``) or of a GPU (``gpu``)."""


@dataclass(frozen=True)
class Spares:
    """What may be lost while the rest still carries the demand."""

    kind: Literal["replicas", "per_option", "servers", "zones", "providers"] = "replicas"
    count: int = 0


NO_SPARES = Spares()


@dataclass(frozen=True)
class PoolDemand:
    """What the replicas of one workload and role must carry."""

    workload: str
    role: Role
    demand_rps: tuple[Fraction, ...]
    """Per bucket, headroom included."""
    buckets: tuple[str, ...] = ("all",)
    max_utilization: Fraction = Fraction(1)
    min_replicas: int = 1
    spares: Spares = Spares()
    mix: bool = True
    """False: one option only."""

    @property
    def pool(self) -> Pool:
        """Workload and role."""
        return (self.workload, self.role)

    @property
    def mode(self) -> ServingMode:
        """The serving mode that this demand belongs to."""
        return "aggregated" if self.role == "serve" else "disaggregated"


@dataclass(frozen=True)
class Coupling:
    """Prefill and decode options in use of one workload must fit each other, pair by pair.

    TTFT of a pair = ``ttft_s`` of the prefill option + the larger ``transfer_s`` of the two.
    """

    workload: str
    ttft_limit_s: Fraction | None = None


@dataclass(frozen=True)
class Limits:
    """What may be bought at most, and what is minimized."""

    stock_gpus: dict[str, int] = field(default_factory=dict)
    """GPUs by type, idle ones in bought servers included."""
    budget_usd_per_h: Fraction | None = None
    max_gpus: int | None = None
    objective: Objective = "cost"
    power_w: Fraction | None = None
    """Power of all replicas."""
    must_use: tuple[str, ...] = ()
    """GPU types of which at least one replica is in use."""


@dataclass(frozen=True)
class ChoiceProblem:
    """Everything the solver reads.

    A workload that states demands for ``serve`` and for ``prefill`` and ``decode`` is served in exactly one
    of the two modes; the demands of the other mode carry nothing.
    """

    options: tuple[Option, ...]
    supplies: tuple[Supply, ...]
    demands: tuple[PoolDemand, ...]
    limits: Limits = Limits()
    couplings: tuple[Coupling, ...] = ()


@dataclass(frozen=True)
class Share:
    """The part of one bucket's requests that one option serves."""

    workload: str
    role: Role
    bucket: str
    option: str
    share: Fraction


@dataclass(frozen=True)
class LossShares:
    """The shares after a loss: evidence that the rest carries the demand of a pool with several buckets."""

    workload: str
    role: Role
    lost: tuple[tuple[str, int], ...]
    shares: tuple[Share, ...]


@dataclass(frozen=True)
class Choice:
    """What was chosen, and how far that is proved."""

    status: Status
    counts: dict[str, int] = field(default_factory=dict)
    """Replicas by option id; absent = none."""
    units: dict[str, int] = field(default_factory=dict)
    """Units bought by supply id: servers (``unit``), GPUs (``gpu``) or replicas (``option``)."""
    shares: tuple[Share, ...] = ()
    loss_shares: tuple[LossShares, ...] = ()
    gpus: dict[str, int] = field(default_factory=dict)
    """GPUs bought by type, idle ones included."""
    cost_usd_per_h: Fraction = Fraction(0)
    power_w: Fraction = Fraction(0)
    value: Fraction | None = None
    """Objective value."""
    lower_bound: Fraction | None = None
    """Proved; None where nothing was minimized."""
    gap: Fraction | None = None
    """(value - lower bound) / value."""
    in_the_way: tuple[str, ...] = ()
    """For ``infeasible``: ids of limits that stand in the way."""
    exact: bool = True
    """False: some row was too wide for the solver's integers and was rounded to the safe side, or the engine
    counts in floats."""
    ties_settled: bool = True
    """False: the search among plans of equal value was not asked for, or a limit ended it."""
    modes: dict[str, ServingMode] = field(default_factory=dict)
    """The serving mode by workload."""
    taken: dict[str, Fraction] | None = None
    """What it takes of limits, by id, where that is more than counts tell (a fleet over several periods): it
    stays feasible when all of them shrink to that. None: as GPUs and cost tell."""


@dataclass(frozen=True)
class Choices:
    """Several choices for one problem, in a stated order."""

    choices: tuple[Choice, ...]
    exhausted: bool
    """Proved: there are no others."""
