"""Every plan of a tiny fleet tried: slow, independent of the solver, exact.

Replicas are enumerated by option, site, workload and period; what carries a demand is decided by duality (see
`enumeration`). Purchases are enumerated by line; periods are joined by going around the day.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from fractions import Fraction

from enumeration import carries, losses, most, pool_rows
from place_enumeration import all_matched
from plan_limits import plain

ZERO = Fraction(0)


def best_value(problem):
    """The smallest objective of any plan, or None: the best of all layouts that hold for the whole day."""
    values = [_best_of(layout) for layout in _layouts(problem)]
    return min((value for value in values if value is not None), default=None)


def _layouts(problem):
    """The problem with every choice of one way and one option for the pools that do not mix."""
    chosen = []
    for workload in sorted({demand.workload for demand in problem.demands}):
        mine = [demand for demand in problem.demands if demand.workload == workload]
        if problem.periods > 1 and not all(demand.mix for demand in mine):
            chosen.append([kept for mode in _modes(mine) for kept in _kept(problem, mode)])
    for combo in itertools.product(*chosen):
        gone = {name for _, dropped in combo for name in dropped}
        demands = {demand.pool for kept, _ in combo for demand in kept}
        ours = {workload for workload, _ in demands}
        yield dataclasses.replace(
            problem,
            options=tuple(o for o in problem.options if o.id not in gone),
            demands=tuple(d for d in problem.demands if d.workload not in ours or d.pool in demands),
        )


def _modes(demands):
    serve = [demand for demand in demands if demand.role == "serve"]
    disaggregated = [demand for demand in demands if demand.role != "serve"]
    return [mode for mode in (serve, disaggregated) if mode]


def _kept(problem, demands):
    """Demands of one way, and the options that are left out, for every choice of one option."""
    pools = []
    for demand in demands:
        names = [option.id for option in problem.options if option.pool == demand.pool]
        pools.append(
            [[n for n in names if n != name] for name in names or [None]] if not demand.mix else [[]]
        )
    others = [o.id for o in problem.options if o.workload == demands[0].workload]
    others = [
        n
        for n in others
        if not any(o.id == n and o.pool in [d.pool for d in demands] for o in problem.options)
    ]
    for dropped in itertools.product(*pools):
        yield demands, [*others, *(name for part in dropped for name in part)]


def _best_of(problem):
    """The smallest objective of any plan that chooses options period by period."""
    rooms = [_rooms(problem, t) for t in range(problem.periods)]
    if any(not room for room in rooms):
        return None
    kept = [line for line in problem.lines if line.term == "reserved"]
    best = None
    for held in itertools.product(*(_amounts(line) for line in kept)):
        fixed = {line.id: gpus for line, gpus in zip(kept, held, strict=True)}
        value = _around(problem, [_purchases(problem, fixed, room) for room in rooms])
        if value is not None and (best is None or value < best):
            best = value
    return best


def effort(problem):
    """How many plans of one period, and how many sets of GPUs, the enumeration looks at."""
    rows, bought = 1, 1
    for demand in problem.demands:
        options = [o for o in problem.options if o.pool == demand.pool]
        for t in range(problem.periods):
            tops = most(_asked(demand, t), options)
            places = [len(problem.sites_of(option)) for option in options]
            rows = max(rows, math.prod(math.comb(n + p, p) for n, p in zip(tops, places, strict=True)))
    for line in problem.lines:
        bought *= len(_amounts(line))
    return rows ** len({d.workload for d in problem.demands}), bought


def _amounts(line):
    return range(0, line.max_gpus + 1, line.unit_gpus)


# -- replicas -----------------------------------------------------------------------------------------------


def _asked(demand, t):
    asked = demand.in_period(t)
    least = asked.spares.count if asked.spares.kind == "replicas" else 0
    return dataclasses.replace(asked, min_replicas=max(asked.min_replicas, least))


def _rooms(problem, t):
    """(sizes of the replicas by host and site, GPU types in use) -> least power, of every set of replicas."""
    joined = {((), frozenset(), ZERO): ZERO}
    for workload in sorted({demand.workload for demand in problem.demands}):
        mine = _of_workload(problem, workload, t)
        longer = {}
        for (room, used, kg), power in joined.items():
            for (more, types, own), watts in mine.items():
                needs = dict(room)
                for place, gpus in more:
                    needs[place] = tuple(sorted(needs.get(place, ()) + gpus))
                key = (tuple(sorted(needs.items())), used | types, kg + own)
                longer[key] = min(longer.get(key, power + watts), power + watts)
        joined = longer
    limits, found = plain(problem.limits), {}
    for (room, used, kg), power in joined.items():
        if _few(room, limits.max_replicas.get("")) and (limits.co2 is None or kg <= limits.co2.most):
            found[room, used] = min(found.get((room, used), power), power)
    return found


def _kg(problem, option, site):
    """Carbon dioxide of one replica, where it is limited: only of problems of one period."""
    row = plain(problem.limits).co2
    return ZERO if row is None else row.replicas(option, site)


def _few(room, most):
    return most is None or sum(len(sizes) for _, sizes in room) <= most


def _of_workload(problem, workload, t):
    demands = [demand for demand in problem.demands if demand.workload == workload]
    found = {}
    for mode in sorted({demand.in_period(t).mode for demand in demands}):
        mine = [demand for demand in demands if demand.in_period(t).mode == mode]
        pools = [_pool(problem, demand, t) for demand in mine]
        for combo in itertools.product(*pools):
            counts = {option: n for row in combo for option, n in row if n}
            if sum(counts.values()) > plain(problem.limits).max_replicas.get(workload, math.inf):
                continue
            if not _pairs(problem, workload, counts) or not all_matched(mine, counts, t):
                continue
            for placed in itertools.product(*(_splits(problem, o, n) for o, n in counts.items())):
                room, power, kg = {}, ZERO, ZERO
                for (option, count), split in zip(counts.items(), placed, strict=True):
                    power += option.power_w * count
                    host = next(host for host in problem.hosts if host.id == option.supply)
                    for site, number in split:
                        place = (host.id, site)
                        kg += number * _kg(problem, option, site)
                        room[place] = tuple(sorted(room.get(place, ()) + (_size(host, option),) * number))
                key = (tuple(sorted(room.items())), frozenset(o.gpu for o in counts), kg)
                found[key] = min(found.get(key, power), power)
    return found


def _size(host, option):
    """GPUs of one replica: a slice is part of one, larger ones than a server take whole servers."""
    if option.slices > 1:
        return Fraction(1, option.slices)
    if host.server_gpus is None or option.gpus <= host.server_gpus:
        return Fraction(option.gpus)
    return Fraction(math.ceil(option.gpus / host.server_gpus) * host.server_gpus)


def _splits(problem, option, count):
    sites = problem.sites_of(option)
    for parts in itertools.product(range(count + 1), repeat=len(sites)):
        if sum(parts) == count:
            yield [(site, n) for site, n in zip(sites, parts, strict=True) if n]


def _pool(problem, demand, t):
    """Every fine set of replicas of one pool."""
    asked = _asked(demand, t)
    options = [o for o in problem.options if o.pool == demand.pool and problem.sites_of(o)]
    decisive = pool_rows(asked, options) if any(asked.demand_rps) else []
    tops = most(asked, options, _full(problem, options) if asked.spares.kind == "servers" else None)
    reach = max((o.replicas_from for o in options), default=1)
    return [
        list(zip(options, counts, strict=True))
        for counts in itertools.product(*(range(max(top, reach) + 1) for top in tops))
        if _fine(asked, options, decisive, counts, _with_servers(problem, asked, options, counts))
    ]


def _full(problem, options):
    """Replicas in a server, by option."""
    hosts = {host.id: host for host in problem.hosts}
    return {o.id: max(1, int(hosts[o.supply].server_gpus // _size(hosts[o.supply], o))) for o in options}


def _with_servers(problem, asked, options, counts):
    """Where servers are spared, every set of replicas that fits into so many."""
    if asked.spares.kind != "servers":
        return None
    hosts = {host.id: host for host in problem.hosts}
    found = []
    for lost in itertools.product(*(range(count + 1) for count in counts)):
        needed = 0
        for host in hosts.values():
            mine = [(o, n) for o, n in zip(options, lost, strict=True) if o.supply == host.id]
            # A replica larger than a server goes with any of its servers.
            sizes = tuple(sorted(min(_size(host, o), host.server_gpus) for o, n in mine for _ in range(n)))
            needed += _servers(sizes, host.server_gpus) // host.server_gpus
        if needed <= asked.spares.count:
            found.append(lost)
    return found


def _fine(asked, options, decisive, counts, gone):
    total = sum(counts)
    kinds = {option.anywhere for option, n in zip(options, counts, strict=True) if n}
    if total < asked.min_replicas or (not asked.mix and len(kinds) > 1):
        return False
    if any(n and not option.holds_for(total) for option, n in zip(options, counts, strict=True)):
        return False
    spares = asked.spares.count
    if asked.spares.kind == "per_option":
        if any(0 < n < spares for n in counts):
            return False
        return carries(decisive, [max(0, n - spares) for n in counts])
    gone = losses(counts, spares) if gone is None else gone
    left = ([n - lost for n, lost in zip(counts, some, strict=True)] for some in gone)
    return all(carries(decisive, rest) for rest in left)


def _pairs(problem, workload, counts):
    for coupling in (c for c in problem.couplings if c.workload == workload):
        for p, d in itertools.product(counts, counts):
            if (p.role, d.role) != ("prefill", "decode") or p.place != d.place:
                continue
            if p.kv and d.kv and p.kv != d.kv:
                return False
            limit = coupling.ttft_limit_s
            if limit is not None and p.ttft_s + max(p.transfer_s, d.transfer_s) > limit:
                return False
    return True


# -- purchases ----------------------------------------------------------------------------------------------


def _purchases(problem, fixed, rooms):
    """(GPUs by line, types in use) -> least power, of everything that may be bought in one period."""
    free = [line for line in problem.lines if line.term != "reserved"]
    servers = {host.id: host.server_gpus for host in problem.hosts}
    found = {}
    for amounts in itertools.product(*(_amounts(line) for line in free)):
        bought = {**fixed, **{line.id: gpus for line, gpus in zip(free, amounts, strict=True)}}
        if not _allowed(problem, bought):
            continue
        space, gpus = {}, {}
        for line in problem.lines:
            place = (line.host, line.site)
            space[place] = space.get(place, ZERO) + (1 - line.reserve) * bought[line.id]
            gpus[place] = gpus.get(place, 0) + bought[line.id]
        for (room, used), power in rooms.items():
            held = all(
                sum(sizes) <= space.get(place, 0) and _servers(sizes, servers[place[0]]) <= gpus[place]
                for place, sizes in room
            )
            if held and _powered(problem, power):
                key = (tuple(sorted(bought.items())), used & set(problem.limits.must_use))
                found[key] = min(found.get(key, power), power)
    return found


@functools.cache
def _servers(sizes, server):
    """GPUs of the fewest servers that hold these replicas; 0 where GPUs stand alone."""
    if server is None:
        return 0
    whole = sum(int(size) for size in sizes if size > server)
    small = sorted((size for size in sizes if 1 <= size <= server), reverse=True)
    small += [1] * math.ceil(sum(size for size in sizes if size < 1))
    return whole + server * _fewest(tuple(small), server)


@functools.cache
def _fewest(sizes, server):
    """Servers for these replicas, the largest first: every set that stands with the first, then the rest."""
    if sum(sizes) <= server:
        return int(bool(sizes))
    return 1 + min(_fewest(rest, server) for rest in _beside(sizes[1:], server - sizes[0]))


@functools.cache
def _beside(sizes, room):
    """What is left of the replicas when some of them that fit into the room are taken."""
    if not sizes or room < sizes[-1]:
        return frozenset({sizes})
    kept = {(sizes[0], *rest) for rest in _beside(sizes[1:], room)}
    if sizes[0] <= room:
        kept |= _beside(sizes[1:], room - sizes[0])
    return frozenset(kept)


def _powered(problem, power):
    most = plain(problem.limits).power_w
    return most is None or power <= most


def _allowed(problem, bought):
    limits, types = plain(problem.limits), {}
    for line in problem.lines:
        types[line.gpu] = types.get(line.gpu, 0) + bought[line.id]
    if any(
        line.max_share is not None and bought[line.id] > line.max_share * types[line.gpu]
        for line in problem.lines
    ):
        return False
    if any(types.get(gpu, 0) > stock for gpu, stock in limits.stock_gpus.items()):
        return False
    if any(sum(bought[line] for line in quota.lines) > quota.gpus for quota in limits.quotas):
        return False
    if limits.max_gpus is not None and sum(types.values()) > limits.max_gpus:
        return False
    if limits.changes is None:
        return True
    today = limits.changes.today_gpus
    return sum(abs(types.get(g, 0) - today.get(g, 0)) for g in {*types, *today}) <= limits.changes.most


# -- the day ------------------------------------------------------------------------------------------------


def _around(problem, periods):
    """The best way around the day: from every first purchase through all periods back to it."""
    if any(not period for period in periods):
        return None
    tied = problem.periods > 1 and bool(problem.starts)
    budgets = [b.usd_per_h * problem.periods for b in plain(problem.limits).budgets if not b.every_period]
    step = _Step(problem, tied)
    ends = []
    for first in list(periods[0]) if tied else [None]:
        states = {(first and first[0], frozenset()): {(ZERO, ZERO)}}
        for t, period in enumerate(periods):
            # The last period comes before the first: its charge is added when the circle closes.
            entered = tied and t == 0
            states = _next_states(states, period, None if entered else step, tied, first if entered else None)
        for (bought, used), totals in states.items():
            if not used.issuperset(problem.limits.must_use):
                continue
            closing = step(bought, first[0], periods[0][first]) if tied else (ZERO, ZERO)
            for value, usd in totals if closing is not None else ():
                if all(usd + closing[1] <= budget for budget in budgets):
                    ends.append(value + closing[0])
    return min(ends, default=None)


class _Step:
    """(Objective, USD) of one period after another one; None over budget."""

    def __init__(self, problem, tied):
        self.objective = problem.limits.objective
        self.prices = {line.id: line.usd_per_gpu_h for line in problem.lines}
        self.starts = problem.starts if tied else ()
        self.caps = [budget.usd_per_h for budget in plain(problem.limits).budgets if budget.every_period]

    def __call__(self, before, entry, power):
        bought = dict(entry)
        usd = sum((self.prices[line] * gpus for line, gpus in entry), ZERO)
        for start in self.starts:
            held = dict(before)
            usd += start.usd_per_gpu * max(0, sum(bought[n] - held[n] for n in start.lines))
        if any(usd > cap for cap in self.caps):
            return None
        return {"cost": usd, "gpus": Fraction(sum(bought.values())), "power": power}[self.objective], usd


def _next_states(states, period, step, tied, only):
    """States after one more period; ``step`` is None where the first period is only entered."""
    found = {}
    for (before, used), totals in states.items():
        for (bought, types), power in period.items():
            if only is not None and (bought, types) != only:
                continue
            added = (ZERO, ZERO) if step is None else step(before, bought, power)
            if added is None:
                continue
            key = (bought if tied else None, used | types)
            found.setdefault(key, set()).update((v + added[0], usd + added[1]) for v, usd in totals)
    return {key: _undominated(totals) for key, totals in found.items()}


def _undominated(totals):
    kept = []
    for value, usd in sorted(totals):
        if not kept or usd < kept[-1][1]:
            kept.append((value, usd))
    return set(kept)
