"""Pools that serve several length classes, at the traffic that they really get."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from planner import numbers
from planner.app.case import Enumerated, Evaluated, evaluated, selected
from planner.app.fleet.case import FleetCase
from planner.app.fleet.length_class import LengthClasses
from planner.app.fleet.pools import FleetPool, fleet_pools
from planner.app.study import Posed
from planner.candidates.options import MICRO, Placed, micro_rps
from planner.candidates.subset import subset
from planner.schema.choice import Option
from planner.schema.fleet import FleetChoice, FleetProblem

_ROUNDS = 4
_NONE = Fraction(0)
Solve = Callable[[FleetProblem], FleetChoice]


def mixed_part(
    posed: Posed, classes: LengthClasses, placed: Placed, kept: Mapping[str, Fraction]
) -> Evaluated:
    """One configuration (the only candidate) evaluated at a mix of classes.

    Args:
        posed: the problem with classes.
        classes: of the workload.
        placed: the option meant.
        kept: share of each class's requests that it gets; an absent class none.
    """
    part = posed.evaluated[placed.workload]
    assert part is not None, "an option comes from a candidate"
    only = np.arange(len(part.evaluation.candidates)) == placed.configuration
    one = Enumerated(subset(part.evaluation.candidates, only), {}, part.refused_gpus)
    traffic = classes.prompts.traffic([float(kept.get(name, 0)) for name in classes.names])
    case = replace(part.case, traffic=traffic)
    return evaluated(case, one, selected(one, np.ones(1, dtype=bool)), posed.problem.search, posed.rules)


def capacity_rps(pool: FleetPool, period: int) -> Fraction:
    """Largest rate of one replica at the mix of a period: rates of the classes added up by what they take."""
    whole = busy = _NONE
    needs = dict(zip(pool.demand.buckets, pool.demand.demand_rps[period], strict=True))
    rates = dict(zip(pool.demand.buckets, pool.option.rates_rps, strict=True))
    for bucket, share in pool.shares[period].items():
        whole += share * needs[bucket]
        busy += share * needs[bucket] / rates[bucket]
    return whole / busy if busy else max(rates.values())


def settled(case: FleetCase, solve: Solve) -> tuple[FleetCase, FleetChoice]:
    """The answer to a question with length classes, in which every pool keeps its limits at its real mix.

    That classes of one pool add up as rps / rate is an assumption: waits depend on all of them. So every pool
    of an answer is evaluated at the mix that it gets. One that carries less than assumed has its option's
    rates lowered by that factor, beside options for one class each at the full rate, and the question is
    asked again. What is not settled after four rounds serves one class a pool: those rates were evaluated.
    Without classes this is one solve.
    """
    choice = solve(case.question)
    for last in (*(False,) * (_ROUNDS - 1), True):
        if not case.classes or choice.value is None:
            return case, choice
        factors = _factors(case, choice)
        if not factors:
            return case, choice
        case = _apart(case, {workload for workload, _ in factors}) if last else _lowered(case, factors)
        choice = solve(case.question)
    return case, choice


def _factors(case: FleetCase, choice: FleetChoice) -> dict[tuple[str, str], Fraction]:
    """What a pool carries at its mix over what was assumed, where that is less: by workload and configuration."""
    assert case.posed is not None, "classes are cut over predictions"
    found: dict[tuple[str, str], Fraction] = {}
    for pool in fleet_pools(case.question, choice, [w.name for w in case.problem.workloads]):
        option = pool.option
        if option.workload not in case.classes:
            continue
        seen: set[tuple[float, ...]] = set()
        for period, shares in enumerate(pool.shares):
            mix = _mix(shares)
            if len(shares) < 2 or not pool.counts[period] or mix in seen:
                continue
            seen.add(mix)
            placed = case.posed.found[option.id][1]
            part = mixed_part(case.posed, case.classes[option.workload], placed, shares)
            carries = Fraction(micro_rps(part.evaluation.capacities.rate_rps[0]), MICRO)
            factor = carries / capacity_rps(pool, period)
            # Rates are rounded down to a millionth.
            if factor < 1 - Fraction(1, MICRO):
                key = (option.workload, option.label)
                found[key] = min(factor, found.get(key, Fraction(1)))
    return found


def _mix(shares: Mapping[str, Fraction]) -> tuple[float, ...]:
    most = max(shares.values(), default=Fraction(1))
    return tuple(round(float(shares[name] / most), 9) for name in sorted(shares))


def _lowered(case: FleetCase, factors: Mapping[tuple[str, str], Fraction]) -> FleetCase:
    """The case with lower rates where classes mix, and beside them options for one class each."""
    known = {option.id for option in case.question.options}
    options: dict[str, Option] = {}
    sources: dict[str, str] = {}
    for option in case.question.options:
        factor = factors.get((option.workload, option.label), Fraction(1))
        if factor == 1 or len(_served(option)) < 2:
            options.setdefault(option.id, option)
            continue
        lower = tuple(Fraction(int(rate * factor * MICRO), MICRO) for rate in option.rates_rps)
        if any(lower):
            options[option.id] = replace(option, rates_rps=lower)
        for single in _singles(option, case.classes[option.workload].names):
            # Those of an earlier round have the full rate.
            if single.id not in known:
                options[single.id] = single
                sources[single.id] = option.id
    lines = [
        f"{workload}: {label} carries {numbers.share(float(1 - factor))} less where length classes mix than "
        "alone, and is counted so"
        for (workload, label), factor in sorted(factors.items())
    ]
    return _with_options(case, options, sources, lines)


def _apart(case: FleetCase, workloads: Collection[str]) -> FleetCase:
    """The case in which every pool of some workloads serves one class: the fastest option of each room."""
    options = {option.id: option for option in case.question.options if option.workload not in workloads}
    best: dict[tuple[object, ...], tuple[Option, str]] = {}
    for option in case.question.options:
        if option.workload not in workloads:
            continue
        for single in _singles(option, case.classes[option.workload].names):
            place = _served(single)[0]
            room = (option.workload, option.supply, option.gpus, option.units_per_replica, place)
            if room not in best or single.rates_rps[place] > best[room][0].rates_rps[place]:
                best[room] = (single, option.id)
    options |= {single.id: single for single, _ in best.values()}
    lines = [
        f"{name}: every pool serves one length class, since pools that mix them carry less than assumed"
        for name in sorted(workloads)
    ]
    return _with_options(case, options, {single.id: source for single, source in best.values()}, lines)


def _served(option: Option) -> list[int]:
    return [place for place, rate in enumerate(option.rates_rps) if rate]


def _singles(option: Option, names: Sequence[str]) -> list[Option]:
    """The option for each class that it can serve, and no other; itself where that is one."""
    served = _served(option)
    if len(served) == 1:
        return [option]
    return [
        replace(
            option,
            id=f"{option.id} for {names[place]}",
            rates_rps=tuple(rate if b == place else _NONE for b, rate in enumerate(option.rates_rps)),
        )
        for place in served
    ]


def _with_options(
    case: FleetCase, options: Mapping[str, Option], sources: Mapping[str, str], lines: Sequence[str]
) -> FleetCase:
    """The case with other options; new ones come from the candidate of the option that ``sources`` names."""
    assert case.posed is not None
    found = dict(case.posed.found)
    for name, option in options.items():
        found[name] = (option, found[sources.get(name, name)][1])
    every = tuple(options[name] for name in sorted(options))
    posed = replace(case.posed, found=found, question=replace(case.posed.question, options=every))
    return replace(
        case,
        posed=posed,
        question=replace(case.question, options=every),
        warnings=(*case.warnings, *lines),
    )
