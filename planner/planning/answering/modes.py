"""Aggregated or disaggregated: what each serving mode a workload would cost the whole fleet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import get_args

import numpy as np

from planner import numbers
from planner.constraints.offered_modes import modes_by_workload
from planner.planning.documents.interference import gap_words, interference
from planner.planning.documents.pools import fleet_pools
from planner.planning.documents.predicted_fleet import predicted_pools
from planner.planning.formulation.fleet_case import FleetCase
from planner.schema.catalog_index import Catalog
from planner.schema.choice import Objective, ServingMode
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.mode_choice import ModeChoice
from planner.schema.pool import Pool


def mode_choices(
    case: FleetCase,
    choice: FleetChoice,
    documents: Sequence[Pool],
    catalog: Catalog,
    ask: Callable[[FleetProblem], FleetChoice],
) -> tuple[ModeChoice, ...]:
    """One entry for each workload that was searched in both modes and is served; over one period.

    Args:
        case: the question that was answered.
        choice: the answer.
        documents: its pools.
        catalog: for names.
        ask: the optimal value of a question.
    """
    problem, found = case.question, []
    for workload, offered in modes_by_workload(problem.demands).items():
        taken = _taken(problem, choice, workload)
        if len(offered) > 1 and taken is not None:
            answers = {
                mode: choice if mode == taken else ask(only(problem, workload, mode))
                for mode in get_args(ServingMode)
            }
            gaps = _gaps_s(case, choice, documents, catalog, workload)
            found.append(_entry(problem, workload, taken, answers, gaps))
    return tuple(found)


def _gaps_s(
    case: FleetCase, choice: FleetChoice, documents: Sequence[Pool], catalog: Catalog, workload: str
) -> tuple[float, float]:
    """ITL P99 with prompts in the steps of answers, and without; infinite where one is unknown."""
    part = None if case.formulation is None else case.formulation.evaluated[workload]
    if part is None:
        return np.inf, np.inf
    pools = fleet_pools(case.question, choice, [item.name for item in case.problem.workloads])
    _, cases = predicted_pools(case, pools, catalog)
    return interference(lambda _: part, cases, documents)(workload)


def _taken(problem: FleetProblem, choice: FleetChoice, workload: str) -> ServingMode | None:
    """How a plan serves a workload; None where it has no replicas."""
    roles = {option.id: option.role for option in problem.options if option.workload == workload}
    placed = {roles[option] for option, _ in choice.periods[0].counts if option in roles}
    if not placed:
        return None
    return "aggregated" if "serve" in placed else "disaggregated"


def only(problem: FleetProblem, workload: str, mode: ServingMode) -> FleetProblem:
    """The question with a workload served in one mode; the other workloads stay free."""
    demands = tuple(d for d in problem.demands if d.workload != workload or d.mode == mode)
    pools = {demand.pool for demand in demands}
    return replace(problem, demands=demands, options=tuple(o for o in problem.options if o.pool in pools))


def _entry(
    problem: FleetProblem,
    workload: str,
    taken: ServingMode,
    answers: dict[ServingMode, FleetChoice],
    gaps: tuple[float, float],
) -> ModeChoice:
    costs = {mode: None if one.value is None else float(one.cost_usd) for mode, one in answers.items()}
    return ModeChoice(
        workload=workload,
        chosen=taken,
        aggregated_cost_usd_per_hour=costs["aggregated"],
        disaggregated_cost_usd_per_hour=costs["disaggregated"],
        proved=all(found.status in ("optimal", "infeasible") for found in answers.values()),
        itl_p99_aggregated_s=gaps[0] if np.isfinite(gaps[0]) else None,
        itl_p99_disaggregated_s=gaps[1] if np.isfinite(gaps[1]) else None,
        text=f"{_words(problem.limits.objective, taken, answers)} {gap_words(taken, *gaps)}".strip(),
    )


def _words(objective: Objective, taken: ServingMode, answers: dict[ServingMode, FleetChoice]) -> str:
    other_way: ServingMode = "disaggregated" if taken == "aggregated" else "aggregated"
    own, other = answers[taken], answers[other_way]
    if other.status == "infeasible":
        return f"Only {taken} serving keeps every limit."
    if own.value is None or other.value is None:
        return f"{taken.capitalize()}; no {other_way} plan was found in time."
    if objective == "gpus":
        verb, mine, others = "takes", float(own.value), float(other.value)
        texts = [numbers.count(value, "GPU") for value in (mine, others)]
    else:
        verb, mine, others = "costs", float(own.cost_usd), float(other.cost_usd)
        texts = [f"{numbers.usd(value)}/h" for value in (mine, others)]
    more = f" ({numbers.signed_share(others / mine - 1.0)})" if mine else ""
    return f"{taken.capitalize()} serving {verb} {texts[0]}, {other_way} {texts[1]}{more}."
