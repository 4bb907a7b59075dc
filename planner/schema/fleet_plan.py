"""Parts of a plan that only fleets have: purchases and replicas by period, suppliers, tiers, shortages."""

from __future__ import annotations

from planner.schema.base import Noun

PLACE_NOT_STATED = "(not stated)"
"""In the place of a name, in `Costs.by_place`: money for hardware whose place nobody states."""


class SupplyTaken(Noun):
    """GPUs bought from one line of the supply in one period."""

    line: str
    """``GPU/TERM``, as in the constraint ``supply:GPU/TERM``."""
    gpu: str
    term: str
    provider: str | None = None
    region: str | None = None
    zone: str | None = None
    period: int
    """From 0."""
    gpus: int
    """Bought, idle ones included."""
    usd: float
    """For the period."""


class PeriodRoute(Noun):
    """Share of a bucket's requests of one period that goes to a pool or an outside supplier."""

    workload: str
    bucket: str
    pool: str
    share: float


class StartTaken(Noun):
    """What starts before a period, and what that costs."""

    what: str
    """Id of the pool whose replicas start; where `fleet.start_cost` is stated the lines whose GPUs do."""
    count: int
    """Replicas, or GPUs."""
    lead_s: float = 0.0
    """So long before the period they begin to start."""
    usd: float


class PeriodTaken(Noun):
    """One hour of the plan."""

    period: int
    """From 0."""
    replicas: dict[str, int]
    """By pool id; pools without replicas in this period are absent."""
    gpus: dict[str, int]
    """Bought by type."""
    usd: float
    """GPUs, starts and outside suppliers."""
    start_usd: float = 0.0
    """Of it, for replicas or GPUs that were not there the period before."""
    starts: tuple[StartTaken, ...] = ()
    """Those that are paid, which sum to that."""
    api_usd: float = 0.0
    """Of it, for outside suppliers."""
    routing: tuple[PeriodRoute, ...] = ()
    work: dict[str, float] = {}
    """Requests/s of work that may wait, by workload, done in this period."""
    utilization: float | None = None
    """Load over capacity of the replicas, weighted by GPUs."""


class Order(Noun):
    """GPUs to order or give back, so that they are there in time."""

    period: int
    """In which they change, from 0."""
    line: str
    gpus: int
    """More (or, below zero, fewer) than in the period before."""
    lead_s: float
    """So long before the period the order has to be out."""


class ApiTaken(Noun):
    """What an outside supplier carries of a workload, and when owning pays instead."""

    id: str
    workload: str
    share: float
    """Of the workload's requests."""
    usd_per_hour: float
    break_even_factor: float | None = None
    """Times today's volume at which own GPUs cost as much as this supplier; None: not found."""
    text: str = ""
    entry: str = ""
    """What it sells and for how much, where the problem names a supplier of the price lists."""


class TierStage(Noun):
    """One stage of a tier as it was sized."""

    workload: str
    share: float
    """Of the tier's requests that run here; over all stages more than 1 where some run twice."""


class TierTaken(Noun):
    """The setting of a tier that was taken, and what the others cost."""

    name: str
    kind: str
    setting: str
    stages: tuple[TierStage, ...]
    costs_usd_per_hour: dict[str, float | None] = {}
    """By setting; None: no plan."""
    advice: tuple[str, ...] = ()


class EnginesTried(Noun):
    """One combination of the engines that the problem names, and what its best fleet costs."""

    engines: dict[str, str]
    """By workload that names several."""
    status: str
    cost_usd_per_hour: float | None
    """None: no plan."""
    taken: bool


class Shortage(Noun):
    """What can be served when not all can be: workloads in order of priority."""

    workload: str
    priority: int
    share: float
    """Of its demand, headroom included, that the best plan serves after those before it."""


class UtilizationTrap(Noun):
    """What an hour of capacity costs against an hour of use."""

    mean_utilization: float
    peak_utilization: float
    usd_per_million_output_tokens_at_peak: float | None
    """If the fleet were as busy in every hour as in its busiest."""
    usd_per_million_output_tokens: float | None
    flat_usd_per_hour: float | None = None
    """Cost of the busiest hour's fleet kept up all day."""
    text: str = ""


class Costs(Noun):
    """The money of a plan, divided in four ways; each way sums to the whole."""

    by_workload: dict[str, float] = {}
    """USD an hour on average; ``(idle)``: GPUs bought where no replica ever runs."""
    by_place: dict[str, float] = {}
    """USD an hour on average, by provider, region and zone; ``(not stated)``, ``(outside suppliers)``."""
    by_term: dict[str, float] = {}
    """USD an hour on average: owned, reserved, on_demand, spot, start (of GPUs), api."""
    by_hour: tuple[float, ...] = ()
    """USD of every hour; their mean is the cost per hour."""
    usd_per_million_output_tokens_at_peak: float | None = None
    """If every hour were as busy as the peak of each workload; null over several hours (`UtilizationTrap`
    tells it there), with outside suppliers and where nobody states lengths."""
    usd_per_million_tokens_at_peak: float | None = None
    """The same, tokens read and written."""
    mean_is_peak: tuple[str, ...] = ()
    """Workloads that state a peak and no mean: the peak was taken for the mean, all day."""


class PriceUsed(Noun):
    """A price that the plan pays, and who says so."""

    line: str
    """Of the supply, as in `SupplyTaken`."""
    gpu: str
    term: str
    usd_per_gpu_hour: float
    provider: str | None
    date: str | None
    """When it held: ``2026-01-21``, ``2026-01`` or ``2026``; where the source is not dated, when it was read.
    Null: the user's own price."""
    dated: bool
    """False: the date is that of reading, the source has none."""
    age_days: int | None = None
    """At least so old on the day that plans are made for (`Plan.prices_as_of`); null without a date."""
    source: str
