"""Exhaustive search over replica counts: slow, independent of the solver, exact."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from fractions import Fraction

ZERO = Fraction(0)


def rows(rates, needs):
    """(weight of each option, need) that decide whether replicas carry every bucket, by duality.

    The gap of the dual is piecewise linear in the prices of the buckets, so its corners decide: prices at
    which an option is indifferent between two buckets, or a price is zero.
    """
    if len(needs) == 1:
        return [([row[0] for row in rates], needs[0])]
    found = set()
    for prices in corners(rates, len(needs)):
        weights = [max(p * r for p, r in zip(prices, row, strict=True)) for row in rates]
        need = sum(p * d for p, d in zip(prices, needs, strict=True))
        scale = Fraction(math.lcm(*(x.denominator for x in [*weights, need])))
        found.add((tuple(int(w * scale) for w in weights), int(need * scale)))
    return list(found)


def carries(rows, capacity):
    return all(sum(c * w for c, w in zip(capacity, weights, strict=True)) >= need for weights, need in rows)


def corners(rates, buckets):
    planes = [tuple(Fraction(int(b == other)) for other in range(buckets)) for b in range(buckets)]
    for row in rates:
        for one, two in itertools.combinations(range(buckets), 2):
            plane = [ZERO] * buckets
            plane[one], plane[two] = row[one], -row[two]
            if any(plane):
                planes.append(tuple(plane))
    if buckets == 2:
        rays = [(-plane[1], plane[0]) for plane in planes]
    else:
        rays = [cross(a, b) for a, b in itertools.combinations(set(planes), 2)]
    for ray in set(rays):
        for sign in (1, -1):
            prices = tuple(sign * value for value in ray)
            if any(prices) and min(prices) >= 0:
                yield prices


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def losses(counts, spares):
    total = min(spares, sum(counts))
    for lost in itertools.product(*(range(min(spares, count) + 1) for count in counts)):
        if sum(lost) == total:
            yield lost


def pool_rows(demand, options):
    live = [b for b, need in enumerate(demand.demand_rps) if need > 0]
    rates = [[option.rates_rps[b] * demand.max_utilization for b in live] for option in options]
    return rows(rates, [demand.demand_rps[b] for b in live])


def lost_with_servers(problem, options, counts, spares):
    """Every set of replicas that fits into so many servers: they may all stand there."""
    supplies = {supply.id: supply for supply in problem.supplies}
    for lost in itertools.product(*(range(count + 1) for count in counts)):
        needed = 0
        for supply in supplies.values():
            mine = [(o, n) for o, n in zip(options, lost, strict=True) if o.supply == supply.id]
            large = [(o, n) for o, n in mine if o.gpus >= supply.unit_gpus]
            sizes = [o.gpus for o, n in mine if o.gpus < supply.unit_gpus for _ in range(n)]
            needed += sum(n for _, n in large) + servers(sizes, supply.unit_gpus)
        if needed <= spares:
            yield lost


def pool_fine(demand, decisive, counts, gone=None):
    """``gone``: the losses of servers, where these are spared."""
    used = [count > 0 for count in counts]
    if sum(counts) < demand.min_replicas or (not demand.mix and sum(used) != 1):
        return False
    spares = demand.spares.count
    if demand.spares.kind == "per_option":
        if any(0 < count < spares for count in counts):
            return False
        return carries(decisive, [max(0, count - spares) for count in counts])
    return all(
        carries(decisive, [count - gone for count, gone in zip(counts, lost, strict=True)])
        for lost in (losses(counts, spares) if gone is None else gone)
    )


def servers(sizes, room, memory={}):  # noqa: B006
    """Fewest servers for replicas of these sizes, every placement tried."""
    sizes = tuple(sorted(sizes, reverse=True))
    if (sizes, room) in memory:
        return memory[sizes, room]
    best, least = len(sizes), -(-sum(sizes) // room)

    def place(index, free):
        nonlocal best
        if len(free) >= best or best == least:
            return
        if index == len(sizes):
            best = len(free)
            return
        for spot in sorted(set(free)):
            if spot >= sizes[index]:
                rest = list(free)
                rest.remove(spot)
                place(index + 1, [*rest, spot - sizes[index]])
        place(index + 1, [*free, room - sizes[index]])

    place(0, [])
    memory[sizes, room] = best
    return best


def purchase(problem, counts):
    """(cost, GPUs by type) of counts by option id."""
    cost, gpus = ZERO, {}
    for supply in problem.supplies:
        mine = [(o, counts[o.id]) for o in problem.options if o.supply == supply.id]
        if supply.purchase == "unit":
            units = sum(
                n * math.ceil(Fraction(o.gpus, supply.unit_gpus))
                for o, n in mine
                if o.gpus >= supply.unit_gpus
            )
            units += servers(
                [o.gpus for o, n in mine for _ in range(n) if o.gpus < supply.unit_gpus], supply.unit_gpus
            )
            cost += units * supply.usd_per_unit_h
            bought = units * supply.unit_gpus
        else:
            bought = sum(o.gpus * n for o, n in mine)
            cost += sum(
                n * (o.usd_per_h if supply.purchase == "option" else supply.usd_per_unit_h * o.gpus)
                for o, n in mine
            )
        gpus[supply.gpu] = gpus.get(supply.gpu, 0) + bought
    return cost, gpus


def pairs_fine(problem, counts):
    for coupling in problem.couplings:
        used = [o for o in problem.options if o.workload == coupling.workload and counts[o.id]]
        for p, d in itertools.product(used, used):
            if (p.role, d.role) != ("prefill", "decode"):
                continue
            if p.kv and d.kv and p.kv != d.kv:
                return False
            if (
                coupling.ttft_limit_s is not None
                and p.ttft_s + max(p.transfer_s, d.transfer_s) > coupling.ttft_limit_s
            ):
                return False
    return True


def most(demand, options, full=None):
    """More replicas than this never help: the option then serves alone all that it can.

    ``full``: replicas in a server, by option, where servers are spared.
    """
    tops = []
    for option in options:
        pairs = zip(demand.demand_rps, option.rates_rps, strict=True)
        load = sum((need / (rate * demand.max_utilization) for need, rate in pairs if rate), ZERO)
        tops.append(
            max(demand.min_replicas, math.ceil(load) + demand.spares.count * (full or {}).get(option.id, 1))
        )
    return tops


def combinations(problem):
    """One problem for each serving mode every workload, without the demands of the other way."""
    names = list(dict.fromkeys(demand.workload for demand in problem.demands))
    choices = [sorted({d.mode for d in problem.demands if d.workload == name}) for name in names]
    for combo in itertools.product(*choices):
        modes = dict(zip(names, combo, strict=True))
        demands = tuple(d for d in problem.demands if modes[d.workload] == d.mode)
        yield modes, dataclasses.replace(problem, demands=demands)


def plans(problem):
    """How many plans the enumeration looks at."""
    count = 0
    for _, part in combinations(problem):
        pools = [most(d, [o for o in part.options if o.pool == d.pool]) for d in part.demands]
        count += math.prod(top + 1 for tops in pools for top in tops)
    return count


@dataclasses.dataclass(frozen=True)
class Plan:
    """One set of replicas that keeps every limit."""

    modes: dict
    counts: dict
    cost: Fraction
    gpus: int
    power: Fraction

    def key(self, objective="cost"):
        """Objective, cost, GPUs, different options: what the solver minimizes, in its order."""
        value = {"cost": self.cost, "gpus": Fraction(self.gpus), "power": self.power}[objective]
        return (value, self.cost, self.gpus, len(self.counts))


def every_plan(problem):
    """All plans worth a look: no option has more replicas than it could ever use."""
    for modes, part in combinations(problem):
        yield from _every_plan(modes, part)


def _every_plan(modes, problem):
    pools = [[o for o in problem.options if o.pool == demand.pool] for demand in problem.demands]
    fine = []
    for demand, options in zip(problem.demands, pools, strict=True):
        full, gone = None, lambda _: None
        if demand.spares.kind == "servers":
            rooms = {supply.id: supply.unit_gpus for supply in problem.supplies}
            full = {o.id: max(1, rooms[o.supply] // o.gpus) for o in options}
            gone = functools.partial(lost_with_servers, problem, options, spares=demand.spares.count)
        tops, decisive = most(demand, options, full), pool_rows(demand, options)
        counts = itertools.product(*(range(top + 1) for top in tops))
        fine.append([row for row in counts if pool_fine(demand, decisive, row, gone(row))])
    for combo in itertools.product(*fine):
        counts = {o.id: 0 for o in problem.options}
        for options, row in zip(pools, combo, strict=True):
            counts |= {o.id: n for o, n in zip(options, row, strict=True)}
        cost, gpus = purchase(problem, counts)
        power = sum(o.power_w * counts[o.id] for o in problem.options)
        if within(problem, counts, cost, gpus, power) and pairs_fine(problem, counts):
            used = {name: count for name, count in counts.items() if count}
            yield Plan(modes, used, cost, sum(gpus.values()), power)


def within(problem, counts, cost, gpus, power):
    """The limits of the market."""
    limits = problem.limits
    used = {o.gpu for o in problem.options if counts[o.id]}
    return (
        all(gpus.get(gpu, 0) <= stock for gpu, stock in limits.stock_gpus.items())
        and (limits.max_gpus is None or sum(gpus.values()) <= limits.max_gpus)
        and (limits.budget_usd_per_h is None or cost <= limits.budget_usd_per_h)
        and (limits.power_w is None or power <= limits.power_w)
        and used.issuperset(limits.must_use)
    )


def best_keys(problem):
    """(objective, cost, GPUs, different options) of the best plan, or None."""
    return min((plan.key(problem.limits.objective) for plan in every_plan(problem)), default=None)
