"""Limits on the layouts of a whole day, in the CP-SAT model of a fleet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from planner.constraints.plan.day_usage import Layout, layout
from planner.schema.choice import Option
from planner.schema.fleet import FleetProblem
from planner.schema.limit_rows import DayRow
from planner.solver.cp.periods import Periods, original
from planner.solver.cp.replicas import Replicas
from planner.solver.cp_sat import Expr, cp_model, total

Uses = dict[Layout, list[Expr]]
"""By layout and period, 1 when it is in use."""


def post_day(replicas: Replicas, periods: Periods) -> None:
    """Rows over the binaries that tell which options are in use in which period."""
    rows = periods.fleet.limits.day
    if not rows:
        return
    day = _Day(replicas, periods)
    counted: dict[str, list[Expr]] = defaultdict(list)
    for workload in sorted({demand.workload for demand in periods.fleet.demands}):
        for row in periods.fleet.day_rows(workload):
            amount = day.count(row, workload)
            if row.counts != "hours" and row.each:
                day.at_most(amount, row.most)
            elif row.counts != "hours":
                counted[row.id] += amount
    for row in rows:
        day.at_most(counted[row.id], row.most)


class _Day:
    """The binaries of one model."""

    def __init__(self, replicas: Replicas, periods: Periods) -> None:
        self.cp, self.replicas, self.periods = replicas.cp, replicas, periods
        self.fleet: FleetProblem = periods.fleet
        self.span = periods.days.count
        self._ever: dict[str, dict[str, cp_model.IntVar]] = {}
        self._uses: dict[str, Uses] = {}

    def at_most(self, amount: Sequence[Expr], most: int) -> None:
        """The sum of binaries."""
        if any(not isinstance(one, int) for one in amount):
            self.cp.add(total(amount) <= most)

    def count(self, row: DayRow, workload: str) -> list[Expr]:
        """The binaries that a row counts of one workload; of lives none, but their rows."""
        if row.counts == "changes":
            return self._changes(workload)
        if row.counts == "hours":
            self._lives(workload, row.most)
            return []
        ever = self._options(workload)
        own = self.periods.own
        if row.counts == "pools":
            return list(ever.values())
        if row.counts == "places":
            named = dict(row.sites)
            at = {name: named.get(self.fleet.sites_of(own[name])[0]) for name in ever}
            return self._any_of((at[name], literal) for name, literal in ever.items() if at[name])
        roles: dict[str, list[tuple[object, cp_model.IntVar]]] = defaultdict(list)
        for name, literal in ever.items():
            roles[own[name].role].append((layout(own[name]), literal))
        serve = self._any_of(roles["serve"])
        for role in ("prefill", "decode"):
            self.at_most([*serve, *self._any_of(roles[role])], row.most)
        return []

    def _any_of(self, items: Iterable[tuple[object, cp_model.IntVar]]) -> list[Expr]:
        """A binary for every name: 1 when any of its literals is."""
        found: dict[object, cp_model.IntVar] = {}
        for name, literal in items:
            if name not in found:
                found[name] = self.cp.new_bool_var(f"day[{name}]")
            self.cp.add_implication(literal, found[name])
        return list(found.values())

    def _members(self, workload: str) -> list[tuple[int, Option]]:
        """Options with replicas in the model, by period, under the names of the model."""
        return [
            (int(pool.demand.workload.partition(":")[0]), option)
            for pool in self.replicas.pools
            if original(pool.demand.workload) == workload
            for option in pool.options
            if self.replicas.upper[option.id]
        ]

    def _options(self, workload: str) -> Mapping[str, cp_model.IntVar]:
        """By option, 1 when it is in use in any period."""
        if workload not in self._ever:
            mine = self._ever.setdefault(workload, {})
            for _, option in self._members(workload):
                name = original(option.id)
                if name not in mine:
                    mine[name] = self.cp.new_bool_var(f"ever[{name}]")
                self.cp.add_implication(self.replicas.is_used(option), mine[name])
        return self._ever[workload]

    def _layouts(self, workload: str) -> Uses:
        if workload not in self._uses:
            found: Uses = {}
            for t, option in self._members(workload):
                own = self.periods.own[original(option.id)]
                # One site each: no two options of a period are the same layout (places are HiGHS's).
                found.setdefault(layout(own), [0] * self.span)[t] = self.replicas.is_really_used(option)
            self._uses[workload] = found
        return self._uses[workload]

    def _changes(self, workload: str) -> list[Expr]:
        found: list[Expr] = []
        for t in range(self.span):
            changed = self.cp.new_bool_var(f"changed[{workload}@{t}]")
            for uses in self._layouts(workload).values():
                self.cp.add(changed >= uses[t] - uses[t - 1])
                self.cp.add(changed >= uses[t - 1] - uses[t])
            found.append(changed)
        return found

    def _lives(self, workload: str, hours: int) -> None:
        for uses in self._layouts(workload).values():
            for t in range(self.span):
                for later in range(1, min(hours, self.span)):
                    self.cp.add(uses[t] - uses[t - 1] <= uses[(t + later) % self.span])
