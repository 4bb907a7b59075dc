"""A fleet as one plain mixed-integer program in floats, solved by SCIP: shares stay continuous.

Written from the equations of `planner.schema.fleet.FleetProblem` alone; no row, bound or dominance of the
solver is used. Takes single replicas or one spare of its own option as the only spares.
"""

from __future__ import annotations

from ortools.linear_solver import pywraplp
from plan_limits import plain


def smallest_value(problem):
    """The smallest objective, or None where there is no plan."""
    program = _Program(problem)
    status = program.mip.Solve()
    if status == pywraplp.Solver.INFEASIBLE:
        return None
    assert status == pywraplp.Solver.OPTIMAL
    return program.mip.Objective().Value()


class _Program:
    def __init__(self, problem):
        self.problem = problem
        self.mip = pywraplp.Solver.CreateSolver("SCIP")
        self.mip.SetSolverSpecificParametersAsString("limits/gap = 0.0\nnumerics/feastol = 1e-9")
        self.bought, self.replicas = {}, {}
        objective = {"cost": [], "gpus": [], "power": []}
        held = {line.id: self._whole() for line in problem.lines if line.term == "reserved"}
        for t in range(problem.periods):
            for line in problem.lines:
                units = held.get(line.id) or self._whole()
                self.bought[line.id, t] = line.unit_gpus * units
            for option in problem.options:
                for site in problem.sites_of(option):
                    self.replicas[option.id, site, t] = self._whole()
            self._hosts(t)
            for demand in problem.demands:
                self._pool(demand, t)
        for t in range(problem.periods):
            usd, watts = self._usd(t), self._watts(t)
            objective["cost"].append(usd)
            objective["gpus"].append(self._sum(line.id for line in problem.lines)(t))
            objective["power"].append(watts)
            self._limits(t, usd, watts)
        self.mip.Minimize(sum(objective[problem.limits.objective]))

    def _whole(self):
        return self.mip.IntVar(0, 10**4, "")

    def _sum(self, names):
        names = list(names)
        return lambda t: sum(self.bought[name, t] for name in names)

    def _usd(self, t):
        problem = self.problem
        usd = sum(float(line.usd_per_gpu_h) * self.bought[line.id, t] for line in problem.lines)
        for start in problem.starts if problem.periods > 1 else ():
            more, gpus = self.mip.NumVar(0, 10**5, ""), self._sum(start.lines)
            self.mip.Add(more >= gpus(t) - gpus((t - 1) % problem.periods))
            usd += float(start.usd_per_gpu) * more
        return usd

    def _watts(self, t):
        return sum(float(o.power_w) * self._count(o, t) for o in self.problem.options)

    def _count(self, option, t):
        return sum(self.replicas[option.id, site, t] for site in self.problem.sites_of(option))

    def _hosts(self, t):
        for host in self.problem.hosts:
            mine = [line for line in self.problem.lines if line.host == host.id]
            for site in {line.site for line in mine}:
                room = sum((1 - float(ln.reserve)) * self.bought[ln.id, t] for ln in mine if ln.site == site)
                taken = [
                    host.room_gpus(o) * self.replicas[o.id, site, t]
                    for o in self.problem.options
                    if o.supply == host.id and (o.id, site, t) in self.replicas
                ]
                self.mip.Add(sum(taken) <= room)
        for line in self.problem.lines:
            if line.max_gpus is not None:
                self.mip.Add(self.bought[line.id, t] <= line.max_gpus)
            if line.max_share is not None:
                every = self._sum(other.id for other in self.problem.lines if other.gpu == line.gpu)
                self.mip.Add(self.bought[line.id, t] <= float(line.max_share) * every(t))

    def _pool(self, demand, t):
        options = [o for o in self.problem.options if o.pool == demand.pool]
        counts = {o.id: self._count(o, t) for o in options}
        own = demand.spares.count if demand.spares.kind == "per_option" else 0
        spare = demand.spares.count if demand.spares.kind == "replicas" else 0
        assert spare <= 1
        assert demand.mix
        used = {o.id: self.mip.BoolVar("") for o in options}
        for option in options:
            self.mip.Add(counts[option.id] <= 1000 * used[option.id])
            self.mip.Add(counts[option.id] >= max(1, own) * used[option.id])
        self.mip.Add(sum(counts.values()) >= max(demand.min_replicas, spare))
        if own:
            self._carried(demand, t, options, {o.id: counts[o.id] - own * used[o.id] for o in options})
            return
        # Every option in use may lose a replica; what is left carries the demand in a split of its own.
        for gone in options if spare else [None]:
            left = {o.id: counts[o.id] - (used[o.id] if o is gone else 0) for o in options}
            self._carried(demand, t, options, left)

    def _carried(self, demand, t, options, left):
        loads = {option.id: [] for option in options}
        for b, need in enumerate(demand.demand_rps[t]):
            if not need:
                continue
            parts = []
            for option in (o for o in options if o.rates_rps[b]):
                part = self.mip.NumVar(0, 1, "")
                parts.append(part)
                loads[option.id].append(float(need / option.rates_rps[b]) * part)
            self.mip.Add(sum(parts) == 1)
        for option in options:
            self.mip.Add(sum(loads[option.id]) <= float(demand.max_utilization) * left[option.id])

    def _limits(self, t, usd, watts):
        limits, lines = plain(self.problem.limits), self.problem.lines
        for gpu, stock in limits.stock_gpus.items():
            self.mip.Add(self._sum(line.id for line in lines if line.gpu == gpu)(t) <= stock)
        for quota in limits.quotas:
            self.mip.Add(self._sum(quota.lines)(t) <= quota.gpus)
        for budget in limits.budgets:
            assert budget.every_period
            self.mip.Add(usd <= float(budget.usd_per_h))
        if limits.max_gpus is not None:
            self.mip.Add(self._sum(line.id for line in lines)(t) <= limits.max_gpus)
        if limits.power_w is not None:
            self.mip.Add(watts <= float(limits.power_w))
        owners = {option.id: option.workload for option in self.problem.options}
        for workload, count in limits.max_replicas.items():
            mine = (n for (o, _, u), n in self.replicas.items() if u == t and workload in ("", owners[o]))
            self.mip.Add(sum(mine) <= count)
