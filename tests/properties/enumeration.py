"""Exhaustive search over replica counts: slow, independent of the solver, exact."""

from __future__ import annotations

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


def pool_fine(demand, decisive, counts):
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
        for lost in losses(counts, spares)
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


def most(demand, options):
    """More replicas than this never help: the option then serves alone all that it can."""
    tops = []
    for option in options:
        pairs = zip(demand.demand_rps, option.rates_rps, strict=True)
        load = sum((need / (rate * demand.max_utilization) for need, rate in pairs if rate), ZERO)
        tops.append(max(demand.min_replicas, math.ceil(load) + demand.spares.count))
    return tops


def plans(problem):
    """How many plans the enumeration looks at."""
    pools = [most(d, [o for o in problem.options if o.pool == d.pool]) for d in problem.demands]
    return math.prod(top + 1 for tops in pools for top in tops)


def best_keys(problem):
    """(objective, cost, GPUs, different options) of the best plan, or None."""
    limits = problem.limits
    pools = [[o for o in problem.options if o.pool == demand.pool] for demand in problem.demands]
    fine = []
    for demand, options in zip(problem.demands, pools, strict=True):
        tops, decisive = most(demand, options), pool_rows(demand, options)
        ways = itertools.product(*(range(top + 1) for top in tops))
        fine.append([counts for counts in ways if pool_fine(demand, decisive, counts)])
    best = None
    for combo in itertools.product(*fine):
        counts = {
            o.id: n
            for options, row in zip(pools, combo, strict=True)
            for o, n in zip(options, row, strict=True)
        }
        cost, gpus = purchase(problem, counts)
        total = sum(gpus.values())
        if any(gpus.get(gpu, 0) > stock for gpu, stock in limits.stock_gpus.items()):
            continue
        if limits.max_gpus is not None and total > limits.max_gpus:
            continue
        if limits.budget_usd_per_h is not None and cost > limits.budget_usd_per_h:
            continue
        if not pairs_fine(problem, counts):
            continue
        power = sum(o.power_w * counts[o.id] for o in problem.options)
        value = {"cost": cost, "gpus": Fraction(total), "power": power}[limits.objective]
        key = (value, cost, total, sum(n > 0 for n in counts.values()))
        if best is None or key < best:
            best = key
    return best
