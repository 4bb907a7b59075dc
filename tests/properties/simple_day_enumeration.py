"""Every day of a tiny fleet tried: which is the cheapest, and which the simplest within a tolerance.

A state of an hour is how many replicas stand at each placement (an option at a site), what is bought of each
line, and for how many hours each layout has been in use. Whatever may follow it follows it; the day closes
where it comes back to its first state. Integers throughout: money is counted in the smallest part of a USD
that all prices share.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
from plan_limits import plain

NEVER = np.int64(2**60)
"""Money of what cannot be."""
MOST_STATES, MOST_BOUGHT, MOST_COUNTS = 60, 2000, 5000


class TooMany(Exception):  # noqa: N818 - a state, not a fault
    """The enumeration would not end."""


class Days:
    """All days of one problem; one bucket a workload, no couplings and no outside suppliers."""

    def __init__(self, problem, hours=1):
        """``hours``: that a layout lives at least."""
        self.p, self.hours = problem, min(hours, problem.periods)
        self.places = [(o, site) for o in problem.options for site in problem.sites_of(o)]
        self.layouts = sorted({(o.workload, o.role, o.anywhere) for o, _ in self.places})
        self.layout = [self.layouts.index((o.workload, o.role, o.anywhere)) for o, _ in self.places]
        self.works = sorted({d.workload for d in problem.demands})
        self.work = [self.works.index(workload) for workload, _, _ in self.layouts]
        self.stands = sorted({(line.host, line.site) for line in problem.lines})
        hosts = {host.id: host for host in problem.hosts}
        self.room = [int(hosts[o.supply].room_gpus(o)) for o, _ in self.places]
        self.reserved = [line for line in problem.lines if line.term == "reserved"]
        starts = [problem.start_usd(o, site) for o, site in self.places]
        money = [*starts, *(line.usd_per_gpu_h for line in problem.lines)]
        money += [start.usd_per_gpu for start in problem.starts]
        money += [b.usd_per_h for b in plain(problem.limits).budgets]
        self.scale = math.lcm(*(usd.denominator for usd in money))
        self.start = np.array([int(usd * self.scale) for usd in starts], dtype=np.int64)

    # -- what may run in an hour ------------------------------------------------------------

    def _counts(self, t, allowed):
        """Every fine number of replicas by placement, with those that are allowed."""
        pools = []
        for demand in self.p.demands:
            mine = [i for i, (o, _) in enumerate(self.places) if o.pool == demand.pool and i in allowed]
            pools.append([(mine, row) for row in self._of_pool(demand, t, mine)])
        if math.prod(len(rows) for rows in pools) > MOST_COUNTS:
            raise TooMany
        found = []
        for combo in itertools.product(*pools):
            counts = [0] * len(self.places)
            for mine, row in combo:
                for i, n in zip(mine, row, strict=True):
                    counts[i] = n
            found.append(counts)
        return found

    def _of_pool(self, demand, t, mine):
        tops = [max(self._alone(demand, hour, i) for hour in range(self.p.periods)) for i in mine]
        if math.prod(top + 1 for top in tops) > MOST_COUNTS:
            raise TooMany
        rows = itertools.product(*(range(top + 1) for top in tops))
        return [row for row in rows if self._fine(demand, t, mine, row)]

    def _alone(self, demand, t, place):
        (need,), (rate,) = demand.demand_rps[t], self.places[place][0].rates_rps
        return max(math.ceil(need / rate) + demand.spares.count, demand.min_replicas, 1)

    def _fine(self, demand, t, mine, row):
        spares, (need,) = demand.spares.count, demand.demand_rps[t]
        least = max(demand.min_replicas, spares if demand.spares.kind == "replicas" else 0)
        if sum(row) < least:
            return False
        by_option = defaultdict(int)
        for place, n in zip(mine, row, strict=True):
            by_option[self.places[place][0]] += n
        if demand.spares.kind == "per_option":
            if any(0 < n < spares for n in by_option.values()):
                return False
            return sum(max(0, n - spares) * o.rates_rps[0] for o, n in by_option.items()) >= need
        rates = sorted((o.rates_rps[0] for o, n in by_option.items() for _ in range(n)), reverse=True)
        return sum(rates[spares:], Fraction(0)) >= need

    def _bought(self, held):
        """Every purchase that the limits of an hour allow: GPUs by line, by stand, and its price."""
        needs = defaultdict(int)
        for (o, site), room in zip(self.places, self.room, strict=True):
            demand = next(d for d in self.p.demands if d.pool == o.pool)
            place = self.places.index((o, site))
            most = max(self._alone(demand, t, place) for t in range(self.p.periods)) * room
            needs[o.supply, site] += most
        ranges = []
        for line in self.p.lines:
            top = -(-needs[line.host, line.site] // line.unit_gpus) * line.unit_gpus + line.unit_gpus
            top = top if line.max_gpus is None else min(top, line.max_gpus)
            ranges.append([held[line.id]] if line.id in held else range(0, top + 1, line.unit_gpus))
        if math.prod(len(one) for one in ranges) > MOST_BOUGHT:
            raise TooMany
        return [row for row in itertools.product(*ranges) if self._allowed(row)]

    def _allowed(self, row):
        by_type, bought, limits = defaultdict(int), {}, plain(self.p.limits)
        for line, gpus in zip(self.p.lines, row, strict=True):
            by_type[line.gpu] += gpus
            bought[line.id] = gpus
        shares = (
            line.max_share is None or gpus <= line.max_share * by_type[line.gpu]
            for line, gpus in zip(self.p.lines, row, strict=True)
        )
        stock = (by_type[gpu] <= most for gpu, most in limits.stock_gpus.items())
        quota = (sum(bought[name] for name in one.lines) <= one.gpus for one in limits.quotas)
        return all(shares) and all(stock) and all(quota)

    def _hour(self, t, allowed, bought):
        """States of an hour: replicas, GPUs by line, price, hours of each layout."""
        gpus = np.array(bought, dtype=np.int64).reshape(len(bought), len(self.p.lines))
        by_stand = np.zeros((len(bought), len(self.stands)), dtype=np.int64)
        for i, line in enumerate(self.p.lines):
            by_stand[:, self.stands.index((line.host, line.site))] += gpus[:, i]
        prices = np.array([int(line.usd_per_gpu_h * self.scale) for line in self.p.lines], dtype=np.int64)
        usd = gpus @ prices
        states = []
        for counts in self._counts(t, allowed):
            need = np.zeros(len(self.stands), dtype=np.int64)
            for (o, site), room, n in zip(self.places, self.room, counts, strict=True):
                need[self.stands.index((o.supply, site))] += room * n
            fits = np.flatnonzero((by_stand >= need).all(axis=1))
            if not self.p.starts and len(fits):
                fits = fits[[int(np.argmin(usd[fits]))]]
            used = sorted({self.layout[i] for i, n in enumerate(counts) if n})
            for ages in itertools.product(*(range(1, self.hours + 1) for _ in used)):
                lived = [0] * len(self.layouts)
                for one, age in zip(used, ages, strict=True):
                    lived[one] = age
                states += [(counts, gpus[i], usd[i], lived) for i in fits]
            if len(states) > MOST_STATES:
                raise TooMany
        columns = list(zip(*states, strict=True)) if states else [[], [], [], []]
        shapes = (len(self.places), len(self.p.lines), None, len(self.layouts))
        return [
            np.array(column, dtype=np.int64).reshape((len(states), *([] if width is None else [width])))
            for column, width in zip(columns, shapes, strict=True)
        ]

    # -- the day ------------------------------------------------------------

    def _step(self, before, now):
        """[before][now]: money of the later hour, and how many workloads change their layouts."""
        (n0, g0, _, a0), (n1, g1, usd, a1) = before, now
        cost = usd[None, :] + np.maximum(n1[None] - n0[:, None], 0) @ self.start
        for start in self.p.starts:
            mine = [i for i, line in enumerate(self.p.lines) if line.id in start.lines]
            more = np.maximum(g1[:, mine].sum(axis=1)[None] - g0[:, mine].sum(axis=1)[:, None], 0)
            cost = cost + more * int(start.usd_per_gpu * self.scale)
        lives = np.where(a1[None] > 0, np.minimum(a0[:, None] + 1, self.hours) == a1[None], False)
        ends = (a1[None] == 0) & ((a0[:, None] == 0) | (a0[:, None] == self.hours))
        cost = np.where((lives | ends).all(axis=2), cost, NEVER)
        for budget in plain(self.p.limits).budgets:
            if budget.every_period:
                cost = np.where(cost > int(budget.usd_per_h * self.scale), NEVER, cost)
        other = (a0[:, None] > 0) != (a1[None] > 0)
        changes = np.zeros(cost.shape, dtype=np.int64)
        for work in range(len(self.works)):
            mine = [i for i, owner in enumerate(self.work) if owner == work]
            changes += other[:, :, mine].any(axis=2)
        return cost, changes

    def least(self, allowed, counted=False):
        """By number of changes what the cheapest day costs (or whatever their number); `NEVER`: none."""
        amounts = [range(0, self._top(line) + 1, line.unit_gpus) for line in self.reserved]
        best = None
        for held in itertools.product(*amounts):
            mine = {line.id: gpus for line, gpus in zip(self.reserved, held, strict=True)}
            found = self._least(allowed, self._bought(mine), counted)
            best = found if best is None else np.minimum(best, found)
        return best

    def _top(self, line):
        demands = {d.pool: d for d in self.p.demands}
        mine = [(i, demands[o.pool]) for i, (o, at) in enumerate(self.places)
                if (o.supply, at) == (line.host, line.site)]  # fmt: skip
        top = sum(self.room[i] * max(self._alone(d, t, i) for t in range(self.p.periods)) for i, d in mine)
        top = -(-top // line.unit_gpus) * line.unit_gpus
        return top if line.max_gpus is None else min(top, line.max_gpus)

    def _least(self, allowed, bought, counted):
        layers = len(self.works) * self.p.periods + 1 if counted else 1
        never = np.full(layers, NEVER)
        if not bought:
            return never
        hours = [self._hour(t, allowed, bought) for t in range(self.p.periods)]
        if any(not len(hour[0]) for hour in hours):
            return never
        first = len(hours[0][0])
        known = np.full((layers, first, first), NEVER)
        known[0][np.arange(first), np.arange(first)] = 0
        for t in range(self.p.periods):
            cost, changes = self._step(hours[t], hours[(t + 1) % self.p.periods])
            known = _after(known, cost, changes if counted else np.zeros_like(changes))
        return np.array([int(layer.diagonal().min()) for layer in known])

    def cheapest(self):
        """USD of the best day; None: there is none."""
        usd = int(self.least(frozenset(range(len(self.places))))[0])
        return None if usd >= NEVER else Fraction(usd, self.scale)

    def simplest(self, most_usd, sites):
        """Pools, changes and places of the simplest day within so much money."""
        most = math.floor(most_usd * self.scale)
        pools = sorted({(o.id, site.place) for o, site in self.places})
        for size in range(len(pools) + 1):
            fine = []
            for some in itertools.combinations(pools, size):
                allowed = frozenset(
                    i for i, (o, site) in enumerate(self.places) if (o.id, site.place) in some
                )
                if self.least(allowed)[0] <= most:
                    fine.append(allowed)
            if fine:
                break
        else:
            return None
        # With one pool less there is no such day: all of these are in use.
        changes = min(self._fewest_changes(allowed, most) for allowed in fine)
        return (
            size,
            changes,
            min(self._fewest_places(allowed, most, changes, dict(sites)) for allowed in fine),
        )

    def _fewest_changes(self, allowed, most):
        return next((n for n, usd in enumerate(self.least(allowed, counted=True)) if usd <= most), math.inf)

    def _fewest_places(self, allowed, most, changes, named):
        """Places by workload, summed; owned GPUs stand at none."""
        stands = {i: (self.places[i][0].workload, named.get(self.places[i][1])) for i in allowed}
        every = sorted({place for place in stands.values() if place[1] is not None})
        for count in range(len(every) + 1):
            for some in itertools.combinations(every, count):
                mine = frozenset(i for i, place in stands.items() if place[1] is None or place in some)
                if self._fewest_changes(mine, most) <= changes:
                    return count
        return math.inf


def _after(known, cost, changes):
    """One hour later: the cheapest way from every first state to every state, by number of changes."""
    layers, first, _ = known.shape
    found = np.full((layers, first, cost.shape[1]), NEVER)
    for step in range(int(changes.max(initial=0)) + 1):
        mine = np.where(changes == step, cost, NEVER)
        for layer in range(layers - step):
            if known[layer].min() >= NEVER:
                continue
            total = (known[layer][:, :, None] + mine[None]).min(axis=1)
            found[layer + step] = np.minimum(found[layer + step], np.minimum(total, NEVER))
    return found
