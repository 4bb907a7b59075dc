"""At which price, or at which speed, a GPU type would be worth using."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from planner.constraints.choice_check import bill
from planner.schema.choice import Choice, ChoiceProblem, Limits, Option, PoolDemand, Supply
from planner.schema.reasons import Goal
from planner.solver.solve import solve

Ask = Callable[[ChoiceProblem, Goal], Choice]
Verdict = Literal["at", "always", "never", "unknown"]

_SLOWEST = Fraction(1, 1024)
"""Of today's speed: slower ones are not tried."""
_SPEED_STEP = Fraction(1, 200)
"""The factor of speed is found to this part of itself."""
_DIGITS = 5
_MOST_STEPS = 60
"""Newton's steps are far fewer; each costs one search."""


@dataclass(frozen=True)
class Threshold:
    """A value up to which (price) or from which (speed) some optimal plan uses the GPU."""

    verdict: Verdict
    """``at`` the value; ``always`` or ``never`` whatever the value (a speed: down to 1/1024 of today's);
    ``unknown`` where a limit ended it."""
    value: Fraction | None = None


@dataclass(frozen=True)
class BreakEven:
    """What would make one GPU type worth using, other things as they are.

    Prices of all its offers move together, in proportion: relations between instance sizes and providers
    stay. They are told by the cheapest offer. Where all its offers are free today, they get one price
    per GPU.
    """

    gpu: str
    usd_per_gpu_h: Fraction
    """Price of the cheapest offer today."""
    price: Threshold | None
    """Highest USD per GPU-hour of that offer at which an optimal plan uses the GPU; exact.

    None where cost is not minimized.
    """
    speed: Threshold
    """Smallest factor on all its rates at which an optimal plan uses it, at today's prices and latencies."""


def break_even(problem: ChoiceProblem, gpu: str, ask: Ask | None = None) -> BreakEven | None:
    """Break-even price and speed of a GPU type; None where the problem has no option on it.

    A plan is worth as much as the best plan without the GPU where that keeps the budget, else as much as the
    budget allows. The price solves

        max over plans that use the GPU of (worth - cost of everything else) / cost of its GPUs today,

    by Newton's method on the least cost as a function of the price, which is concave and piecewise
    linear: each step is the price at which the last plan breaks even, and the last step is exact. The speed
    is found by bisection: whoever is faster needs no more replicas, and where one replica carries the whole
    demand, more speed changes nothing.

    Args:
        problem: what is asked; latencies stay as they are when the speed changes.
        gpu: the GPU type.
        ask: solves problems for a goal; `solve` when absent.

    Source: Dinkelbach 1967, doi:10.1287/mnsc.13.7.492.
    """
    if not any(option.gpu == gpu for option in problem.options):
        return None
    asked = ask or (lambda question, goal: solve(question, goal=goal))
    case = _Case(problem, gpu, asked)
    cost = problem.limits.objective == "cost"
    return BreakEven(gpu, case.today_usd_per_gpu_h, case.price() if cost else None, case.speed())


