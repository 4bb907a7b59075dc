"""At which price something that can be bought would be worth using."""

from __future__ import annotations

from fractions import Fraction

from planner.explain.priced_item import PricedItem
from planner.explain.threshold import Ask, Threshold
from planner.explain.variants import unlimited, using
from planner.schema.fleet import FleetChoice, FleetProblem

_MOST_STEPS = 60
"""Newton's steps are far fewer; each costs one search."""


class PriceSearch:
    """Newton's method on the least cost as a function of the price, which is concave and piecewise linear.

    A plan may cost V: as much as the best plan without the item where that keeps the budget, else as much as
    the budget allows. The price solves

        max over plans that use the item of (V - cost of everything else) / cost of the item today:

    each step is the price at which the last plan breaks even, and the last step is exact. Plans are told to
    use a GPU type; a line or a supplier starts at a price of nothing, at which it is used where that is of
    any use. Limits on the money of single periods of several are left aside.

    Source: Dinkelbach 1967, doi:10.1287/mnsc.13.7.492.
    """

    def __init__(self, item: PricedItem, ask: Ask, without: FleetChoice) -> None:
        """Nothing is searched yet.

        Args:
            item: what has the price, in a question that minimizes cost.
            ask: answers questions.
            without: the least cost without it, whatever the budget.
        """
        self.item, self.question, self.ask, self.without = item, item.question, ask, without

    def found(self) -> Threshold:
        """The highest price at which some plan uses it and costs no more than the best one may."""
        most_usd, sure = self._most_usd()
        if most_usd is None:
            return Threshold("always" if sure else "unknown")
        if self._pays_at_any_price(most_usd):
            return Threshold("always")
        return self._newton(most_usd, sure)

    def _most_usd(self) -> tuple[Fraction | None, bool]:
        """What a plan with the item may cost over all periods, and whether that is proved.

        None: nothing bounds it.
        """
        periods = self.question.periods
        caps = [
            row.most * periods
            for row in self.question.limits.rows
            if row.of_money and (periods == 1 or not row.every_period)
        ]
        if self.without.status == "optimal":
            caps.append(self.without.cost_usd)
        elif self.without.status != "infeasible":
            caps.append(self.without.lower_bound or Fraction(0))
        return min(caps, default=None), self.without.status in ("optimal", "infeasible")

    def _pays_at_any_price(self, most_usd: Fraction) -> bool:
        """A plan with its free lines alone costs no more than one without it."""
        free = self.item.only_free() if self.item.whole else None
        if free is None:
            return False
        choice = self.ask(unlimited(self._using(free)), "value")
        return choice.value is not None and choice.cost_usd <= most_usd

    def _newton(self, most_usd: Fraction, sure: bool) -> Threshold:
        item = self.item
        best = None if item.whole else Fraction(0)
        factor = Fraction(1 if item.whole else 0)
        for _ in range(_MOST_STEPS):
            choice = self.ask(unlimited(self._using(item.priced(factor))), "value")
            if choice.status == "infeasible":
                return Threshold("never")
            sure = sure and choice.status == "optimal"
            if choice.value is None:
                break
            own_usd = item.own_usd(choice)
            rest_usd = choice.cost_usd - factor * own_usd
            if item.whole and own_usd == 0 and rest_usd <= most_usd:
                return Threshold("always")
            even = (most_usd - rest_usd) / own_usd if own_usd else Fraction(-1)
            if best is not None and even <= best:
                break
            best, factor = even, max(even, Fraction(0))
            if not sure:
                break
        else:
            sure = False
        return self._told(best, sure)

    def _told(self, best: Fraction | None, sure: bool) -> Threshold:
        """The largest factor at which some plan breaks even; of a line or a supplier above nothing."""
        least = None if best is None or best <= 0 else best * self.item.unit
        if not sure or best is None:
            return Threshold("unknown", at_least=least)
        if best < 0 or (best == 0 and not self.item.whole):
            return Threshold("never")
        return Threshold("at", best * self.item.unit)

    def _using(self, question: FleetProblem) -> FleetProblem:
        """The question with the GPU type in use; of a line or a supplier as it is."""
        return using(question, self.item.gpu) if self.item.whole else question
