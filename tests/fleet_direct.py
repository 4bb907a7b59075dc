"""A fleet problem written down a second time, straight from its definition, and solved by SCIP."""

import itertools
from collections import defaultdict

from ortools.linear_solver import pywraplp
from plan_limits import plain


class Direct:
    """One variable for everything, one row for every sentence; slow, and for small problems only."""

    def __init__(self, problem):
        self.p = problem
        self.s = pywraplp.Solver.CreateSolver("SCIP")
        self.hosts = {host.id: host for host in problem.hosts}
        self.n = {}
        self.g = {}
        self.api_usd = defaultdict(list)
        self.levels = {}
        self.day = {}
        self.use = {}
        for t in range(problem.periods):
            for line in problem.lines:
                units = self.s.IntVar(0, 10_000, "")
                self.g[t, line.id] = units * line.unit_gpus
        for line in problem.lines:
            if line.term == "reserved":
                for t in range(1, problem.periods):
                    self.s.Add(self.g[t, line.id] == self.g[0, line.id])
        self._levels()
        for t in range(problem.periods):
            for name in sorted({d.workload for d in problem.demands}):
                self._workload(name, t)
            self._balance(t)
        self._limits()
        for row in problem.limits.day:
            self._of_day(row)
        for group in {group for group, _ in self.day}:
            self.s.Add(self.s.Sum([one for (mine, _), one in self.day.items() if mine == group]) <= 1)

    def _all_day(self, group, name, binary):
        """Of a group one is taken for all periods."""
        if (group, name) not in self.day:
            self.day[group, name] = self.s.BoolVar("")
        self.s.Add(binary <= self.day[group, name])

    def add(self, terms, low=None, high=None):
        total = self.s.Sum([f * v for f, v in terms]) if terms else 0
        if low is not None:
            self.s.Add(total >= low)
        if high is not None:
            self.s.Add(total <= high)

    def _levels(self):
        done = set()
        for d in self.p.demands:
            if d.deferrable is None or d.workload in done:
                continue
            done.add(d.workload)
            count = self.p.periods
            into = defaultdict(list)
            for start, arrived in enumerate(d.deferrable.arrivals):
                flows = [self.s.NumVar(0, 1e6, "") for _ in range(d.deferrable.deadline)]
                self.s.Add(self.s.Sum(flows) == float(arrived))
                for step, flow in enumerate(flows):
                    into[(start + step) % count].append(flow)
            for t in range(count):
                self.levels[d.workload, t] = self.s.Sum(into[t])

    def _workload(self, name, t):  # noqa: C901 one sentence after the other
        p, s = self.p, self.s
        pools = [d for d in p.demands if d.workload == name]
        apis = [api for api in p.apis if api.workload == name]
        level = self.levels.get((name, t), 1)
        modes = sorted({"serve" if d.role == "serve" else "split" for d in pools})
        active = {mode: s.BoolVar("") for mode in modes}
        for mode, one in () if all(d.mix for d in pools) else active.items():
            self._all_day(name, mode, one)
        total = s.Sum(list(active.values()))
        s.Add(total <= 1) if apis else s.Add(total == 1)
        buckets = range(len(pools[0].buckets))
        part = {(mode, b): s.NumVar(0, 100, "") for mode in modes for b in buckets}
        for b in buckets:
            if not any(d.demand_rps[t][b] > 0 for d in pools):
                continue
            outside = [s.NumVar(0, 100, "") for _ in apis]
            for api, taken in zip(apis, outside, strict=True):
                self.api_usd[t].append(float(api.usd_per_h[t][b]) * taken)
            s.Add(s.Sum([part[mode, b] for mode in modes]) + s.Sum(outside) == level)
        for (mode, _), served in part.items():
            s.Add(served <= 100 * active[mode])
        used = {}
        for d in pools:
            mode = "serve" if d.role == "serve" else "split"
            used[d.role] = self._pool(d, t, active[mode], {b: part[mode, b] for b in buckets})
        for coupling in p.couplings:
            if coupling.workload == name:
                for (a, x), (b, y) in itertools.product(used.get("prefill", []), used.get("decode", [])):
                    wait = max(a.transfer_s or 0, b.transfer_s or 0)
                    limit = coupling.ttft_limit_s
                    late = limit is not None and a.ttft_s is not None and a.ttft_s + wait > limit
                    if late or (a.kv and b.kv and a.kv != b.kv):
                        s.Add(x + y <= 1)

    def _pool(self, d, t, active, part):  # noqa: C901 one sentence after the other
        p, s = self.p, self.s
        options = [o for o in p.options if o.pool == d.pool]
        most = 60
        use, places = {}, {}
        for o in options:
            use[o.id] = s.BoolVar("")
            places[o.id] = {site: s.IntVar(0, most, "") for site in p.sites_of(o)}
            for site, n in places[o.id].items():
                self.n[t, o.id, site] = n
            s.Add(s.Sum(list(places[o.id].values())) <= most * use[o.id])
            s.Add(s.Sum(list(places[o.id].values())) >= use[o.id])
            self.use[t, o.id] = use[o.id]
        total = s.Sum([n for mine in places.values() for n in mine.values()])
        spares = d.spares.count
        least = max(d.min_replicas, spares if d.spares.kind == "replicas" else 0)
        s.Add(total >= least * active)
        s.Add(total <= most * len(options) * active)
        if not d.mix:
            for name, one in use.items():
                self._all_day(d.pool, name, one)
        for o in options:
            if o.replicas_from > 1:
                s.Add(total >= o.replicas_from * use[o.id])
            if o.replicas_to is not None:
                s.Add(total <= o.replicas_to + most * len(options) * (1 - use[o.id]))
        left = {o.id: s.Sum(list(places[o.id].values())) for o in options}
        self._carry(d, t, options, part, left)
        if spares and d.spares.kind == "per_option":
            own = {name: n - spares * use[name] for name, n in left.items()}
            for n in own.values():
                s.Add(n >= 0)
            self._carry(d, t, options, part, own)
        if spares and d.spares.kind == "replicas":
            assert spares == 1
            for o in options:
                self._carry(d, t, options, part, {**left, o.id: left[o.id] - use[o.id]})
        if spares and d.spares.kind in ("zones", "providers"):

            def key(site):
                return site.provider if d.spares.kind == "providers" else site.place

            parts = sorted({key(site) for mine in places.values() for site in mine})
            for gone in itertools.combinations(parts, min(spares, len(parts))):
                stay = {
                    name: s.Sum([n for site, n in mine.items() if key(site) not in gone])
                    for name, mine in places.items()
                }
                self._carry(d, t, options, part, stay)
        return [(o, use[o.id]) for o in options]

    def _carry(self, d, t, options, part, left):
        s = self.s
        loads = defaultdict(list)
        for b, need in enumerate(d.demand_rps[t]):
            if need > 0:
                shares = []
                for o in options:
                    if o.rates_rps[b] > 0:
                        y = s.NumVar(0, 100, "")
                        shares.append(y)
                        loads[o.id].append(float(need / o.rates_rps[b] / d.max_utilization) * y)
                s.Add(s.Sum(shares) == part[b])
        for o in options:
            s.Add(s.Sum(loads[o.id]) <= left[o.id])

    def _balance(self, t):
        room = defaultdict(list)
        options = {o.id: o for o in self.p.options}
        for (period, name, site), n in self.n.items():
            if period == t:
                o = options[name]
                room[o.supply, site].append(self.hosts[o.supply].room_gpus(o) * n)
        for (host, site), terms in room.items():
            given = [
                float(1 - line.reserve) * self.g[t, line.id]
                for line in self.p.lines
                if (line.host, line.site) == (host, site)
            ]
            self.s.Add(self.s.Sum(terms) <= self.s.Sum(given))

    def _limits(self):  # noqa: C901 one sentence after the other
        p, s, limits = self.p, self.s, plain(self.p.limits)
        options = {o.id: o for o in p.options}
        cost, power, gpus = [], [], []
        for t in range(p.periods):
            spent = [float(line.usd_per_gpu_h) * self.g[t, line.id] for line in p.lines] + self.api_usd[t]
            by_gpu = defaultdict(list)
            for line in p.lines:
                by_gpu[line.gpu].append(self.g[t, line.id])
                if line.max_gpus is not None:
                    s.Add(self.g[t, line.id] <= line.max_gpus)
            for line in p.lines:
                if line.max_share is not None:
                    s.Add(self.g[t, line.id] <= float(line.max_share) * s.Sum(by_gpu[line.gpu]))
            for gpu, stock in limits.stock_gpus.items():
                s.Add(s.Sum(by_gpu[gpu]) <= stock)
            for quota in limits.quotas:
                s.Add(s.Sum([self.g[t, name] for name in quota.lines]) <= quota.gpus)
            bought = s.Sum([self.g[t, line.id] for line in p.lines])
            if limits.max_gpus is not None:
                s.Add(bought <= limits.max_gpus)
            if limits.changes is not None:
                moved = []
                for gpu in {*by_gpu, *limits.changes.today_gpus}:
                    x = s.NumVar(0, 1e6, "")
                    moved.append(x)
                    today = limits.changes.today_gpus.get(gpu, 0)
                    s.Add(x >= s.Sum(by_gpu[gpu]) - today)
                    s.Add(x >= today - s.Sum(by_gpu[gpu]))
                s.Add(s.Sum(moved) <= limits.changes.most)
            for start in p.starts:
                more = s.NumVar(0, 1e6, "")
                now = s.Sum([self.g[t, name] for name in start.lines])
                before = s.Sum([self.g[(t - 1) % p.periods, name] for name in start.lines])
                s.Add(more >= now - before)
                spent.append(float(start.usd_per_gpu) * more)
            spent += self._replica_starts(t, options)
            watts = s.Sum([float(options[o].power_w) * n for (u, o, _), n in self.n.items() if u == t])
            if limits.power_w is not None:
                s.Add(watts <= float(limits.power_w))
            for workload, count in limits.max_replicas.items():
                running = [n for (u, o, _), n in self.n.items()
                           if u == t and workload in ("", options[o].workload)]  # fmt: skip
                s.Add(s.Sum(running) <= count)
            for budget in limits.budgets:
                if budget.every_period:
                    s.Add(s.Sum(spent) <= float(budget.usd_per_h))
            cost.extend(spent)
            power.append(watts)
            gpus.append(bought)
        for budget in limits.budgets:
            if not budget.every_period:
                s.Add(s.Sum(cost) <= float(budget.usd_per_h) * p.periods)
        for gpu in limits.must_use:
            s.Add(s.Sum([n for (_, o, _), n in self.n.items() if options[o].gpu == gpu]) >= 1)
        self.objective = s.Sum({"cost": cost, "power": power, "gpus": gpus}[limits.objective])
        s.Minimize(self.objective)

    def _replica_starts(self, t, options):
        """(Start and drain) x GPUs x the price of the line, where every line of the site is rented."""
        p, s, spent = self.p, self.s, []
        for (u, name, site), n in self.n.items() if p.periods > 1 else ():
            o = options[name]
            mine = [line for line in p.lines if (line.host, line.site) == (o.supply, site)]
            if u != t or not o.start_h + o.drain_h or any(ln.term in ("owned", "reserved") for ln in mine):
                continue
            more = s.NumVar(0, 1e6, "")
            s.Add(more >= n - self.n[(t - 1) % p.periods, name, site])
            price = min(float(line.usd_per_gpu_h) for line in mine)
            gpus = float(self.hosts[o.supply].room_gpus(o))
            spent.append(float(o.start_h + o.drain_h) * gpus * price * more)
        return spent

    def _of_day(self, row):
        p, s, every = self.p, self.s, []
        for name in sorted({d.workload for d in p.demands} & {row.workload or d.workload for d in p.demands}):
            counted = self._count(row, name)
            if row.each:
                for terms in counted:
                    s.Add(s.Sum(terms) <= row.most)
            else:
                (terms,) = counted
                every += terms
        if not row.each:
            s.Add(s.Sum(every) <= row.most)

    def _count(self, row, name):  # noqa: C901 one sentence after the other
        """Binaries of which no more than the limit may be 1; several lists where all of them count."""
        p, s, span = self.p, self.s, range(self.p.periods)
        options = [o for o in p.options if o.workload == name]
        layouts = {}
        for o in options:
            layouts.setdefault((o.role, o.anywhere), []).append(o.id)
        running = {}
        for key, names in layouts.items():
            for t in span:
                running[key, t] = one = s.BoolVar("")
                found = [self.use[t, n] for n in names if (t, n) in self.use]
                s.Add(s.Sum(found) >= one)
                for use in found:
                    s.Add(one >= use)
        if row.counts == "hours":
            for key, t in running:
                for later in range(min(row.most, p.periods)):
                    begins = running[key, t] - running[key, t - 1 if t else p.periods - 1]
                    s.Add(running[key, (t + later) % p.periods] >= begins)
            return [[]] if row.each else []
        if row.counts == "changes":
            found = [s.BoolVar("") for _ in span]
            for key in layouts:
                for t in span:
                    before = running[key, t - 1 if t else p.periods - 1]
                    s.Add(found[t] >= running[key, t] - before)
                    s.Add(found[t] >= before - running[key, t])
            return [found]
        if row.counts == "layouts":
            ever = {key: s.BoolVar("") for key in layouts}
            for (key, _), one in running.items():
                s.Add(ever[key] >= one)
            return [[one for (role, _), one in ever.items() if role in ("serve", other)]
                    for other in ("prefill", "decode")]  # fmt: skip
        ids = {o.id for o in options}
        stood, named = {}, dict(row.sites)
        for (_, o, site), n in self.n.items():
            key = (o, site.place) if row.counts == "pools" else named.get(site)
            if o in ids and key is not None:
                if key not in stood:
                    stood[key] = s.BoolVar("")
                s.Add(n <= 60 * stood[key])
        return [list(stood.values())]

    def simplest(self, tolerance, rows):
        """Pools, changes and places of the simplest plan within a tolerance of the optimum."""
        best = self.value()
        if best is None:
            return None
        self.s.Add(self.objective <= best * (1 + tolerance) + 1e-7)
        found = []
        for row in rows:
            every = []
            for name in sorted({d.workload for d in self.p.demands}):
                (terms,) = self._count(row, name)
                every += terms
            total = self.s.Sum(every)
            self.s.Minimize(total)
            found.append(round(self.value()))
            self.s.Add(total <= found[-1])
        return found

    def value(self):
        """The least objective; None where there is no plan."""
        status = self.s.Solve()
        if status == pywraplp.Solver.OPTIMAL:
            return self.s.Objective().Value()
        assert status == pywraplp.Solver.INFEASIBLE, status
        return None
