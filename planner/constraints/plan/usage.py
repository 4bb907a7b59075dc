"""What a plan takes of its limits: exact sums, without a solver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from planner.schema.fleet import FleetProblem, PeriodChoice
from planner.schema.limit_rows import LimitRow, LineWeight

_NONE = Fraction(0)


class Usage:
    """Of one plan."""

    def __init__(
        self, question: FleetProblem, periods: Sequence[PeriodChoice], usd: Iterable[Fraction]
    ) -> None:
        """``usd``: what every period costs."""
        self.periods, self.usd = periods, tuple(usd)
        self.lines = {line.id: line for line in question.lines}
        self.options = question.options_by_id

    def by_period(self, row: LimitRow) -> list[Fraction]:
        """The left side of a row in every period; where it is a share, the share."""
        return [self._amount(row, t) for t in range(len(self.periods))]

    def of(self, row: LimitRow) -> Fraction:
        """What the row must allow at least: the most of any period, or the mean."""
        amounts = self.by_period(row)
        return max(amounts) if row.every_period else sum(amounts, _NONE) / len(amounts)

    def replicas(self, row: LimitRow) -> int:
        """Replicas that count, in the period with most of them."""
        counts = ((row.replicas, period) for period in self.periods)
        return max(
            sum(
                count
                for (name, site), count in period.counts.items()
                if weight is not None and weight(self.options[name], site)
            )
            for weight, period in counts
        )

    def _amount(self, row: LimitRow, t: int) -> Fraction:
        period, total = self.periods[t], _NONE
        if row.gpus is not None:
            total += self._gpus(row.gpus, period.bought)
        if row.replicas is not None:
            total += sum(
                row.replicas(self.options[name], site) * count
                for (name, site), count in period.counts.items()
            )
        if row.money:
            total += self.usd[t]
        if row.part_of is None or not total:
            return total
        return total / self._gpus(row.part_of, period.bought)

    def _gpus(self, weight: LineWeight, bought: Mapping[str, int]) -> Fraction:
        return sum((Fraction(weight(self.lines[line])) * n for line, n in bought.items() if n), _NONE)
