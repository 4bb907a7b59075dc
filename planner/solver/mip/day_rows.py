"""Limits on the layouts of a whole day: rows of one workload over its periods.

    u_ot <= N_ot            in use (its other half, N <= most u, stands with the pool)
    d_o >= u_ot             a layout of the day
    c_t >= |u_ot - u_o,t-1|  a change in period t, around the day
    u_ot - u_o,t-1 <= u_o,t+k    k = 1 … hours - 1: what begins stays
    most x_os >= N_ost      a pool; most p >= N_ost a place

Sums over several workloads are resources, like GPUs: each block says what it uses of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from planner.constraints.plan.day_usage import Layout, layout
from planner.schema.limit_rows import DayRow
from planner.schema.supply_lines import Site
from planner.solver.mip.mip import Model
from planner.solver.mip.pool_rows import Block, PoolWriter
from planner.solver.mip.prepared import Prepared


class DayRows:
    """Writes them when all periods of the workload have been written."""

    def __init__(self, prepared: Prepared, model: Model, block: Block) -> None:
        """Of one workload."""
        self.prepared, self.model, self.block = prepared, model, block
        self.work = prepared.works[block.work]
        self.writers: dict[int, Sequence[PoolWriter]] = {}
        self._uses: dict[Layout, dict[int, int]] | None = None

    def write(self) -> None:
        """All rows on this workload."""
        for number, row in enumerate(self.prepared.problem.limits.day):
            if row.of(self.work.name):
                amount = self._count(row)
                if row.counts != "hours" and row.each:
                    self._at_most(amount, row.most)
                elif amount:
                    uses = self.block.uses.setdefault(self.prepared.day_at(number), [])
                    uses.extend((column, 1.0) for column in amount)

    def _at_most(self, columns: Sequence[int], most: int) -> None:
        if len(columns) > most:
            self.model.row([(column, 1.0) for column in columns], upper=most)

    def _count(self, row: DayRow) -> list[int]:
        if row.counts == "changes":
            return self._changes()
        if row.counts == "hours":
            self._lives(row.most)
            return []
        if row.counts == "places":
            named = dict(row.sites)
            return self._at(lambda number, index: named.get(self._site(number, index)))
        if row.counts == "pools":
            return self._at(self._pool)
        roles: dict[str, list[int]] = defaultdict(list)
        for mine, periods in self._layouts().items():
            ever = self.model.column(0, 1, whole=True)
            for column in periods.values():
                self.model.row([(ever, 1.0), (column, -1.0)], lower=0)
            roles[mine[1]].append(ever)
        for role in ("prefill", "decode"):
            self._at_most([*roles["serve"], *roles[role]], row.most)
        return []

    def _pool(self, number: int, index: int) -> Hashable:
        """An option at a place, whatever line it stands on."""
        place = self.work.pools[number].places[index]
        return number, place.option, place.site.place

    def _site(self, number: int, index: int) -> Site:
        return self.work.pools[number].places[index].site

    def _at(self, name_of: Callable[[int, int], Hashable]) -> list[int]:
        """A binary for every name of places: 1 when replicas stand at one of them in any period."""
        found: dict[Hashable, int] = {}
        for (_, number, index), column in self.block.counts.items():
            name = name_of(number, index)
            if name is None:
                continue
            if name not in found:
                found[name] = self.model.column(0, 1, whole=True)
            most = float(self.model.upper[column])
            self.model.row([(column, 1.0), (found[name], -most)], upper=0)
        return list(found.values())

    def _layouts(self) -> Mapping[Layout, Mapping[int, int]]:
        """By layout and period, the binary that it is in use."""
        if self._uses is None:
            members: dict[Layout, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
            for period, writers in self.writers.items():
                for writer in writers:
                    for option, column in writer.really_in_use():
                        members[layout(writer.pool.options[option])][period].append(column)
            self._uses = {
                mine: {period: self._any_of(columns) for period, columns in periods.items()}
                for mine, periods in members.items()
            }
        return self._uses

    def _any_of(self, columns: Sequence[int]) -> int:
        if len(columns) == 1:
            return columns[0]
        one = self.model.column(0, 1, whole=True)
        for column in columns:
            self.model.row([(one, 1.0), (column, -1.0)], lower=0)
        self.model.row([(one, -1.0), *((column, 1.0) for column in columns)], lower=0)
        return one

    def _changes(self) -> list[int]:
        found = []
        count = self.prepared.periods
        for t in range(count):
            changed = self.model.column(0, 1, whole=True)
            for uses in self._layouts().values():
                step = [*_term(uses, t, 1.0), *_term(uses, (t - 1) % count, -1.0)]
                self.model.row([(changed, 1.0), *((c, -a) for c, a in step)], lower=0)
                self.model.row([(changed, 1.0), *step], lower=0)
            found.append(changed)
        return found

    def _lives(self, hours: int) -> None:
        count = self.prepared.periods
        for uses in self._layouts().values():
            for t in range(count):
                begins = [*_term(uses, t, 1.0), *_term(uses, (t - 1) % count, -1.0)]
                for later in range(1, min(hours, count)):
                    self.model.row([*begins, *_term(uses, (t + later) % count, -1.0)], upper=0)


def _term(uses: Mapping[int, int], period: int, factor: float) -> Iterable[tuple[int, float]]:
    """The binary of a period; none where the layout cannot be in use."""
    return [(uses[period], factor)] if period in uses else []
