"""The limits of the plan as rows over the purchases of every period."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from planner.schema.limit_rows import GpusOfType, LimitRow, LineWeight, ReplicaWeight
from planner.solver.bounds import posted
from planner.solver.mip.mip import INF, Model
from planner.solver.mip.prepared import Prepared

Terms = list[tuple[int, float]]
MOST_SHARES = 20
"""Lines of one type with a largest share up to which each row names every line of the type."""


@dataclass
class Purchases:
    """The columns of the purchases in a model, and what they provide."""

    units: dict[tuple[int, int], int] = field(default_factory=dict)
    """Column by (period, line); of a reserved line the same one in every period."""
    provides: dict[int, Terms] = field(default_factory=dict)
    """By resource: the uses may not sum to more than this plus `constant`."""
    constant: dict[int, float] = field(default_factory=dict)


class LimitWriter:
    """Writes the limits of one prepared problem."""

    def __init__(self, prepared: Prepared, keep: float) -> None:
        """``keep``: the part of limits on money and replicas that may be used."""
        self.prepared, self.keep = prepared, keep
        self.lines, self.rows = prepared.problem.lines, posted(prepared.problem)
        self.high = [self._high(weight) for weight in prepared.counted]
        """What the replicas of a period may count at most, by `Prepared.counted`."""

    def _high(self, weight: ReplicaWeight) -> float:
        """Of what the replicas of a period count: limits on that alone bound the column, without a row.

        Finite in any case, so that no price makes the purchases unbounded.
        """
        caps = [float(row.most) * self.keep for row in self.rows if _bounds(row) and row.replicas == weight]
        return min([self._most_of(weight), *caps])

    def write(self, model: Model, found: Purchases, period: int) -> None:
        """Limits on GPUs and replicas of one period, and changes against today."""
        whole = self._wholes(model, found, period)
        for row in self.rows:
            if row.every_period and not row.money and not _bounds(row):
                terms = self._terms(found, row, period)
                if row.part_of is not None:
                    share, members = float(row.most), whole[row.part_of]
                    model.row([*terms, *((c, -share * a) for c, a in members)], upper=0)
                elif terms:
                    keep = 1.0 if row.of_gpus else self.keep
                    model.row(terms, upper=float(row.most) * keep)
        self._changes(model, found, period)

    def _terms(self, found: Purchases, row: LimitRow, period: int) -> Terms:
        """What counts for a limit in one period, but money."""
        terms = [] if row.gpus is None else self._gpu_terms(found, row.gpus, period)
        if row.replicas is not None:
            number = self.prepared.counted.index(row.replicas)
            terms = [*terms, *found.provides[self.prepared.counted_at(period, number)]]
        return terms

    def _gpu_terms(self, found: Purchases, weight: LineWeight, period: int) -> Terms:
        weights = ((index, float(weight(line)) * line.unit_gpus) for index, line in enumerate(self.lines))
        return [(found.units[period, index], each) for index, each in weights if each]

    def _wholes(self, model: Model, found: Purchases, period: int) -> dict[LineWeight, Terms]:
        """What shares are a part of; one column for many rows: each would name every line of it."""
        every: dict[LineWeight, Terms] = {}
        wholes = Counter(row.part_of for row in self.rows if row.part_of is not None)
        for weight, rows in wholes.items():
            every[weight] = self._gpu_terms(found, weight, period)
            if rows > MOST_SHARES:
                column = model.column(0, INF)
                model.row([(column, -1.0), *every[weight]], 0, 0)
                every[weight] = [(column, 1.0)]
        return every

    def _changes(self, model: Model, found: Purchases, period: int) -> None:
        limits = self.prepared.problem.limits
        if limits.changes is None:
            return
        today, moved = limits.changes.today_gpus, []
        for gpu in sorted({*today, *(line.gpu for line in self.lines)}):
            change, terms = model.column(0, INF), self._gpu_terms(found, GpusOfType(gpu), period)
            moved.append((change, 1.0))
            model.row([(change, 1.0), *((c, -a) for c, a in terms)], lower=-today.get(gpu, 0))
            model.row([(change, 1.0), *terms], lower=today.get(gpu, 0))
        model.row(moved, upper=limits.changes.most)

    def _most_of(self, weight: ReplicaWeight) -> float:
        """What all replicas there could be count together, and a little more."""
        return 1.0 + sum(
            float(weight(pool.options[place.option], place.site))
            * pool.most_ever(place.option, work.most_level)
            for work in self.prepared.works
            for pool in work.pools
            for place in pool.places
        )

    def write_money(self, model: Model, found: Purchases, spent: Mapping[int, Terms]) -> None:
        """Limits on money, and those on the mean, by what every period spends."""
        for row in self.rows:
            if row.every_period and row.money:
                for period in spent:
                    terms = [*self._terms(found, row, period), *spent[period]]
                    model.row(terms, upper=float(row.most) * self.keep)
            elif not row.every_period and len(spent) == self.prepared.periods:
                own = [term for period in spent for term in self._terms(found, row, period)]
                usd = [term for terms in spent.values() for term in terms] if row.money else []
                model.row([*own, *usd], upper=float(row.most) * len(spent) * self.keep)


def _bounds(row: LimitRow) -> bool:
    """The limit is one on what the replicas of a period count, and on nothing else."""
    alone = row.gpus is None and not row.money and row.part_of is None
    return alone and row.every_period and row.replicas is not None
