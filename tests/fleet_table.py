"""Fleets small enough to look at every plan: one bucket per workload, GPUs bought without spare ones."""

from __future__ import annotations

import itertools
from collections import defaultdict
from fractions import Fraction

from plan_limits import budget_row, plain, plan_limits, quota_row

from planner.constraints.fleet_check import bill, broken
from planner.schema.choice import Option, Share, Spares
from planner.schema.fleet import (
    Api,
    Changes,
    FleetChoice,
    FleetDemand,
    FleetProblem,
    Host,
    Line,
    PeriodChoice,
    Site,
    StartCharge,
)

F = Fraction
MOST = 4
"""Replicas of an option at most."""


def plans(question):
    """Every plan that keeps all limits: cost, and the periods."""
    rows = [list(_rows(question, t)) for t in range(question.periods)]
    reserved = [line.id for line in question.lines if line.term == "reserved"]
    for periods in itertools.product(*rows):
        held = [tuple(period.bought.get(name, 0) for name in reserved) for period in periods]
        if len(set(held)) == 1:
            total = bill(question, periods)
            if _affordable(question, total):
                yield total, periods


def _affordable(question, total):
    spent = [period.usd for period in total.periods]
    return all(
        max(spent) <= budget.usd_per_h
        if budget.every_period
        else sum(spent) <= budget.usd_per_h * question.periods
        for budget in plain(question.limits).budgets
    )


def enumerated(question, goal="value", time_limit_s=None):
    """The best plan, checked again; of equal ones the cheapest, then the first by name."""
    best = None
    for total, periods in plans(question):
        key = (total.value(question.limits.objective), total.usd, repr(periods))
        if best is None or key < best[0]:
            best = (key, total, periods)
    if best is None:
        return FleetChoice("infeasible")
    value, total = best[0][0], best[1]
    choice = FleetChoice("optimal", best[2], total.usd, value, value, F(0))
    assert not broken(question, choice), broken(question, choice)
    return choice


def _rows(question, t):
    """What one period may look like."""
    ranges = [range(MOST + 1) if question.sites_of(option) else (0,) for option in question.options]
    for counts in itertools.product(*ranges):
        used = [(o, n) for o, n in zip(question.options, counts, strict=True) if n]
        shares = _shares(question, t, used)
        if shares is None:
            continue
        power = sum((o.power_w * n for o, n in used), F(0))
        watts = plain(question.limits).power_w
        if watts is not None and power > watts:
            continue
        for placed, bought in _bought(question, used):
            if _allowed(question, bought):
                yield PeriodChoice(placed, bought, shares)


def _shares(question, t, used):
    """Who serves what, as much as possible by replicas; None where it does not suffice."""
    shares = []
    for demand in question.demands:
        mine = [(option, n) for option, n in used if option.pool == demand.pool]
        apis = [api for api in question.apis if api.workload == demand.workload]
        need = demand.demand_rps[t][0]
        rates = sorted((o.rates_rps[0] for o, n in mine for _ in range(n)), reverse=True)
        spare = demand.spares.count
        if (mine or not apis) and len(rates) < max(demand.min_replicas, spare):
            return None
        left = sum(rates[spare:], F(0)) * demand.max_utilization
        if left < need and not apis:
            return None
        if need == 0:
            continue
        part = min(F(1), left / need)  # an API takes no more after a loss than before
        whole = sum((o.rates_rps[0] * n for o, n in mine), F(0))
        row = [(o.id, part * o.rates_rps[0] * n / whole) for o, n in mine if whole]
        if part < 1:
            row.append((min(apis, key=lambda api: api.usd_per_h[t][0]).id, 1 - part))
        shares += [Share(*demand.pool, demand.buckets[0], name, share) for name, share in row if share]
    return tuple(shares)


def _bought(question, used):
    """Every way to buy what the replicas take, and no more than the last unit needs; one site per option."""
    hosts = {host.id: host for host in question.hosts}
    for sites in itertools.product(*(question.sites_of(option) for option, _ in used)):
        placed = {(option.id, site): n for (option, n), site in zip(used, sites, strict=True)}
        room = defaultdict(int)
        for (option, n), site in zip(used, sites, strict=True):
            room[option.supply, site] += hosts[option.supply].room_gpus(option) * n
        modes = [list(_split(question, place, gpus)) for place, gpus in room.items()]
        for parts in itertools.product(*modes):
            yield placed, {name: gpus for part in parts for name, gpus in part if gpus}


