"""At which speed a GPU type would be worth using."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from planner.constraints.plan.budget import Budget
from planner.constraints.plan.max_gpus import MaxGpus
from planner.constraints.plan.power import Power
from planner.explain.threshold import Ask, Threshold
from planner.explain.variants import capped, using
from planner.schema.choice import Option
from planner.schema.fleet import FleetChoice, FleetDemand, FleetLimits, FleetProblem
from planner.schema.reasons import Goal

_SLOWEST = Fraction(1, 1024)
"""Of today's speed: slower ones are not tried."""
_SPEED_STEP = Fraction(1, 200)
"""The factor of speed is found to this part of itself."""
_DIGITS = 5


class SpeedSearch:
    """Bisection on the factor: whatever carries the demand still carries it when the GPU is faster.

    Whoever is faster needs no more replicas, and where one replica carries the whole demand, more speed
    changes nothing.
    """

    def __init__(self, question: FleetProblem, gpu: str, ask: Ask, without: FleetChoice) -> None:
        """Nothing is searched yet.

        Args:
            question: what is asked, at today's prices and latencies.
            gpu: the GPU type whose options become faster, prefill and decode alike.
            ask: answers questions.
            without: the best plan without the GPU.
        """
        self.question, self.gpu, self.ask, self.without = question, gpu, ask, without

    def found(self) -> Threshold:
        """The smallest factor at which some plan uses the GPU and is as good as the best without it."""
        if self.without.status not in ("optimal", "infeasible"):
            return Threshold("unknown")
        today = self._pays(self.question)
        low, high = (_SLOWEST, Fraction(1)) if today else (Fraction(1), self._enough())
        end = self._pays(self._faster(_SLOWEST) if today else self._boundless())
        if today is None or end is None:
            return Threshold("unknown")
        if today == end:
            return Threshold("always" if today else "never")
        while high > low * (1 + _SPEED_STEP):
            middle = Fraction(f"{math.sqrt(low * high):.{_DIGITS}g}")
            pays = self._pays(self._faster(middle))
            if pays is None:
                return Threshold("unknown")
            low, high = (low, middle) if pays else (middle, high)
        return Threshold("at", high)

    def _pays(self, question: FleetProblem) -> bool | None:
        """Some plan uses the GPU and is as good as the best without it; None where that stayed open."""
        most = self.without.value
        limits = question.limits if most is None else _capped(question.limits, most, question.periods)
        goal: Goal = "value" if limits is None else "any"
        asked = question if limits is None else replace(question, limits=limits)
        choice = self.ask(using(asked, self.gpu), goal)
        if choice.status == "infeasible":
            return False
        if choice.value is not None and (most is None or choice.value <= most):
            return True
        bound = choice.value if choice.status == "optimal" else choice.lower_bound
        return False if bound is not None and most is not None and bound > most else None

    def _enough(self) -> Fraction:
        """The factor with which one replica of any option on the GPU carries its whole demand."""
        pairs = zip(self.question.options, self._boundless().options, strict=True)
        factors = (
            fast / rate
            for today, boundless in pairs
            for rate, fast in zip(today.rates_rps, boundless.rates_rps, strict=True)
            if rate
        )
        return max(factors, default=Fraction(1))

    def _faster(self, factor: Fraction) -> FleetProblem:
        """All options on the GPU with their rates times a factor."""
        return self._rated(lambda option: tuple(rate * factor for rate in option.rates_rps))

    def _boundless(self) -> FleetProblem:
        """One replica of every option on the GPU carries its whole demand in every period."""
        whole = {demand.pool: _carrying_all(demand) for demand in self.question.demands}

        def rates(option: Option) -> tuple[Fraction, ...]:
            if option.pool not in whole:
                return option.rates_rps
            pairs = zip(option.rates_rps, whole[option.pool], strict=True)
            return tuple(max(rate, all_rps) if rate else rate for rate, all_rps in pairs)

        return self._rated(rates)

    def _rated(self, rates: Callable[[Option], tuple[Fraction, ...]]) -> FleetProblem:
        """Options on the GPU with other rates."""
        options = tuple(
            replace(option, rates_rps=rates(option)) if option.gpu == self.gpu else option
            for option in self.question.options
        )
        return replace(self.question, options=options)


def _carrying_all(demand: FleetDemand) -> tuple[Fraction, ...]:
    """Rates with which one replica carries the demand of every bucket at once, within its utilization.

    Of work that may wait, all that arrives in all periods.
    """
    level = Fraction(1)
    if demand.deferrable is not None:
        level = max(level, sum(demand.deferrable.arrivals, Fraction(0)))
    factor = len(demand.buckets) * level / demand.max_utilization
    return tuple(max(needs) * factor for needs in zip(*demand.demand_rps, strict=True))


def _capped(limits: FleetLimits, value: Fraction, periods: int) -> FleetLimits | None:
    """The limits, and the objective at most at a value; None where no limit says that."""
    if limits.objective == "cost":
        return capped(limits, Budget().of(value / periods, "break-even", every_period=periods == 1))
    if periods > 1:
        return None
    row = MaxGpus().of(int(value)) if limits.objective == "gpus" else Power().of(value)
    return capped(limits, row)
