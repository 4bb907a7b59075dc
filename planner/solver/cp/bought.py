"""What the replicas of all periods buy: GPUs by line and period, and where the replicas stand."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property

from planner.schema.choice import Objective, Option
from planner.schema.fleet import Host, Line, Site
from planner.schema.limit_rows import LimitRow, LineWeight, ReplicaWeight, Watts
from planner.solver.bounds import Caps
from planner.solver.cp.amounts import Amount, summed
from planner.solver.cp.canonical import charged
from planner.solver.cp.integers import common_integers
from planner.solver.cp.packing import post_packing
from planner.solver.cp.periods import Periods, at
from planner.solver.cp_sat import Expr, cp_model, total, weighted

MOST_UNITS = 10**9
"""Replicas of one option, or servers, at most where nothing else bounds them: far more than a problem that is
not refused as too large needs of its fastest option."""

Class = tuple[str, int, tuple[Site, ...], tuple[tuple[Fraction, ...], ...], str]
"""Host, parts of a GPU that one replica takes, the sites where it may stand, what it counts at each for
limits that tell sites apart, and the option itself where its starts are paid."""


class FleetPurchases:
    """GPUs by line and period, placements, and the quantities that limits and objectives are about."""

    def __init__(
        self,
        cp: cp_model.CpModel,
        periods: Periods,
        counts: Mapping[str, cp_model.IntVar],
        upper: Mapping[str, int],
    ) -> None:
        """Post the rows that tie GPUs to replicas, and those that tie lines to one another."""
        self.cp, self.periods, self.fleet = cp, periods, periods.fleet
        self.counts, self.upper = counts, upper
        self.span = range(periods.days.count)
        self.most = self._most()
        self.bought: dict[tuple[str, int], Expr] = {}
        """Units (of ``unit_gpus``) by line and place of the period."""
        for line in self.fleet.lines:
            self._post_line(line)
        self.placed: dict[tuple[Class, Site, int], Expr] = {}
        self._first: dict[Class, str] = {}
        """One option of every class."""
        self._replicas: dict[tuple[Class, int], int] = {}
        """Of every class in a period, at most."""
        for host in self.fleet.hosts:
            alike = classes(periods, host.id)
            for t in self.span:
                self._post_room(host, alike, t)
        self.units = {at(line, t): units for (line, t), units in self.bought.items()}
        self.units |= {place_name(*place): replicas for place, replicas in self.placed.items()}

    # -- lines ------------------------------------------------------------------------------------------

    def _post_line(self, line: Line) -> None:
        if line.term == "reserved":
            held = self.cp.new_int_var(0, self.most[line.id], f"buy[{line.id}]")
            self.bought |= {(line.id, t): held for t in self.span}
            return
        for t in self.span:
            self.bought[line.id, t] = self.cp.new_int_var(0, self.most[line.id], f"buy[{line.id}@{t}]")

    def _most(self) -> dict[str, int]:
        """Units by line that a best plan buys at most.

        GPUs beyond what replicas could take are bought for three reasons only: others may be had in a
        certain share of them, today's GPUs may be kept, and kept GPUs spare the start charge of others.
        """
        lines = self.fleet.lines
        alike: dict[str, list[Line]] = defaultdict(list)
        for line in lines:
            alike[line.gpu].append(line)
        most = {gpu: self._most_gpus(gpu, mine) for gpu, mine in alike.items()}
        types = {line.id: line.gpu for line in lines}
        beside: dict[str, set[str]] = {line.id: {line.gpu} for line in lines}
        for start in self.fleet.starts:
            gpus = {types[name] for name in start.lines if name in types}
            for name in start.lines:
                if name in beside:
                    beside[name] |= gpus
        caps = Caps(self.fleet).lines
        found = {}
        for line in lines:
            whole = max(sum(self._taken[gpu][t] for gpu in beside[line.id]) for t in self.span)
            cap = caps[line.id]
            least = min(most[line.gpu](whole), MOST_UNITS, *([] if cap is None else [math.floor(cap)]))
            found[line.id] = max(0, least) // line.unit_gpus
        return found

    def _most_gpus(self, gpu: str, alike: Sequence[Line]) -> Callable[[int], int]:
        """GPUs of one type at most, by what replicas could take."""
        changes = self.fleet.limits.changes
        reserve = max((line.reserve for line in alike if line.reserve < 1), default=Fraction(0))
        share = min((line.max_share for line in alike if line.max_share), default=Fraction(1))
        units = sum(line.unit_gpus for line in alike)
        today = 0 if changes is None else changes.today_gpus.get(gpu, 0)
        return lambda whole: math.ceil((whole / (1 - reserve) + units) / share) + units + today

    @cached_property
    def _taken(self) -> dict[str, list[int]]:
        """GPUs by type that all replicas together could take, in each period."""
        taken = {line.gpu: [0] * len(self.span) for line in self.fleet.lines}
        for option in self.periods.options:
            for t in self.span if option.gpu in taken else ():
                room = self.periods.rooms[option.id] * self.upper.get(at(option.id, t), 0)
                taken[option.gpu][t] += math.ceil(room)
        return taken

    def terms(self, row: LimitRow, t: int) -> list[tuple[Expr, Fraction, int]]:
        """Expression, weight and upper bound of everything that counts for a limit in one period."""
        found = [] if not row.money else self.cost_terms(t)
        if row.gpus is not None:
            found += self.gpu_terms(row.gpus, t)
        if row.replicas is not None:
            found += self.replica_terms(row.replicas, t)
        return found

    def gpu_terms(self, weight: LineWeight, t: int) -> list[tuple[Expr, Fraction, int]]:
        """Expression, weight and upper bound of every line that counts in one period."""
        weights = ((line, Fraction(weight(line)) * line.unit_gpus) for line in self.fleet.lines)
        return [(self.bought[line.id, t], each, self.most[line.id]) for line, each in weights if each]

    def gpus_in(self, t: int, lines: Sequence[Line]) -> Expr:
        """GPUs of some lines in one period."""
        return weighted((self.bought[line.id, t], line.unit_gpus) for line in lines)

    # -- hosts ------------------------------------------------------------------------------------------

    def _post_room(self, host: Host, alike: Mapping[Class, Sequence[Option]], t: int) -> None:
        """Replicas of each class at every site, and room for them in the GPUs bought there."""
        at_site: dict[Site, list[Line]] = defaultdict(list)
        for line in self.fleet.lines:
            if line.host == host.id:
                at_site[line.site].append(line)
        standing: dict[Site, list[tuple[Expr, int]]] = defaultdict(list)
        for kind, options in alike.items():
            names = [at(option.id, t) for option in options if at(option.id, t) in self.counts]
            replicas = total(self.counts[name] for name in names)
            most = sum(self.upper[name] for name in names)
            sites = kind[2]
            self._first[kind], self._replicas[kind, t] = options[0].id, most
            for site in sites:
                here = replicas if len(sites) == 1 else self.cp.new_int_var(0, most, "place")
                self.placed[kind, site, t] = here
                standing[site].append((here, kind[1]))
            if len(sites) > 1:
                self.cp.add(total(self.placed[kind, site, t] for site in sites) == replicas)
        for site, replicas_here in standing.items():
            self._post_balance(at_site[site], replicas_here, t)
            if host.server_gpus is not None:
                sold = ((self.bought[ln.id, t], ln.unit_gpus // host.server_gpus) for ln in at_site[site])
                post_packing(self.cp, host.server_gpus, weighted(sold), replicas_here, self.periods.parts)

    def _post_balance(self, lines: Sequence[Line], held: Sequence[tuple[Expr, int]], t: int) -> None:
        """Replicas take no more GPUs than are bought, less the lines' reserve."""
        whole = [(1 - line.reserve) * line.unit_gpus * self.periods.parts for line in lines]
        ints, _ = common_integers([Fraction(1), *whole])
        room = weighted((self.bought[ln.id, t], part) for ln, part in zip(lines, ints[1:], strict=True))
        taken = weighted((expr, gpus * ints[0]) for expr, gpus in held)
        if not isinstance(taken, int):
            self.cp.add(taken <= room)

    # -- quantities -------------------------------------------------------------------------------------

    def amount(self, name: Objective) -> Amount:
        """Cost, GPUs or power of everything bought, over all periods."""
        if name == "gpus":
            return Amount(self.gpus)
        return self.cost if name == "cost" else self.power

    @cached_property
    def cost(self) -> Amount:
        """USD over all periods."""
        return self.over_day(self.cost_terms)

    def cost_terms(self, t: int) -> list[tuple[Expr, Fraction, int]]:
        """Expression, price and upper bound of everything that one period pays for."""
        lines = self.fleet.lines
        terms = [(self.bought[ln.id, t], ln.usd_per_gpu_h * ln.unit_gpus, self.most[ln.id]) for ln in lines]
        terms += [(self._started[n, t], start.usd_per_gpu, self._room(start.lines))
                  for n, start in enumerate(self.fleet.starts) if (n, t) in self._started]  # fmt: skip
        return terms + self._replicas_started[t]

    @cached_property
    def _replicas_started(self) -> list[list[tuple[Expr, Fraction, int]]]:
        """Replicas more than in the period before at sites where their start is paid, by period."""
        found: list[list[tuple[Expr, Fraction, int]]] = [[] for _ in self.span]
        for (kind, site, t), now in self.placed.items():
            usd = self.fleet.start_usd(self.periods.own[kind[4]], site) if kind[4] else Fraction(0)
            most = self._replicas[kind, t]
            if usd and most:
                more = self.cp.new_int_var(0, most, "starting")
                self.cp.add(more >= now - self.placed[kind, site, (t - 1) % len(self.span)])
                found[t].append((more, usd, most))
        return found

    @cached_property
    def _started(self) -> dict[tuple[int, int], Expr]:
        """GPUs more than in the period before, by start charge and period."""
        if not charged(self.fleet):
            return {}
        found: dict[tuple[int, int], Expr] = {}
        for n, start in enumerate(self.fleet.starts):
            named = (self._by_id[name] for name in sorted(set(start.lines) & self._by_id.keys()))
            lines = [line for line in named if line.term != "reserved"]
            for t in self.span:
                more = self.cp.new_int_var(0, self._room(start.lines), "started")
                before = self.gpus_in((t - 1) % len(self.span), lines)
                self.cp.add(more >= self.gpus_in(t, lines) - before)
                found[n, t] = more
        return found

    def _room(self, names: Sequence[str]) -> int:
        return sum(self.most[name] * self._by_id[name].unit_gpus for name in set(names) & self._by_id.keys())

    @cached_property
    def _by_id(self) -> dict[str, Line]:
        return {line.id: line for line in self.fleet.lines}

    @cached_property
    def power(self) -> Amount:
        """Watts of all replicas, over all periods."""
        return self.over_day(lambda t: self.replica_terms(Watts(), t))

    def over_day(self, terms: Callable[[int], list[tuple[Expr, Fraction, int]]]) -> Amount:
        """The sum over all periods of what counts in each."""
        weights = enumerate(self.periods.days.weights)
        return summed([(expr, w * each, most) for t, w in weights for expr, each, most in terms(t)])

    def replica_terms(self, weight: ReplicaWeight, t: int) -> list[tuple[Expr, Fraction, int]]:
        """Expression, weight and upper bound of every kind of replica in one period."""
        if weight in self.periods.by_site:
            return [
                (
                    placed,
                    Fraction(weight(self.periods.own[self._first[kind]], site)),
                    self._replicas[kind, when],
                )
                for (kind, site, when), placed in self.placed.items()
                if when == t
            ]
        options = self.periods.own
        names = (
            (at(o.id, t), options[o.id], self.fleet.sites_of(options[o.id])) for o in self.periods.options
        )
        return [
            (self.counts[name], Fraction(weight(option, sites[0])), self.upper[name])
            for name, option, sites in names
            if name in self.counts and sites
        ]

    @cached_property
    def gpus(self) -> Expr:
        """GPU-hours bought, idle ones included."""
        days, lines = self.periods.days, self.fleet.lines
        return weighted((self.gpus_in(t, lines), weight) for t, weight in enumerate(days.weights))


def classes(periods: Periods, host: str) -> dict[Class, list[Option]]:
    """Options of one host that take the same room and count alike at the same sites."""
    found: dict[Class, list[Option]] = defaultdict(list)
    for option in periods.of_host(host):
        own, sites = periods.own[option.id], periods.fleet.sites_of(option)
        counted = tuple(tuple(Fraction(weight(own, site)) for site in sites) for weight in periods.by_site)
        paid = any(periods.fleet.start_usd(own, site) for site in sites)
        found[host, option.gpus, sites, counted, own.id if paid else ""].append(option)
    return dict(sorted(found.items()))


def place_name(kind: Class, site: Site, t: int) -> str:
    """The name of one placement among the units of the model."""
    host, room, sites, counted, option = kind
    kept = "".join(f" {'|'.join(map(str, row))}" for row in counted)
    return at(f"{host} {room} {'|'.join(map(repr, sites))}{kept} {option} at {site!r}", t)
