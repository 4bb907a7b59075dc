"""The fleet question and its answer: replicas by period, GPUs by term, what is proved.

Free of physics. Every number that decides is exact (``int`` or ``Fraction``). A period is one hour of a
cyclic day (or week): after the last period comes the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from planner.schema.choice import (
    NO_SPARES,
    Coupling,
    LossShares,
    Objective,
    Option,
    Pool,
    PoolDemand,
    Role,
    ServingMode,
    Share,
    Spares,
    Status,
)
from planner.schema.limit_rows import DayRow, LimitRow
from planner.schema.supply_lines import RENTED
from planner.schema.supply_lines import Host as Host
from planner.schema.supply_lines import Line as Line
from planner.schema.supply_lines import Site as Site
from planner.schema.supply_lines import Term as Term


@dataclass(frozen=True)
class Deferrable:
    """Work that may wait. In period t it is done at ``level[t]`` times the demand's rates; levels are chosen.

    ``arrivals[s]`` arrives in period s, in the same unit (level x period), and must be done in the periods
    s, s+1 … s+deadline-1 (cyclic). So levels are possible when a flow x[s,t] >= 0 within these windows has
    sum_t x[s,t] = arrivals[s] and sum_s x[s,t] = level[t].
    """

    arrivals: tuple[Fraction, ...]
    deadline: int
    """Periods, at least 1, at most all."""


@dataclass(frozen=True)
class FleetDemand:
    """What the replicas of one workload and role must carry in every period."""

    workload: str
    role: Role
    demand_rps: tuple[tuple[Fraction, ...], ...]
    """[period][bucket], headroom included; of deferrable work the rates at level 1."""
    buckets: tuple[str, ...] = ("all",)
    max_utilization: Fraction = Fraction(1)
    min_replicas: int = 1
    """In every period, all options and sites counted; never fewer than spares of kind ``replicas``."""
    spares: Spares = NO_SPARES
    """``zones``, ``providers``: any n of them may be lost, with every replica that stands there."""
    mix: bool = True
    """False: one option, the same in all periods; its workload is served in one mode all day."""
    sites: tuple[Site, ...] | None = None
    """Residency: sites that may be used; None: all."""
    deferrable: Deferrable | None = None

    @property
    def pool(self) -> tuple[str, str]:
        """Workload and role."""
        return (self.workload, self.role)

    @property
    def mode(self) -> ServingMode:
        """The serving mode that this demand belongs to."""
        return "aggregated" if self.role == "serve" else "disaggregated"

    def in_period(self, period: int) -> PoolDemand:
        """The demand of one period (at level 1); that ``mix`` ties it to the others is not in it."""
        return PoolDemand(
            self.workload,
            self.role,
            self.demand_rps[period],
            self.buckets,
            self.max_utilization,
            self.min_replicas,
            self.spares,
            self.mix,
        )


@dataclass(frozen=True)
class Api:
    """An outside supplier that is paid by the token; it may take any share of any bucket.

    A workload with one needs its ``min_replicas`` and spares only in periods in which it has replicas at all.
    """

    id: str
    workload: str
    usd_per_h: tuple[tuple[Fraction, ...], ...]
    """[period][bucket]: price of carrying the whole bucket. Paid by what really comes, without headroom."""
    entry: str = ""
    """What the supplier sells, where its prices come from a price list."""


@dataclass(frozen=True)
class StartCharge:
    """Money for every GPU that these lines together have more than in the period before (cyclic)."""

    lines: tuple[str, ...]
    usd_per_gpu: Fraction


@dataclass(frozen=True)
class Changes:
    """GPUs added or removed against today, summed over types, in every period at most ``most``."""

    today_gpus: dict[str, int]
    """By GPU type; absent = none."""
    most: int


@dataclass(frozen=True)
class FleetLimits:
    """What may be bought at most, and what is minimized (summed over the periods)."""

    rows: tuple[LimitRow, ...] = ()
    """Those that the problem states; what lines of the supply bring with them, `Line` says."""
    changes: Changes | None = None
    objective: Objective = "cost"
    must_use: tuple[str, ...] = ()
    """GPU types of which at least one replica is in use in some period."""
    day: tuple[DayRow, ...] = ()
    """Limits on the layouts of the whole day."""


@dataclass(frozen=True)
class FleetProblem:
    """Everything the fleet solver reads.

    In each period, with N replicas by option and site, G GPUs bought by line and y shares by bucket and
    option (or API):

        cover     sum of y = 1 for every bucket with demand (= level for deferrable work)
        capacity  sum_b y demand / rate <= max_utilization N          (N over all sites)
        balance   sum room_gpus N <= sum (1 - reserve) G               for every host and site
        starts    usd max(0, N - N of the period before), USD of `start_usd`, for every option and site
        packing   the replicas of a host and site fit into its servers, none across two unless it is larger
        bought    unit_gpus | G;  G <= max_gpus;  reserved: the same G in all periods

    A workload with prefill and decode at several ``places`` decodes at each what it prefills there:

        match     sum of y over prefill options of a place = the same over its decode options, per bucket

    also after every loss that spares must survive; and only pairs of one place have to fit each other.
    Limits on the layouts of the day (`DayRow`) tie the periods of a workload to one another.

    Besides that spares, limits, couplings and ways (as in `ChoiceProblem`, in each period on its own), and
    the layouts that ``mix: false`` holds over all periods.
    """

    periods: int
    options: tuple[Option, ...]
    """``supply`` is the id of a host; ``usd_per_h`` is not read."""
    hosts: tuple[Host, ...]
    lines: tuple[Line, ...]
    demands: tuple[FleetDemand, ...]
    limits: FleetLimits = FleetLimits()
    couplings: tuple[Coupling, ...] = ()
    apis: tuple[Api, ...] = ()
    starts: tuple[StartCharge, ...] = ()
    places: dict[str, tuple[Site, ...]] = field(default_factory=dict)
    """Sites by `Option.place`; an option without a place may stand at any."""

    @cached_property
    def options_by_id(self) -> dict[str, Option]:
        """The options, by their ids."""
        return {option.id: option for option in self.options}

    @cached_property
    def _sold(self) -> dict[str, set[Site]]:
        """Sites by host."""
        found: dict[str, set[Site]] = {host.id: set() for host in self.hosts}
        for line in self.lines:
            found[line.host].add(line.site)
        return found

    @cached_property
    def _sites(self) -> dict[tuple[str, Pool, str], tuple[Site, ...]]:
        """What `sites_of` has found, by host, pool and place."""
        return {}

    @cached_property
    def _residency(self) -> dict[Pool, set[Site] | None]:
        return {d.pool: None if d.sites is None else set(d.sites) for d in self.demands}

    def one_layout(self, workload: str) -> bool:
        """Several periods, and one serving mode for all of them, with pools that do not change options."""
        return self.periods > 1 and any(not d.mix for d in self.demands if d.workload == workload)

    @cached_property
    def _rents(self) -> dict[tuple[str, Site], Fraction]:
        """USD of an hour of a GPU by host and site at which every GPU is rented; the cheapest line's."""
        lines: dict[tuple[str, Site], list[Line]] = {}
        for line in self.lines:
            lines.setdefault((line.host, line.site), []).append(line)
        return {
            stand: min(line.usd_per_gpu_h for line in mine)
            for stand, mine in lines.items()
            if all(line.term in RENTED for line in mine)
        }

    @cached_property
    def _rooms(self) -> dict[str, Host]:
        return {host.id: host for host in self.hosts}

    def start_usd(self, option: Option, site: Site) -> Fraction:
        """What a replica costs each time it starts: (start + drain) x its GPUs x the price of its line.

        Zero in a problem of one period, and where GPUs stand that are paid anyway.
        """
        key = (option.id, site)
        if key not in self._start_usd:
            self._start_usd[key] = self._paid_start_usd(option, site)
        return self._start_usd[key]

    @cached_property
    def _start_usd(self) -> dict[tuple[str, Site], Fraction]:
        """What `start_usd` has found, by option id and site."""
        return {}

    def _paid_start_usd(self, option: Option, site: Site) -> Fraction:
        hours = option.start_h + option.drain_h
        if not hours or self.periods == 1:
            return Fraction(0)
        price = self._rents.get((option.supply, site), Fraction(0))
        return hours * self._rooms[option.supply].room_gpus(option) * price if price else Fraction(0)

    @cached_property
    def pays_starts(self) -> frozenset[str]:
        """Workloads with replicas whose start is paid."""
        if self.periods == 1:
            return frozenset()
        return frozenset(
            option.workload
            for option in self.options
            if any(self.start_usd(option, site) for site in self.sites_of(option))
        )

    def day_rows(self, workload: str) -> tuple[DayRow, ...]:
        """The limits that a workload's layouts of the whole day must keep."""
        return tuple(row for row in self.limits.day if row.of(workload))

    def sites_of(self, option: Option) -> tuple[Site, ...]:
        """Sites with GPUs of the option's host that its place and residency allow, in a fixed order."""
        key = (option.supply, option.pool, option.place)
        if key not in self._sites:
            found, allowed = self._sold[option.supply], self._residency[option.pool]
            if option.place:
                found = found & set(self.places[option.place])
            self._sites[key] = tuple(sorted(found if allowed is None else found & allowed))
        return self._sites[key]


