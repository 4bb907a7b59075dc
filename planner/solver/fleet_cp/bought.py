"""What the replicas of all periods buy: GPUs by line and period, and where the replicas stand."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property

from planner.schema.choice import Option
from planner.schema.fleet import Line, Site
from planner.solver.cp_sat import Expr, cp_model, total, weighted
from planner.solver.fleet_cp.canonical import charged
from planner.solver.fleet_cp.periods import Periods, at
from planner.solver.integers import common_integers
from planner.solver.model import MOST_UNITS
from planner.solver.purchases import Amount, Purchases, summed

Class = tuple[str, int, tuple[Site, ...]]
"""Host, parts of a GPU that one replica takes, and the sites where it may stand."""


class FleetPurchases(Purchases):
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
        for host in self.fleet.hosts:
            for t in self.span:
                self._post_room(host.id, t)
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
        limits, lines = self.fleet.limits, self.fleet.lines
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
        caps: dict[str, int] = {}
        for quota in limits.quotas:
            for name in quota.lines:
                caps[name] = min(quota.gpus, caps.get(name, quota.gpus))
        found = {}
        for line in lines:
            whole = max(sum(self._taken[gpu][t] for gpu in beside[line.id]) for t in self.span)
            own = [line.max_gpus, limits.stock_gpus.get(line.gpu), limits.max_gpus, caps.get(line.id)]
            least = min([most[line.gpu](whole), MOST_UNITS, *(cap for cap in own if cap is not None)])
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
                taken[option.gpu][t] += option.gpus * self.upper.get(at(option.id, t), 0)
        return {gpu: [-(-parts // self.periods.parts) for parts in row] for gpu, row in taken.items()}

    def gpus_in(self, t: int, lines: Sequence[Line]) -> Expr:
        """GPUs of some lines in one period."""
        return weighted((self.bought[line.id, t], line.unit_gpus) for line in lines)

    # -- hosts ------------------------------------------------------------------------------------------

    def _post_room(self, host: str, t: int) -> None:
        """Replicas at every site, and room for them in the GPUs bought there."""
        at_site: dict[Site, list[Line]] = defaultdict(list)
        for line in self.fleet.lines:
            if line.host == host:
                at_site[line.site].append(line)
        standing: dict[Site, list[tuple[Expr, int]]] = defaultdict(list)
        for kind, options in classes(self.periods, host).items():
            names = [at(option.id, t) for option in options if at(option.id, t) in self.counts]
            replicas = total(self.counts[name] for name in names)
            most = sum(self.upper[name] for name in names)
            sites = kind[2]
            for site in sites:
                here = replicas if len(sites) == 1 else self.cp.new_int_var(0, most, "place")
                self.placed[kind, site, t] = here
                standing[site].append((here, kind[1]))
            if len(sites) > 1:
                self.cp.add(total(self.placed[kind, site, t] for site in sites) == replicas)
        for site, replicas_here in standing.items():
            lines = at_site[site]
            whole = [(1 - line.reserve) * line.unit_gpus * self.periods.parts for line in lines]
            ints, _ = common_integers([Fraction(1), *whole])
            room = weighted((self.bought[ln.id, t], part) for ln, part in zip(lines, ints[1:], strict=True))
            taken = weighted((expr, gpus * ints[0]) for expr, gpus in replicas_here)
            if not isinstance(taken, int):
                self.cp.add(taken <= room)

    # -- quantities -------------------------------------------------------------------------------------

    @cached_property
    def cost(self) -> Amount:
        """USD over all periods."""
        terms: list[tuple[Expr, Fraction, int]] = []
        for t, weight in enumerate(self.periods.days.weights):
            terms += [(expr, weight * price, most) for expr, price, most in self.cost_terms(t)]
        return summed(terms)

    def cost_terms(self, t: int) -> list[tuple[Expr, Fraction, int]]:
        """Expression, price and upper bound of everything that one period pays for."""
        lines = self.fleet.lines
        terms = [(self.bought[ln.id, t], ln.usd_per_gpu_h * ln.unit_gpus, self.most[ln.id]) for ln in lines]
        return terms + [(self._started[n, t], start.usd_per_gpu, self._room(start.lines))
                        for n, start in enumerate(self.fleet.starts) if (n, t) in self._started]  # fmt: skip

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
        weights = enumerate(self.periods.days.weights)
        return summed([(e, w * price, most) for t, w in weights for e, price, most in self.power_terms(t)])

    def power_terms(self, t: int) -> list[tuple[Expr, Fraction, int]]:
        """Expression, watts and upper bound of every kind of replica in one period."""
        found: Iterator[tuple[str, Option]] = ((at(o.id, t), o) for o in self.periods.options)
        return [(self.counts[n], o.power_w, self.upper[n]) for n, o in found if n in self.counts]

    @cached_property
    def gpus(self) -> Expr:
        """GPU-hours bought, idle ones included."""
        days, lines = self.periods.days, self.fleet.lines
        return weighted((self.gpus_in(t, lines), weight) for t, weight in enumerate(days.weights))


def classes(periods: Periods, host: str) -> dict[Class, list[Option]]:
    """Options of one host that take the same room and may stand at the same sites."""
    found: dict[Class, list[Option]] = defaultdict(list)
    for option in periods.of_host(host):
        found[host, option.gpus, periods.fleet.sites_of(option)].append(option)
    return dict(sorted(found.items()))


def place_name(kind: Class, site: Site, t: int) -> str:
    """The name of one placement among the units of the model."""
    host, room, sites = kind
    return at(f"{host} {room} {'|'.join(map(repr, sites))} at {site!r}", t)
