"""What is bought in every period: columns by line, what they provide, and the money."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

from planner.schema.fleet import Line
from planner.schema.limit_rows import Watts
from planner.solver.bounds import Caps
from planner.solver.mip.limits import LimitWriter, Purchases, Terms
from planner.solver.mip.mip import INF, Floats, Model
from planner.solver.mip.prepared import Prepared


class PurchaseWriter:
    """Writes the purchases of one prepared problem into models."""

    def __init__(self, prepared: Prepared, margin: float = 0.0) -> None:
        """Bounds of the columns are worked out once; ``margin``: part of money and power left unused."""
        self.prepared, self.keep = prepared, 1.0 - margin
        self.lines, self._caps = prepared.problem.lines, Caps(prepared.problem)
        self.limits = LimitWriter(prepared, self.keep)
        needs = self._most_gpus()
        self._most = [self._most_units(line, needs[line.gpu]) for line in self.lines]
        self._at: list[list[int]] = [[] for _ in prepared.stands]
        stands = {stand: number for number, stand in enumerate(prepared.stands)}
        for index, line in enumerate(self.lines):
            self._at[stands[line.host, line.site]].append(index)
        works = prepared.works
        # Finite, so that no price makes the purchases unbounded.
        self._most_api = 1.0 + 2 * sum(
            float(work.most_level * max(max(row, default=Fraction(0)) for row in api.usd_per_h))
            * len(api.usd_per_h[0])
            for work in works
            for api in work.apis
        )
        self._most_api += sum(
            float(prepared.problem.start_usd(pool.options[place.option], place.site))
            * pool.most_ever(place.option, work.most_level)
            for work in works
            if work.pays_starts
            for pool in work.pools
            for place in pool.places
        )

    def _most_gpus(self) -> dict[str, int]:
        """By type, GPUs that are of use: all replicas there could be, idle ones for spot's share, today's."""
        prepared, limits = self.prepared, self.prepared.problem.limits
        needs: dict[str, int | Fraction] = defaultdict(int)
        for work in prepared.works:
            for pool in work.pools:
                for place in pool.places:
                    room = pool.most_ever(place.option, work.most_level) * place.room_gpus
                    needs[pool.options[place.option].gpu] += room
        idle: dict[str, Fraction] = defaultdict(lambda: Fraction(1))
        reserve: dict[str, Fraction] = defaultdict(Fraction)
        for line in self.lines:
            if line.max_share:
                idle[line.gpu] = max(idle[line.gpu], 1 / line.max_share)
            reserve[line.gpu] = max(reserve[line.gpu], line.reserve)
        today = max(limits.changes.today_gpus.values(), default=0) if limits.changes else 0
        types = {line.gpu for line in self.lines}
        return {gpu: math.ceil(needs[gpu] * idle[gpu] / (1 - reserve[gpu])) + today for gpu in types}

    def _most_units(self, line: Line, most_gpus: int) -> int:
        gpus = most_gpus + 2 * line.unit_gpus
        cap = self._caps.lines[line.id]
        return (gpus if cap is None else min(gpus, math.floor(cap))) // line.unit_gpus

    def write(
        self,
        model: Model,
        periods: Sequence[int],
        *,
        reserved: Mapping[int, int] | None = None,
        around: Mapping[tuple[int, int], int] | None = None,
        weight: float = 1.0,
    ) -> Purchases:
        """Columns and rows of some periods.

        Args:
            model: where they go.
            periods: all of them, or one where nothing ties periods together.
            reserved: units of the reserved lines where they are fixed; their money is left out then.
            around: units by (period, line) of all periods, when a single period is written: start charges
                against the periods beside it.
            weight: of the objective.
        """
        found = Purchases()
        for index, line in enumerate(self.lines):
            if line.term == "reserved":
                low, high = (0, self._most[index]) if reserved is None else (reserved[index],) * 2
                price = self.price(line) * len(periods) if reserved is None else 0.0
                column = model.column(low, high, whole=True, cost=weight * price)
                for period in periods:
                    found.units[period, index] = column
            else:
                for period in periods:
                    cost = weight * self.price(line)
                    found.units[period, index] = model.column(0, self._most[index], whole=True, cost=cost)
        for period in periods:
            self._provide(model, found, period, weight)
            self.limits.write(model, found, period)
        self._money(model, found, periods, weight, around)
        for place in range(len(self.prepared.problem.limits.must_use)):
            found.constant[self.prepared.must_at(place)] = -1.0
        for number, row in enumerate(self.prepared.problem.limits.day):
            # Of each workload on its own a block tells nothing.
            found.constant[self.prepared.day_at(number)] = float(row.most)
        return found

    def price(self, line: Line) -> float:
        """What a unit of a line adds to the objective in an hour."""
        objective = self.prepared.problem.limits.objective
        if objective == "power":
            return 0.0
        return float(line.usd_per_gpu_h if objective == "cost" else 1) * line.unit_gpus

    def _provide(self, model: Model, found: Purchases, period: int, weight: float) -> None:
        prepared = self.prepared
        for number, members in enumerate(self._at):
            found.provides[prepared.stand_at(period, number)] = [
                (
                    found.units[period, index],
                    float((1 - self.lines[index].reserve) * self.lines[index].unit_gpus),
                )
                for index in members
            ]
        limits = prepared.problem.limits
        minimized = limits.objective == "power"
        for number, counted in enumerate(prepared.counted):
            cost = weight if minimized and counted == Watts() else 0.0
            column = model.column(0, self.limits.high[number], cost=cost)
            found.provides[prepared.counted_at(period, number)] = [(column, 1.0)]
        if prepared.pays_more:
            cost = weight if limits.objective == "cost" else 0.0
            found.provides[prepared.api_at(period)] = [(model.column(0, self._most_api, cost=cost), 1.0)]

    def _money(
        self,
        model: Model,
        found: Purchases,
        periods: Sequence[int],
        weight: float,
        around: Mapping[tuple[int, int], int] | None,
    ) -> None:
        """Start charges (around the cyclic day), limits on money and on the mean."""
        problem = self.prepared.problem
        size = {line.id: (index, float(line.unit_gpus)) for index, line in enumerate(self.lines)}
        spent: dict[int, Terms] = {
            period: [
                (found.units[period, index], float(line.usd_per_gpu_h * line.unit_gpus))
                for index, line in enumerate(self.lines)
            ]
            + found.provides.get(self.prepared.api_at(period), [])
            for period in periods
        }
        if len(periods) == self.prepared.periods > 1:
            for start in problem.starts:
                usd = float(start.usd_per_gpu)
                cost = weight * usd if problem.limits.objective == "cost" else 0.0
                mine = [size[name] for name in sorted(set(start.lines)) if name in size]
                for place, period in enumerate(periods):
                    more = model.column(0, INF, cost=cost)
                    now = [(found.units[period, index], -units) for index, units in mine]
                    before = [(found.units[periods[place - 1], index], units) for index, units in mine]
                    model.row([(more, 1.0), *now, *before], lower=0)
                    spent[period].append((more, usd))
        elif around is not None and self.prepared.periods > 1:
            self._starts_beside(model, found, periods[0], weight, around)
        self.limits.write_money(model, found, spent)

    def _starts_beside(
        self,
        model: Model,
        found: Purchases,
        period: int,
        weight: float,
        around: Mapping[tuple[int, int], int],
    ) -> None:
        problem, count = self.prepared.problem, self.prepared.periods
        if problem.limits.objective != "cost":
            return
        size = {line.id: (index, line.unit_gpus) for index, line in enumerate(self.lines)}
        for start in problem.starts:
            mine = [size[name] for name in sorted(set(start.lines)) if name in size]
            now = [(found.units[period, index], float(units)) for index, units in mine]
            before, after = (
                sum(around.get(((period + step) % count, index), 0) * units for index, units in mine)
                for step in (-1, 1)
            )
            cost = weight * float(start.usd_per_gpu)
            up, down = model.column(0, INF, cost=cost), model.column(0, INF, cost=cost)
            model.row([(up, 1.0), *((c, -a) for c, a in now)], lower=-before)
            model.row([(down, 1.0), *now], lower=after)


def balance(
    model: Model,
    uses: Sequence[tuple[int, Terms]],
    found: Purchases,
    used: Floats | None = None,
    penalties: Floats | None = None,
) -> dict[int, int]:
    """Rows by resource: what is used is at most what is provided.

    Args:
        model: where the rows go.
        uses: resource and columns that use it; several entries of one resource are added up.
        found: the purchases.
        used: what else is used, by resource.
        penalties: what a unit of use beyond the purchases counts, by resource; None: there is none.
    """
    by: dict[int, Terms] = {resource: [] for resource in {*found.provides, *found.constant}}
    for resource, terms in uses:
        by.setdefault(resource, []).extend(terms)
    rows = {}
    for resource in sorted(by):
        given = [(column, -entry) for column, entry in found.provides.get(resource, [])]
        fixed = 0.0 if used is None else float(used[resource])
        if penalties is not None:
            given.append((model.column(0, INF, cost=float(penalties[resource])), -1.0))
        rows[resource] = model.row([*by[resource], *given], upper=found.constant.get(resource, 0.0) - fixed)
    return rows