class _Case:
    """One GPU type in one problem."""

    def __init__(self, problem: ChoiceProblem, gpu: str, ask: Ask) -> None:
        self.problem, self.gpu, self.ask = problem, gpu, ask
        supplies = {supply.id: supply for supply in problem.supplies}
        mine = [option for option in problem.options if option.gpu == gpu]
        self.supplies = {option.supply for option in mine}
        self.today_usd_per_gpu_h = min(_per_gpu(option, supplies[option.supply]) for option in mine)
        # The budget is part of what a plan may cost, see `_worth`.
        self.unlimited = replace(problem.limits, budget_usd_per_h=None)
        others = tuple(option for option in problem.options if option.gpu != gpu)
        self.without = self._solved(replace(problem, options=others, limits=self.unlimited), "value")

    # -- price ------------------------------------------------------------------------------------------

    def price(self) -> Threshold:
        """Newton's method from today's price."""
        if self.without is None:
            return Threshold("unknown")
        worth, best, factor = self._worth(self.without), None, Fraction(1)
        if worth is None:
            return Threshold("always")
        for _ in range(_MOST_STEPS):
            choice = self._solved(self._using(self._priced(factor), self.unlimited), "value")
            if choice is None:
                break
            if choice.status == "infeasible":
                return Threshold("never")
            own, rest = self._parts(choice)
            if own == 0 and rest <= worth:
                return Threshold("always")
            even = (worth - rest) / own if own else Fraction(-1)
            if best is not None and even <= best:
                found = best * (self.today_usd_per_gpu_h or 1)
                return Threshold("at", found) if best >= 0 else Threshold("never")
            best, factor = even, max(even, Fraction(0))
        return Threshold("unknown")

    def _worth(self, without: Choice) -> Fraction | None:
        """What a plan with the GPU may cost; None when nothing bounds it."""
        caps = [without.value, self.problem.limits.budget_usd_per_h]
        return min((cap for cap in caps if cap is not None), default=None)

    def _parts(self, choice: Choice) -> tuple[Fraction, Fraction]:
        """Cost of the GPU at today's prices, and of everything else."""
        today = self._priced(Fraction(1))
        whole = bill(today, choice.counts, choice.units).cost_usd_per_h
        own = replace(today, options=tuple(o for o in today.options if o.gpu == self.gpu))
        units = {name: count for name, count in choice.units.items() if name in self.supplies}
        cost = bill(own, choice.counts, units).cost_usd_per_h
        return cost, whole - cost

    # -- speed ------------------------------------------------------------------------------------------

    def speed(self) -> Threshold:
        """Bisection: whatever carries the demand still carries it when the GPU is faster."""
        if self.without is None:
            return Threshold("unknown")
        limits = _capped(self.problem.limits, self.without.value)
        today = self._pays(limits, self.problem)
        low, high = (_SLOWEST, Fraction(1)) if today else (Fraction(1), self._enough())
        end = self._pays(limits, self._faster(_SLOWEST) if today else self._boundless())
        if today is None or end is None:
            return Threshold("unknown")
        if today == end:
            return Threshold("always" if today else "never")
        while high > low * (1 + _SPEED_STEP):
            middle = Fraction(f"{math.sqrt(low * high):.{_DIGITS}g}")
            pays = self._pays(limits, self._faster(middle))
            if pays is None:
                return Threshold("unknown")
            low, high = (low, middle) if pays else (middle, high)
        return Threshold("at", high)

    def _pays(self, limits: Limits, question: ChoiceProblem) -> bool | None:
        """Some plan uses the GPU and is as good as the best without it."""
        found = self._solved(self._using(question, limits), "any")
        return None if found is None else found.status != "infeasible"

    def _enough(self) -> Fraction:
        """The factor with which one replica of any option on the GPU carries its whole demand."""
        pairs = zip(self.problem.options, self._boundless().options, strict=True)
        factors = (
            fast / rate
            for today, boundless in pairs
            for rate, fast in zip(today.rates_rps, boundless.rates_rps, strict=True)
            if rate
        )
        return max(factors, default=Fraction(1))

    # -- questions --------------------------------------------------------------------------------------

    def _using(self, problem: ChoiceProblem, limits: Limits) -> ChoiceProblem:
        """The problem with the GPU in use."""
        return replace(problem, limits=replace(limits, must_use=(*limits.must_use, self.gpu)))

    def _priced(self, factor: Fraction) -> ChoiceProblem:
        """All offers of the GPU times a factor; where they are free today, the factor in USD per GPU."""
        free = self.today_usd_per_gpu_h == 0
        options = tuple(
            replace(option, usd_per_h=factor * (option.gpus if free else option.usd_per_h))
            if option.gpu == self.gpu
            else option
            for option in self.problem.options
        )
        supplies = tuple(
            replace(supply, usd_per_unit_h=factor * (_gpus(supply) if free else supply.usd_per_unit_h))
            if supply.id in self.supplies
            else supply
            for supply in self.problem.supplies
        )
        return replace(self.problem, options=options, supplies=supplies)

    def _faster(self, factor: Fraction) -> ChoiceProblem:
        """All options on the GPU with their rates times a factor."""
        return self._rated(lambda option: tuple(rate * factor for rate in option.rates_rps))

    def _boundless(self) -> ChoiceProblem:
        """One replica of every option on the GPU carries its whole demand."""
        whole = {demand.pool: _carrying_all(demand) for demand in self.problem.demands}

        def rates(option: Option) -> tuple[Fraction, ...]:
            pairs = zip(option.rates_rps, whole[option.pool], strict=True)
            return tuple(max(rate, all_rps) if rate else rate for rate, all_rps in pairs)

        return self._rated(rates)

    def _rated(self, rates: Callable[[Option], tuple[Fraction, ...]]) -> ChoiceProblem:
        """Options on the GPU with other rates."""
        options = tuple(
            replace(option, rates_rps=rates(option)) if option.gpu == self.gpu else option
            for option in self.problem.options
        )
        return replace(self.problem, options=options)

    def _solved(self, question: ChoiceProblem, goal: Goal) -> Choice | None:
        """The answer; None where a limit of time left it open."""
        choice = self.ask(question, goal)
        open_ended = choice.status == "unknown" or (goal == "value" and choice.status == "feasible")
        return None if open_ended else choice


def _carrying_all(demand: PoolDemand) -> tuple[Fraction, ...]:
    """Rates with which one replica carries the demand of every bucket at once, within its utilization."""
    factor = len(demand.demand_rps) / demand.max_utilization
    return tuple(need * factor for need in demand.demand_rps)


def _capped(limits: Limits, value: Fraction | None) -> Limits:
    """The limits, and the objective at most at a value."""
    if value is None:
        return limits
    if limits.objective == "gpus":
        return replace(limits, max_gpus=int(_least(limits.max_gpus, value)))
    if limits.objective == "power":
        return replace(limits, power_w=_least(limits.power_w, value))
    return replace(limits, budget_usd_per_h=_least(limits.budget_usd_per_h, value))


def _least(cap: Fraction | int | None, value: Fraction) -> Fraction:
    return value if cap is None else min(Fraction(cap), value)


def _per_gpu(option: Option, supply: Supply) -> Fraction:
    if supply.purchase == "option":
        return option.usd_per_h / option.gpus
    return supply.usd_per_unit_h / _gpus(supply)


def _gpus(supply: Supply) -> int:
    """GPUs that its price is for."""
    return supply.unit_gpus if supply.purchase == "unit" else 1