Placement = tuple[str, Site]
"""Option id and site."""


@dataclass(frozen=True)
class PeriodChoice:
    """What is bought and used in one period."""

    counts: dict[Placement, int] = field(default_factory=dict)
    """Replicas; absent = none."""
    bought: dict[str, int] = field(default_factory=dict)
    """GPUs by line id; absent = none."""
    shares: tuple[Share, ...] = ()
    """``option`` is an option's or an API's id. Of deferrable work the shares sum to 1 too (of what is done
    in this period)."""
    loss_shares: tuple[LossShares, ...] = ()
    levels: dict[str, Fraction] = field(default_factory=dict)
    """By workload, of deferrable work."""

    def replicas(self) -> Iterator[tuple[str, int]]:
        """Option ids with their replicas over all sites."""
        total: dict[str, int] = {}
        for (option, _), count in sorted(self.counts.items()):
            total[option] = total.get(option, 0) + count
        yield from total.items()


@dataclass(frozen=True)
class Progress:
    """What was known at a moment of the search."""

    seconds: float
    value: float | None
    lower_bound: float | None


@dataclass(frozen=True)
class FleetChoice:
    """What was chosen, and how far that is proved."""

    status: Status
    periods: tuple[PeriodChoice, ...] = ()
    cost_usd: Fraction = Fraction(0)
    """Sum over the periods: GPUs, start charges and API."""
    value: Fraction | None = None
    """Objective, summed over the periods."""
    lower_bound: Fraction | None = None
    """Proved, valid whenever the search was stopped."""
    gap: Fraction | None = None
    mixed_value: Fraction | None = None
    """Of the best plan whose workloads stand at several places, where they may not and it is better; of a
    day, no more than that."""
    least_by_place: Mapping[tuple[str, str], Fraction] = field(default_factory=dict)
    """What a plan of a day costs at least with a workload at a place, where it stands at one."""
    in_the_way: tuple[str, ...] = ()
    """For ``infeasible``: ids of limits that stand in the way."""
    engine: str = ""
    """What answered: ``CP-SAT`` or ``HiGHS``."""
    trace: tuple[Progress, ...] = ()
    interrupted: bool = False
    """The user ended the search."""
    timed: bool = False
    """The user's time limit ended the search: another run may give another plan."""
    trouble: tuple[str, ...] = ()
    """What went wrong with processes of a search that did not end in a proof, in words."""
