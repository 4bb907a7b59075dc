"""Starts of replicas that are paid: how long each option takes, and which line a replica stands on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from planner.performance.memory_fit import MemoryFit
from planner.planning.formulation.hours import periods_of
from planner.planning.formulation.study import Formulation
from planner.planning.workload.case import Evaluated
from planner.planning.workload.starting import drain_h, fit_in_role, start_h, storage_of
from planner.schema.catalog_index import Catalog
from planner.schema.choice import Option
from planner.schema.problem import Problem
from planner.schema.supply_lines import RENTED, Line, Site


def starts_are_paid(problem: Problem) -> bool:
    """Predicted replicas over several hours, and no ``start_cost`` that is charged instead."""
    return problem.workers is None and periods_of(problem) > 1 and problem.fleet.start_cost is None


def with_starts(formulation: Formulation, catalog: Catalog) -> Formulation:
    """The options of the question with what they take to start and to end."""
    fits: dict[tuple[int, str], MemoryFit] = {}

    def timed(option: Option) -> Option:
        _, placed = formulation.found[option.id]
        part = _part(formulation, option)
        key = (id(part.specs), option.role)
        if key not in fits:
            fits[key] = fit_in_role(part, option.role)
        fit = fits[key]
        storage = storage_of(part.case.workload.storage, catalog)
        return replace(
            option,
            start_h=start_h(part, fit, placed.configuration, storage),
            drain_h=drain_h(part, option.role, placed.configuration),
        )

    question = replace(
        formulation.question, options=tuple(timed(option) for option in formulation.question.options)
    )
    return replace(formulation, question=question)


def _part(formulation: Formulation, option: Option) -> Evaluated:
    """The evaluation that an option comes from."""
    _, placed = formulation.found[option.id]
    whole = formulation.evaluated[placed.workload]
    assert whole is not None
    if placed.role == "serve":
        return whole
    split = formulation.disaggregated[placed.workload]
    assert split is not None
    side = split.sides[placed.side]
    return Evaluated(whole.case, side.evaluation, side.specs, len(side.evaluation.candidates), {})


def on_lines(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Rented lines apart from the others of their place: a replica stands on one of them."""
    there: Mapping[tuple[str, Site], list[Line]] = defaultdict(list)
    for line in lines:
        there[line.host, line.site].append(line)
    return tuple(
        replace(line, site=replace(line.site, lot=line.id.partition("/")[2]))
        if line.term in RENTED and len(there[line.host, line.site]) > 1
        else line
        for line in lines
    )
