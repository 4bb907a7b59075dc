"""What every pair of formats for weights and KV cache would cost a workload, or what keeps it out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from planner.candidates.formats import kv_formats, weight_formats
from planner.constraints.fleet_check import bill
from planner.constraints.registry import verdicts
from planner.explain.phrases import listing
from planner.explain.why_not import nearest_line
from planner.planning.documents.chosen import chosen_of
from planner.planning.documents.gpu_types import stop_id
from planner.planning.formulation.fleet_case import FleetCase
from planner.schema.catalog_index import Catalog
from planner.schema.choice import Option
from planner.schema.compared import FormatTried
from planner.schema.fleet import FleetChoice
from planner.schema.problem import Problem
from planner.schema.workload import Precision

Pair = tuple[str, str]
"""Formats of weights and KV cache, by catalog id."""
Answer = tuple[FleetCase, FleetChoice]
_ORDER = ("chosen", "dearer", "infeasible", "excluded")


def formats_tried(
    case: FleetCase, choice: FleetChoice, catalog: Catalog, ask: Callable[[Problem], Answer]
) -> tuple[FormatTried, ...]:
    """One row for each workload and pair, the cheapest first; of predicted problems over one period.

    Each pair that the problem allows is asked about as if the workload named no other formats; the other
    workloads stay free. Pairs that it does not allow are not priced.

    Args:
        case: the question that was answered.
        choice: its answer.
        catalog: formats.
        ask: formulates a variant of the problem and finds its optimal value.
    """
    if case.formulation is None or case.question.periods > 1:
        return ()
    rows: list[FormatTried] = []
    for name in case.formulation.cases:
        used = {_pair(case, option) for option, _ in _held(case, choice, name)}
        for pair, allowed in _pairs(case, name, catalog):
            if allowed:
                answer = (case, choice) if used == {pair} else ask(_with_pair(case.problem, name, pair))
                rows.append(_told(name, pair, answer, used))
            else:
                rows.append(_excluded(name, pair))
    return tuple(sorted(rows, key=_place))


def _place(row: FormatTried) -> tuple[str, int, float, str, str]:
    return row.workload, _ORDER.index(row.status), row.cost_usd_per_hour or 0.0, row.weights, row.kv


def _pairs(case: FleetCase, workload: str, catalog: Catalog) -> Iterator[tuple[Pair, bool]]:
    """Every pair that the catalog knows for the model, and whether the problem allows it."""
    assert case.formulation is not None
    item = case.formulation.cases[workload]
    stated, known, find = item.workload.precision, catalog.number_formats, catalog.number_format
    every = weight_formats(stated.weights, item.model, known, find, everything=True)
    for weights in every:
        for kv in kv_formats(stated.kv, known, find, everything=True):
            yield (weights.format.id, kv.format.id), weights.allowed and kv.allowed


def _with_pair(problem: Problem, name: str, pair: Pair) -> Problem:
    """The problem in which a workload names one pair."""
    precision = Precision(weights=(pair[0],), kv=(pair[1],))
    workloads = tuple(
        workload.model_copy(update={"precision": precision}) if workload.name == name else workload
        for workload in problem.workloads
    )
    return problem.model_copy(update={"workloads": workloads})


def _held(case: FleetCase, choice: FleetChoice, workload: str) -> list[tuple[Option, int]]:
    """Options of a workload with their replicas."""
    if choice.value is None:
        return []
    options = {option.id: option for option in case.question.options}
    held = [(options[name], count) for name, count in choice.periods[0].replicas() if count]
    return [(option, count) for option, count in held if option.workload == workload]


def _pair(case: FleetCase, option: Option) -> Pair:
    formulation = case.behind(option)
    assert formulation is not None, "the options of predictions come from candidates"
    _, placed = formulation.found[option.anywhere]
    item = chosen_of(formulation).part(placed).evaluation.candidates.configurations[placed.configuration]
    return item.weights.id, item.kv.id


def _told(workload: str, pair: Pair, answer: Answer, used: set[Pair]) -> FormatTried:
    """The cheapest fleet with this pair for the workload, or what keeps the pair out."""
    case, choice = answer
    weights, kv = pair
    if choice.value is None:
        stop, why = _without(case, choice, workload)
        return FormatTried(
            workload=workload, weights=weights, kv=kv, status="infeasible", stopped_by=stop, why=why
        )
    held = _held(case, choice, workload)
    paid = bill(case.question, choice.periods).periods[0]
    return FormatTried(
        workload=workload,
        weights=weights,
        kv=kv,
        status="chosen" if pair in used else "dearer",
        cost_usd_per_hour=float(choice.cost_usd),
        bound="exact" if choice.status == "optimal" else "upper",
        gpus={gpu: count for gpu, count in sorted(paid.gpus.items()) if count},
        layout=listing([f"{count} × {option.role} {option.label}" for option, count in held]),
        stopped_by=_stop(case, held),
        why="its part of the plan stands beside other formats" if pair in used and len(used) > 1 else "",
    )


def _stop(case: FleetCase, held: list[tuple[Option, int]]) -> str | None:
    """What keeps a replica of the largest pool from carrying more."""
    if not held:
        return None
    option, _ = max(held, key=lambda pair: (pair[0].gpus * pair[1], pair[0].id))
    formulation = case.behind(option)
    assert formulation is not None
    _, placed = formulation.found[option.anywhere]
    word = chosen_of(formulation).part(placed).stop(placed.configuration)
    return stop_id(word, option.workload) if word else None


def _without(case: FleetCase, choice: FleetChoice, workload: str) -> tuple[str | None, str]:
    """Why there is no fleet: the limit of the plan, or the one that the nearest configuration breaks."""
    if choice.status == "unknown":
        return None, "the search ended before there was an answer"
    if any(option.workload == workload for option in case.question.options):
        stop = next(iter(choice.in_the_way), None)
        return stop, "no fleet with these formats keeps every limit of the plan"
    assert case.formulation is not None
    chosen = chosen_of(case.formulation)
    part = chosen.evaluated.get(workload)
    if part is None:
        return None, "no accelerator that can be bought runs these formats within the rules"
    rows = np.arange(len(part.evaluation.candidates))
    stop, why = nearest_line(rows, verdicts(part.evaluation, tuple(chosen.rules)))
    return stop or None, why


def _excluded(workload: str, pair: Pair) -> FormatTried:
    return FormatTried(
        workload=workload,
        weights=pair[0],
        kv=pair[1],
        status="excluded",
        stopped_by=f"precision:{workload}",
        why="the problem does not allow it, or only where it is named (workload.precision)",
    )