def _split(question, place, gpus):
    lines = [line for line in question.lines if (line.host, line.site) == place]
    caps = [gpus + line.unit_gpus if line.max_gpus is None else line.max_gpus for line in lines]
    ranges = [range(0, cap + 1, line.unit_gpus) for cap, line in zip(caps, lines, strict=True)]
    for counts in itertools.product(*ranges):
        room = sum((1 - line.reserve) * n for line, n in zip(lines, counts, strict=True))
        smallest = min((line.unit_gpus for line, n in zip(lines, counts, strict=True) if n), default=0)
        if gpus <= room < gpus + smallest:
            yield [(line.id, n) for line, n in zip(lines, counts, strict=True)]


def _allowed(question, bought):
    gpus, limits = defaultdict(int), plain(question.limits)
    for line in question.lines:
        gpus[line.gpu] += bought.get(line.id, 0)
    if any(
        line.max_share is not None and bought.get(line.id, 0) > line.max_share * gpus[line.gpu]
        for line in question.lines
    ):
        return False
    if any(gpus[gpu] > most for gpu, most in limits.stock_gpus.items()):
        return False
    if any(sum(bought.get(name, 0) for name in quota.lines) > quota.gpus for quota in limits.quotas):
        return False
    if limits.max_gpus is not None and sum(gpus.values()) > limits.max_gpus:
        return False
    if limits.changes is None:
        return True
    today = limits.changes.today_gpus
    return sum(abs(gpus[g] - today.get(g, 0)) for g in {*gpus, *today}) <= limits.changes.most


# -- fleets made by hand and at random ----------------------------------------------------------------------

EAST, WEST = Site("p", "east"), Site("q", "west")


def option(name, gpu, gpus, rate, workload="w", power=100):
    return Option(name, workload, "serve", gpu, gpu, gpus, (F(rate),), power_w=F(power * gpus))


def line(gpu, term, usd, most=None, **more):
    return Line(f"{gpu}/{term}", gpu, gpu, term, F(str(usd)), max_gpus=most, **more)


def need(*rps, workload="w", **more):
    return FleetDemand(workload, "serve", tuple((F(str(rate)),) for rate in rps), **more)


def api(name, *usd, workload="w"):
    return Api(name, workload, tuple((F(str(price)),) for price in usd))


def fleet(options, lines, demands, limits=None, **more):
    """Hosts of single GPUs, or of servers as large as the lines' units."""
    units = {one.host: one.unit_gpus for one in lines}
    hosts = tuple(Host(name, name, unit if unit > 1 else None) for name, unit in units.items())
    periods = len(demands[0].demand_rps)
    return FleetProblem(
        periods, tuple(options), hosts, tuple(lines), tuple(demands), limits or plan_limits(), **more
    )


def random_fleet(rng, periods, tight=True):
    """One or two options over up to four lines, and limits that are usually too tight together."""
    lines = [
        line("g", "owned", rng.randint(0, 2), rng.randint(0, 3), site=EAST),
        line("g", rng.choice(["on_demand", "reserved"]), rng.randint(2, 5), rng.randint(2, 4), site=EAST),
        line("h", "on_demand", rng.randint(3, 8), None, unit_gpus=2, site=WEST),
    ]
    options = [option("a", "g", 1, rng.randint(2, 4)), option("b", "h", 2, rng.randint(4, 9), power=150)]
    spares = Spares("replicas", rng.choice([0, 0, 1]))
    rates = [rng.randint(2, 9 if tight else 6) for _ in range(periods)]
    demand = need(*rates, spares=spares, min_replicas=rng.choice([1, 2]), max_utilization=F(9, 10))
    limits = plan_limits(
        stock_gpus={"g": rng.randint(0, 4)} if rng.random() < 0.6 else {},
        quotas=(quota_row("quota:p", ("g/owned", lines[1].id), rng.randint(1, 4)),)
        if rng.random() < 0.5
        else (),
        budgets=tuple(_random_budgets(rng, tight)),
        max_gpus=rng.randint(1, 8) if rng.random() < 0.5 else None,
        power_w=F(rng.randint(2, 12) * 100) if rng.random() < 0.5 else None,
        changes=Changes({"g": 2}, rng.randint(0, 4)) if rng.random() < 0.4 else None,
        objective=rng.choice(["cost", "cost", "gpus"]),
    )
    starts = (StartCharge((lines[1].id,), F(1)),) if lines[1].term == "on_demand" else ()
    return fleet(options, lines, [demand], limits, starts=starts)


def _random_budgets(rng, tight):
    if rng.random() < 0.6:
        yield budget_row("budget", F(rng.randint(1, 14 if tight else 40)), every_period=rng.random() < 0.7)
    if rng.random() < 0.3:
        yield budget_row("budget:month", F(rng.randint(2, 14 if tight else 40)), every_period=False)
