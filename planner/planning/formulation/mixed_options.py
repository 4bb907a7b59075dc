"""Options whose rates are lowered where length classes mix, and options for one class each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from planner.candidates.options import MICRO
from planner.planning.formulation.fleet_case import FleetCase
from planner.schema.choice import Option

Where = tuple[str, str]
"""Workload and configuration."""
_NONE = Fraction(0)


def lowered(case: FleetCase, factors: Mapping[Where, Fraction]) -> FleetCase:
    """The case with lower rates where classes mix, and beside them the fastest for one class in each room."""
    options: dict[str, Option] = {}
    singles: list[tuple[Option, str]] = []
    for option in case.question.options:
        factor = factors.get((option.workload, option.label), Fraction(1))
        if len(_served(option)) == 1 and option.workload in case.classes:
            singles.append((option, option.id))
            continue
        if factor != 1:
            singles += [(single, option.id) for single in _singles(option, case)]
        rates = tuple(Fraction(int(rate * factor * MICRO), MICRO) for rate in option.rates_rps)
        if any(rates):
            options[option.id] = option if factor == 1 else replace(option, rates_rps=rates)
    return _with_options(case, options, singles)


def one_class_each(case: FleetCase, workloads: Collection[str]) -> FleetCase:
    """The case in which every pool of some workloads serves one class: the fastest option of each room."""
    options = {option.id: option for option in case.question.options if option.workload not in workloads}
    singles = [
        (single, option.id)
        for option in case.question.options
        if option.workload in workloads
        for single in _singles(option, case)
    ]
    return _with_options(case, options, singles)


def _served(option: Option) -> list[int]:
    return [place for place, rate in enumerate(option.rates_rps) if rate]


def _singles(option: Option, case: FleetCase) -> list[Option]:
    """The option for each class that it can serve, and no other; itself where that is one."""
    served = _served(option)
    if len(served) == 1:
        return [option]
    names = case.classes[option.workload].names
    return [
        replace(
            option,
            id=f"{option.id} for {names[place]}",
            rates_rps=tuple(rate if b == place else _NONE for b, rate in enumerate(option.rates_rps)),
        )
        for place in served
    ]


def _with_options(
    case: FleetCase, options: Mapping[str, Option], singles: Sequence[tuple[Option, str]]
) -> FleetCase:
    """The case with other options, and the fastest of those for one class in each room.

    Args:
        case: as it was.
        options: by id.
        singles: options for one class, with the id of the option that each comes from.
    """
    assert case.formulation is not None
    best: dict[tuple[object, ...], tuple[Option, str]] = {}
    for single, source in singles:
        (place,) = _served(single)
        room = (single.workload, single.supply, single.gpus, single.units_per_replica, place)
        if room not in best or single.rates_rps[place] > best[room][0].rates_rps[place]:
            best[room] = (single, source)
    found = dict(case.formulation.found)
    found |= {option.id: (option, found[option.id][1]) for option in options.values()}
    found |= {single.id: (single, found[source][1]) for single, source in best.values()}
    kept = {**options, **{single.id: single for single, _ in best.values()}}
    every = tuple(kept[name] for name in sorted(kept))
    formulation = replace(
        case.formulation, found=found, question=replace(case.formulation.question, options=every)
    )
    return replace(case, formulation=formulation, question=replace(case.question, options=every))
