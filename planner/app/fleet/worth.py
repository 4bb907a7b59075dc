"""At which price a line of the supply or an outside supplier is worth using, and from which volume to own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from planner.app.fleet.moved import with_volume
from planner.app.fleet.several import Solve, found, without_kinds
from planner.constraints.fleet_check import bill
from planner.schema.fleet import FleetChoice, FleetProblem

Verdict = Literal["at", "always", "never", "unknown"]

_MOST_STEPS = 40
_SMALLEST = Fraction(1, 1000)
_LARGEST = 1024
"""Volumes tried go from a thousandth of today's up to so many times today's."""


@dataclass(frozen=True)
class PriceWorth:
    """What something may cost and still be part of a best plan."""

    id: str
    """Of a line of the supply or of an outside supplier."""
    today: Fraction
    """USD per GPU-hour of a line; 1 for an outside supplier, whose prices move together."""
    verdict: Verdict
    """``at`` the price; ``always`` (nothing else serves) or ``never`` (not even for nothing); ``unknown``
    where a search was cut."""
    price: Fraction | None = None
    """Below it every best plan uses it; in the unit of ``today``."""
    at_least: Fraction | None = None
    """Proved even where the verdict is unknown: below this it is used."""


@dataclass(frozen=True)
class Volume:
    """From which demand of a workload on owning is no dearer than an outside supplier."""

    workload: str
    verdict: Verdict
    """``at`` the volume; ``always`` (at a thousandth of today's demand already); ``never`` up to 1024 times
    today's or up to what limits allow; ``unknown`` where a search was cut."""
    factor: Fraction | None = None
    """On today's demand."""
    usd_per_h: Fraction | None = None
    """What either costs there, the mean over the periods, beside the other workloads."""
    at_least: Fraction | None = None
    """Factor below which the outside supplier is surely cheaper, down to a thousandth."""


# -- prices -------------------------------------------------------------------------------------------------


def line_worth(question: FleetProblem, line: str, solve: Solve) -> PriceWorth:
    """The price below which a line of the supply is part of the best plan; start charges stay as they are.

    Raises:
        KeyError: no such line.
    """
    today = {one.id: one.usd_per_gpu_h for one in question.lines}[line]

    def priced(usd: Fraction) -> FleetProblem:
        lines = (replace(one, usd_per_gpu_h=usd) if one.id == line else one for one in question.lines)
        return replace(question, lines=tuple(lines))

    def amount(choice: FleetChoice) -> Fraction:
        return Fraction(sum(period.bought.get(line, 0) for period in choice.periods))

    without = without_kinds(question, frozenset(), frozenset({line}))
    return _worth(question, line, today, without, priced, amount, solve)


def api_worth(question: FleetProblem, api: str, solve: Solve) -> PriceWorth:
    """The factor on all prices of an outside supplier below which it is part of the best plan.

    Raises:
        KeyError: no such supplier.
    """
    mine = {one.id: one for one in question.apis}[api]

    def priced(factor: Fraction) -> FleetProblem:
        rows = tuple(tuple(usd * factor for usd in row) for row in mine.usd_per_h)
        changed = replace(mine, usd_per_h=rows)
        return replace(question, apis=tuple(changed if one.id == api else one for one in question.apis))

    only = replace(question, apis=(mine,))

    def amount(choice: FleetChoice) -> Fraction:
        return sum((period.api_usd for period in bill(only, choice.periods).periods), Fraction(0))

    without = without_kinds(question, frozenset({api}), frozenset())
    return _worth(question, api, Fraction(1), without, priced, amount, solve)


def _worth(
    question: FleetProblem,
    name: str,
    today: Fraction,
    without: FleetProblem,
    priced: Callable[[Fraction], FleetProblem],
    amount: Callable[[FleetChoice], Fraction],
    solve: Solve,
) -> PriceWorth:
    """Newton's method from a price of nothing.

    With V the least cost without it, a plan that buys the amount a beside a cost r of everything else is as
    good up to the price (V - r) / a. The least cost is concave and piecewise linear in the price, so each
    step is the price up to which the last plan is worth it, and the last step is exact. Limits on the money
    of single periods are left aside; those on the mean bound V.

    Source: Dinkelbach 1967, doi:10.1287/mnsc.13.7.492.
    """
    cap, sure = _cap(question, solve(_free(without)))
    if cap is None:
        return PriceWorth(name, today, "always" if sure else "unknown")
    price, reached = Fraction(0), None
    for _ in range(_MOST_STEPS):
        choice = solve(_free(priced(price)))
        if choice.status == "infeasible":
            return PriceWorth(name, today, "never")
        own = amount(choice)
        sure = sure and choice.status == "optimal"
        if not found(choice) or own == 0 or choice.cost_usd >= cap:
            break
        price = reached = price + (cap - choice.cost_usd) / own
    else:
        sure = False
    if not sure:
        return PriceWorth(name, today, "unknown", at_least=reached)
    return PriceWorth(name, today, "never" if reached is None else "at", reached, reached)


def _cap(question: FleetProblem, without: FleetChoice) -> tuple[Fraction | None, bool]:
    """What a plan may cost at most to be worth it, and whether that is proved; None: nothing bounds it."""
    sure = without.status in ("optimal", "infeasible")
    caps = [
        budget.usd_per_h * question.periods
        for budget in question.limits.budgets
        if not budget.every_period or question.periods == 1
    ]
    if without.status == "optimal":
        caps.append(without.cost_usd)
    elif without.status != "infeasible":
        caps.append(without.lower_bound or Fraction(0))
    return min(caps, default=None), sure


def _free(question: FleetProblem) -> FleetProblem:
    """The question for the least cost, without limits on money."""
    return replace(question, limits=replace(question.limits, budgets=(), objective="cost"))


# -- volume -------------------------------------------------------------------------------------------------


def break_even_volume(question: FleetProblem, workload: str, solve: Solve) -> Volume:
    """The smallest demand of a workload at which owning alone costs no more than an outside supplier alone.

    The supplier's bill grows in proportion to the demand, the cost of owning in steps that never fall. So
    from a demand at which owning costs c, nothing is even before the demand that the supplier serves for c:
    that is tried next, until a step changes nothing. Beyond that point a step up may make the supplier
    cheaper again for a while. All periods and buckets move together, other workloads stay; limits on money
    are left aside.

    Raises:
        KeyError: the workload has no outside supplier.
    """
    if not any(api.workload == workload for api in question.apis):
        raise KeyError(workload)
    mine = frozenset(option.id for option in question.options if option.workload == workload)
    apis = frozenset(api.id for api in question.apis if api.workload == workload)
    rest_usd = _others_usd(question, workload, mine | apis, solve)
    bought = solve(_free(without_kinds(question, mine, frozenset())))
    if rest_usd is None or bought.status != "optimal":
        return Volume(workload, "unknown")
    bill_usd = bought.cost_usd - rest_usd
    owned = _free(without_kinds(question, apis, frozenset()))
    factor = _SMALLEST
    for _ in range(_MOST_STEPS):
        choice = solve(with_volume(owned, workload, factor))
        least = choice.cost_usd if choice.status == "optimal" else choice.lower_bound
        if choice.status == "infeasible" or (least is not None and bill_usd <= 0 < least - rest_usd):
            return Volume(workload, "never")
        if least is None:
            break
        if least - rest_usd <= bill_usd * factor:
            if choice.status != "optimal":
                break
            verdict: Verdict = "always" if factor == _SMALLEST else "at"
            return Volume(workload, verdict, factor, choice.cost_usd / question.periods, factor)
        factor = _up((least - rest_usd) / bill_usd)
        if factor > _LARGEST:
            return Volume(workload, "never")
    return Volume(workload, "unknown", at_least=factor)


def _others_usd(
    question: FleetProblem, workload: str, kinds: frozenset[str], solve: Solve
) -> Fraction | None:
    """What the other workloads cost alone; None where that is not proved."""
    kept = tuple(demand for demand in question.demands if demand.workload != workload)
    couplings = tuple(one for one in question.couplings if one.workload != workload)
    rest = without_kinds(question, kinds, frozenset())
    if not kept:
        return Fraction(0)
    choice = solve(_free(replace(rest, demands=kept, couplings=couplings)))
    return choice.cost_usd if choice.status == "optimal" else None


def _up(factor: Fraction) -> Fraction:
    """Rounded up to a millionth: short numbers in what is asked next."""
    return Fraction(-(-factor * 1_000_000 // 1), 1_000_000)
