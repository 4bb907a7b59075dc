"""Budget: money in every hour, or on average over a day or month."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from planner import numbers
from planner.constraints.plan.limit import LinearLimit, Stated
from planner.schema.limit_rows import LimitRow
from planner.schema.supply import HOURS_PER_DAY, HOURS_PER_MONTH, Budgets

_KEYS = {"": "per_hour", "day": "per_day", "month": "per_month"}
_HOURS = {"": 1, "day": HOURS_PER_DAY, "month": HOURS_PER_MONTH}


class Budget(LinearLimit):
    """Everything that is paid in an hour, start charges and outside suppliers too: USD <= budget."""

    kind = "budget"
    title = "budget"
    unit = "USD/h"
    source = "problem file, fleet.budget"
    path = "fleet.budget"
    plain = True

    def rows(self, stated: Stated) -> Iterator[LimitRow]:
        """By the hour, and on average over 24 or 730 hours; one alone is just ``budget``."""
        asked = stated.fleet.budget
        if asked is None:
            return
        if not isinstance(asked, Budgets):
            yield self.of(Fraction(asked))
            return
        values = {span: getattr(asked, key) for span, key in _KEYS.items()}
        found = {span: value for span, value in values.items() if value is not None}
        for span, value in found.items():
            # Moves are stated per hour; a budget by day or month is not, so no path fits it.
            path = None if span else "fleet.budget.per_hour"
            owner = span if len(found) > 1 else ""
            yield self.of(Fraction(value) / _HOURS[span], owner, every_period=not span, path=path)

    def of(
        self,
        usd_per_h: Fraction,
        span: str = "",
        every_period: bool = True,
        path: str | None = "fleet.budget",
    ) -> LimitRow:
        """The row of one budget."""
        title = "budget" if every_period else "budget on average"
        return self.row(usd_per_h, span, money=True, every_period=every_period, title=title,
                        step=Fraction(1), path=path)  # fmt: skip

    def keys(self, name: str) -> tuple[str, ...]:
        """Beside others, a budget stands under its own key."""
        span = name.partition(":")[2]
        return ("fleet", "budget", _KEYS[span]) if span in ("day", "month") else ("fleet", "budget")

    def in_words(self, value: object, name: str) -> str:
        """As the problem writes it: USD in a day or month, or a text with its unit."""
        span = name.partition(":")[2]
        return f"{value} USD in {_HOURS[span]} h" if span in ("day", "month") else str(value)

    def above(self, row: LimitRow) -> str:
        """In words."""
        return f"the budget of {numbers.usd(float(row.most))}/h"
