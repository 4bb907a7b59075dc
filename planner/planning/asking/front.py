"""Fronts of a fleet: plans of which none is beaten on cost, GPUs, power and number of providers at once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, get_args

from planner.constraints.fleet_check import bill
from planner.constraints.plan.max_gpus import MaxGpus
from planner.constraints.plan.power import Power
from planner.errors import Fault, InputError, nearest
from planner.explain.variants import capped, without_kinds
from planner.planning.answering.several import FleetChoices, Solve, found, suppliers_of
from planner.schema.fleet import FleetChoice, FleetProblem

FrontAxis = Literal["cost", "gpus", "power", "providers"]

_BOUNDED: tuple[FrontAxis, ...] = ("gpus", "power", "providers")
_MOST_SOLVES = 300


def fleet_front(
    question: FleetProblem,
    axes: Sequence[FrontAxis],
    solve: Solve,
    most_solves: int = _MOST_SOLVES,
    max_cost_ratio: float | None = None,
) -> FleetChoices:
    """Plans of which none is at least as good as another on every axis and better on one, by their values.

    ``cost`` is the sum over the periods, ``gpus`` and ``power`` the largest in any period, ``providers`` how
    many providers and outside suppliers anything is bought from. Cost is minimized while the others are
    bounded step by step below what was reached: GPUs and power as limits of the question, providers by
    leaving only so many of them, every combination. Exact as far as every solve is proved.

    Args:
        question: what is asked; its objective gives way to cost.
        axes: what is traded.
        solve: answers questions.
        most_solves: questions at most; a front that they end is not exhausted.
        max_cost_ratio: plans that cost more than so many times the cheapest are left out; None: none is.

    Raises:
        InputError: an unknown axis, one named twice, or fewer than two.
    """
    _check(axes)
    priced = replace(question, limits=replace(question.limits, objective="cost"))
    walk = _Walk(priced, solve, most_solves, max_cost_ratio)
    plans = walk.down(_Bounds(), [axis for axis in _BOUNDED if axis in axes])
    kept: dict[tuple[Fraction, ...], FleetChoice] = {}
    for plan in plans:
        kept.setdefault(tuple(front_value(question, plan, axis) for axis in axes), plan)
    front = sorted(mine for mine in kept if not any(_beats(other, mine) for other in kept))
    return FleetChoices(tuple(kept[point] for point in front), exhausted=walk.proved)


def _beats(one: tuple[Fraction, ...], other: tuple[Fraction, ...]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def front_value(question: FleetProblem, choice: FleetChoice, axis: FrontAxis) -> Fraction:
    """What a plan reaches on an axis: USD over all periods, most GPUs, most watts, providers."""
    if axis == "providers":
        return Fraction(len(suppliers_of(question, choice)))
    total = bill(question, choice.periods)
    if axis == "cost":
        return total.usd
    if axis == "gpus":
        return Fraction(max(sum(period.gpus.values()) for period in total.periods))
    return max(period.power_w for period in total.periods)


@dataclass(frozen=True)
class _Bounds:
    """What a plan may reach at most; None: as the question says."""

    gpus: int | None = None
    power_w: Fraction | None = None
    suppliers: frozenset[str] | None = None
    """Providers and outside suppliers that may be bought from."""


class _Walk:
    """Every plan that was asked for, by its bounds."""

    def __init__(
        self, question: FleetProblem, solve: Solve, most_solves: int, max_cost_ratio: float | None
    ) -> None:
        self.question, self.solve, self.left = question, solve, most_solves
        self.proved = True
        self.ratio = None if max_cost_ratio is None else Fraction(max_cost_ratio)
        self._cheapest_usd: Fraction | None = None
        providers = {line.site.provider for line in question.lines}
        self.suppliers = sorted(providers | {api.id for api in question.apis})
        self.watt_step = _divisor(option.power_w for option in question.options)
        self._known: dict[_Bounds, FleetChoice | None] = {}

    def down(self, bounds: _Bounds, axes: Sequence[FrontAxis]) -> list[FleetChoice]:
        """Walk the last axis down, and the others at each of its levels, until nothing is left.

        The next level lies below the largest value that this one reached: a plan between the two would be
        beaten by the plan there.
        """
        if not axes:
            plan = self._plan(bounds)
            return [] if plan is None else [plan]
        axis, others = axes[-1], axes[:-1]
        plans: list[FleetChoice] = []
        level = self.down(bounds, others)
        while level:
            plans += level
            most = max(front_value(self.question, plan, axis) for plan in level)
            level = [plan for tight in self._below(bounds, axis, most) for plan in self.down(tight, others)]
        return plans

    def _below(self, bounds: _Bounds, axis: FrontAxis, reached: Fraction) -> Iterator[_Bounds]:
        """Bounds that only smaller values keep; none where there is no smaller value."""
        if axis == "providers":
            allowed = self.suppliers if bounds.suppliers is None else sorted(bounds.suppliers)
            for some in itertools.combinations(allowed, max(int(reached) - 1, 0)):
                yield replace(bounds, suppliers=frozenset(some))
        elif axis == "gpus" and reached > 0:
            yield replace(bounds, gpus=int(reached) - 1)
        elif axis == "power" and reached > 0:
            yield replace(bounds, power_w=reached - self.watt_step)

    def _plan(self, bounds: _Bounds) -> FleetChoice | None:
        if bounds not in self._known:
            if not self.left:
                self.proved = False
                return None
            self.left -= 1
            choice = self.solve(self._bounded(bounds))
            self.proved = self.proved and choice.status in ("optimal", "infeasible")
            self._known[bounds] = choice if found(choice) and not self._too_dear(choice) else None
        return self._known[bounds]

    def _too_dear(self, choice: FleetChoice) -> bool:
        """Cost is minimized under every bound: where this plan is too dear, every tighter one is."""
        usd = front_value(self.question, choice, "cost")
        if self._cheapest_usd is None:
            self._cheapest_usd = usd
        return self.ratio is not None and 0 < self._cheapest_usd * self.ratio < usd

    def _bounded(self, bounds: _Bounds) -> FleetProblem:
        question = self.question
        limits = question.limits
        if bounds.gpus is not None:
            limits = capped(limits, MaxGpus().of(bounds.gpus))
        if bounds.power_w is not None:
            limits = capped(limits, Power().of(bounds.power_w))
        question = replace(question, limits=limits)
        if bounds.suppliers is None:
            return question
        away = frozenset(line.id for line in question.lines if line.site.provider not in bounds.suppliers)
        apis = frozenset(api.id for api in question.apis) - bounds.suppliers
        return without_kinds(question, apis, away)


def _divisor(values: Iterable[Fraction]) -> Fraction:
    """The largest number of which all values are multiples; 0 where all are 0."""
    found = Fraction(0)
    for value in values:
        below = math.lcm(found.denominator, value.denominator)
        found = Fraction(math.gcd(int(found * below), int(value * below)), below)
    return found


def _check(axes: Sequence[FrontAxis]) -> None:
    known = get_args(FrontAxis)
    faults = [
        Fault("--axes", "", f'"{name}"', f"some of {', '.join(known)}", nearest(name, known))
        for name in axes
        if name not in known
    ]
    if len(set(axes)) < len(axes):
        faults.append(Fault("--axes", "", f'"{",".join(axes)}"', "every axis once"))
    if not faults and len(axes) < 2:
        faults.append(Fault("--axes", "", f'"{",".join(axes)}"', "two axes or more", '"cost,gpus"'))
    if faults:
        raise InputError(faults)
