"""Pools that serve several length classes, at the traffic that they really get."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from planner import numbers
from planner.candidates.options import MICRO
from planner.planning.documents.class_traffic import added_up_rps, capacity_rps, carries_rps, mixed_part
from planner.planning.documents.pools import FleetPool, fleet_pools
from planner.planning.formulation.fleet_case import FleetCase
from planner.planning.formulation.mixed_options import Where, lowered, one_class_each
from planner.schema.fleet import FleetChoice, FleetProblem

_ROUNDS = 6
_ROUNDING = 1 - Fraction(1, MICRO)
"""Rates are rounded down to a millionth."""
_NONE = Fraction(0)
Mix = tuple[tuple[str, float], ...]
Solve = Callable[[FleetProblem], FleetChoice]


def settled(case: FleetCase, solve: Solve) -> tuple[FleetCase, FleetChoice]:
    """The answer to a question with length classes, in which every pool keeps its limits at its real mix.

    That classes of one pool add up as rps / rate is an assumption: waits depend on all of them. So every pool
    of an answer is evaluated at the mix that it gets. Where one carries less than assumed, the rates of all
    configurations that do so at such mixes are lowered by their factors, beside options for one class each
    at the full rate, and the question is asked again. What is not settled after some rounds serves one class
    a pool: those rates were evaluated. Without classes this is one solve. Where time ends a round, the plan
    of the round before stands, and says what its pools lack.
    """
    choice = solve(case.question)
    if not case.classes:
        return case, choice
    for last in (*(False,) * (_ROUNDS - 1), True):
        factors = _factors(case, choice)
        if not factors:
            break
        slower = _one_class_each(case, factors) if last else _counted_less(case, factors)
        again = solve(slower.question)
        if again.status == "unknown":
            lines = (*case.warnings, *_settled_lines(case), *_open(factors))
            return replace(case, warnings=lines), replace(choice, status="feasible")
        case, choice = slower, again
    return replace(case, warnings=(*case.warnings, *_settled_lines(case))), choice


def _counted_less(case: FleetCase, factors: Mapping[Where, Fraction]) -> FleetCase:
    mixed = {**case.mixed, **{at: factor * case.mixed.get(at, 1) for at, factor in factors.items()}}
    return replace(lowered(case, factors), mixed=mixed)


def _one_class_each(case: FleetCase, factors: Mapping[Where, Fraction]) -> FleetCase:
    alone = case.alone | {workload for workload, _ in factors}
    return replace(one_class_each(case, alone), alone=alone)


def as_settled(case: FleetCase, like: FleetCase) -> FleetCase:
    """A variant of a settled case, counted like it where classes mix."""
    if not case.classes:
        return case
    slower = lowered(case, like.mixed) if like.mixed else case
    alone = like.alone & set(case.classes)
    return one_class_each(slower, alone) if alone else slower


def _settled_lines(case: FleetCase) -> Iterator[str]:
    """What was changed in the question so that pools keep their limits."""
    for name in sorted({workload for workload, _ in case.mixed} - case.alone):
        factors = [float(factor) for (workload, _), factor in case.mixed.items() if workload == name]
        yield (
            f"{name}: where length classes mix, {len(factors)} configurations are counted with rates up to "
            f"{numbers.share(1.0 - min(factors))} lower than for each class alone"
        )
    for name in sorted(case.alone):
        yield (
            f"{name}: every pool serves one length class, since pools that mix them carry less than their "
            "classes alone"
        )


def _open(factors: Mapping[Where, Fraction]) -> Iterator[str]:
    """What is left to do where time ended before a better plan was found."""
    for (workload, label), factor in sorted(factors.items()):
        yield (
            f"{workload}: where its length classes mix, {label} carries {numbers.share(float(1 - factor))} "
            "less than planned, which takes from the headroom; the time limit ended the search before a plan "
            "that counts with it"
        )


def _factors(case: FleetCase, choice: FleetChoice) -> dict[Where, Fraction]:
    """What configurations carry at the mixes of pools over what was assumed, where that is less.

    Empty when every pool carries its mix. Otherwise all configurations are looked at, at the mixes of the
    pools that do not and at others of the same classes: one that is nearly as good, or a mix that is nearly
    the same, would be taken in their place.
    """
    assert case.formulation is not None, "classes are cut over predictions"
    found: dict[Where, Fraction] = {}
    for pool, period in _mixing(case, choice):
        name, placed = pool.option.workload, case.formulation.found[pool.option.id][1]
        classes = case.classes[name]
        replicas = pool.counts[period]
        part = mixed_part(
            case.formulation, classes, name, pool.shares[period], replicas, placed.configuration
        )
        if carries_rps(part) >= capacity_rps(pool, period) * _ROUNDING:
            continue
        for shares in _near(pool.shares[period]):
            part = mixed_part(case.formulation, classes, name, shares, replicas)
            for option in case.question.options:
                assumed = added_up_rps(option, pool, period, shares) if option.workload == name else _NONE
                if assumed:
                    index = case.formulation.found[option.id][1].configuration
                    factor = carries_rps(part, index) / assumed
                    if factor < _ROUNDING:
                        found[name, option.label] = min(factor, found.get((name, option.label), Fraction(1)))
    return found


def _near(shares: Mapping[str, Fraction]) -> Iterator[Mapping[str, Fraction]]:
    """A mix, and mixes with more and less of each of its classes."""
    seen: set[Mix] = set()
    scales = [
        Fraction(1),
        Fraction(1, 4),
        Fraction(4),
        *([Fraction(1, 2), Fraction(2)] if len(shares) == 2 else []),
    ]
    for name in shares:
        for scale in scales:
            near = {**shares, name: shares[name] * scale}
            most = max(near.values())
            if _mix(near) not in seen:
                seen.add(_mix(near))
                yield {other: share / most for other, share in near.items()}


def _mixing(case: FleetCase, choice: FleetChoice) -> Iterator[tuple[FleetPool, int]]:
    """Pools of several classes, with a period for each of their mixes."""
    for pool in fleet_pools(case.question, choice, [w.name for w in case.problem.workloads]):
        seen: set[Mix] = set()
        for period, shares in enumerate(pool.shares):
            mix = _mix(shares)
            if len(shares) > 1 and pool.counts[period] and mix not in seen:
                seen.add(mix)
                yield pool, period


def _mix(shares: Mapping[str, Fraction]) -> Mix:
    """The classes of a pool in proportion, which is all that its traffic depends on."""
    most = max(shares.values(), default=Fraction(1))
    return tuple((name, round(float(shares[name] / most), 9)) for name in sorted(shares))
