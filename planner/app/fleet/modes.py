"""Aggregated or disaggregated: what each way of serving a workload would cost the whole fleet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import get_args

import numpy as np

from planner import numbers
from planner.app.fleet.case import FleetCase
from planner.app.fleet.pools import fleet_pools
from planner.app.fleet.predicted import predicted_pools
from planner.app.mode_choice import interference
from planner.constraints.ways import ways_by_workload
from planner.schema.apart import ModeChoice
from planner.schema.catalog_index import Catalog
from planner.schema.choice import Objective, Way
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.plan import Pool


def mode_choices(
    case: FleetCase,
    choice: FleetChoice,
    documents: Sequence[Pool],
    catalog: Catalog,
    ask: Callable[[FleetProblem], FleetChoice],
) -> tuple[ModeChoice, ...]:
    """One entry for each workload that was searched in both ways and is served.

    Args:
        case: the question that was answered.
        choice: the answer.
        documents: its pools.
        catalog: for names.
        ask: the optimal value of a question.
    """
    problem, found = case.question, []
    for workload, offered in ways_by_workload(problem.demands).items():
        used = _used(problem, choice, workload)
        if len(offered) > 1 and used:
            answers = {
                way: choice if used == {way} else ask(only(problem, workload, way)) for way in get_args(Way)
            }
            gaps = _gaps_s(case, choice, documents, catalog, workload)
            found.append(_entry(problem, workload, choice, used, answers, gaps))
    return tuple(found)


def _gaps_s(
    case: FleetCase, choice: FleetChoice, documents: Sequence[Pool], catalog: Catalog, workload: str
) -> tuple[float, float]:
    """ITL P99 with prompts in the steps of answers, and without; infinite where one is unknown."""
    part = None if case.posed is None else case.posed.evaluated[workload]
    if part is None:
        return np.inf, np.inf
    pools = fleet_pools(case.question, choice, [item.name for item in case.problem.workloads])
    _, cases = predicted_pools(case, pools, catalog)
    return interference(lambda _: part, cases, documents)(workload)


def _used(problem: FleetProblem, choice: FleetChoice, workload: str) -> set[Way]:
    """The ways in which a plan serves a workload over its periods."""
    roles = {option.id: option.role for option in problem.options if option.workload == workload}
    placed = {option for period in choice.periods for option, _ in period.counts if option in roles}
    return {"aggregated" if roles[option] == "serve" else "disaggregated" for option in placed}


def only(problem: FleetProblem, workload: str, way: Way) -> FleetProblem:
    """The question with a workload served in one way; the other workloads stay free."""
    demands = tuple(d for d in problem.demands if d.workload != workload or d.way == way)
    pools = {demand.pool for demand in demands}
    return replace(problem, demands=demands, options=tuple(o for o in problem.options if o.pool in pools))


def _entry(
    problem: FleetProblem,
    workload: str,
    choice: FleetChoice,
    used: set[Way],
    answers: dict[Way, FleetChoice],
    gaps: tuple[float, float],
) -> ModeChoice:
    costs = {
        way: float(found.cost_usd / problem.periods) if found.value is not None else None
        for way, found in answers.items()
    }
    taken: Way = "aggregated" if "aggregated" in used else "disaggregated"
    words = _words(problem, taken, choice, answers) if len(used) == 1 else _by_hour(costs, choice, problem)
    return ModeChoice(
        workload=workload,
        chosen=taken,
        aggregated_cost_usd_per_hour=costs["aggregated"],
        disaggregated_cost_usd_per_hour=costs["disaggregated"],
        proved=all(found.status in ("optimal", "infeasible") for found in answers.values()),
        itl_p99_together_s=gaps[0] if np.isfinite(gaps[0]) else None,
        itl_p99_apart_s=gaps[1] if np.isfinite(gaps[1]) else None,
        text=f"{words} {_gap_words(taken, *gaps)}".strip(),
    )


def _words(problem: FleetProblem, taken: Way, own: FleetChoice, answers: dict[Way, FleetChoice]) -> str:
    other_way: Way = "disaggregated" if taken == "aggregated" else "aggregated"
    other = answers[other_way]
    if other.status == "infeasible":
        return f"Only {taken} serving keeps every limit."
    if own.value is None or other.value is None:
        return f"{taken.capitalize()}; no {other_way} plan was found in time."
    verb, mine, others = _amounts(problem.limits.objective, own, other, problem.periods)
    texts = [_text(problem.limits.objective, value) for value in (mine, others)]
    more = f" ({numbers.signed_share(others / mine - 1.0)})" if mine else ""
    return f"{taken.capitalize()} serving {verb} {texts[0]}, {other_way} {texts[1]}{more}."


def _amounts(
    objective: Objective, own: FleetChoice, other: FleetChoice, periods: int
) -> tuple[str, float, float]:
    """What is compared: GPUs where they are minimized, else money."""
    if objective == "gpus":
        return "takes", float((own.value or 0) / periods), float((other.value or 0) / periods)
    return "costs", float(own.cost_usd / periods), float(other.cost_usd / periods)


def _text(objective: Objective, value: float) -> str:
    return numbers.count(round(value), "GPU") if objective == "gpus" else f"{numbers.usd(value)}/h"


def _by_hour(costs: dict[Way, float | None], choice: FleetChoice, problem: FleetProblem) -> str:
    """Of a plan that serves one way in some hours and the other way in others."""
    mine = float(choice.cost_usd / problem.periods)
    parts = [
        f"{way} all day {numbers.usd(cost)}/h" if cost is not None else f"{way} all day: no plan"
        for way, cost in costs.items()
    ]
    return f"Aggregated in some hours and disaggregated in others: {numbers.usd(mine)}/h; {', '.join(parts)}."


def _gap_words(taken: Way, mixed_s: float, alone_s: float) -> str:
    if not (np.isfinite(mixed_s) and np.isfinite(alone_s)):
        return ""
    mixed, alone = numbers.seconds(mixed_s), numbers.seconds(alone_s)
    if taken == "disaggregated":
        return f"P99 between tokens is {alone}; with prompts in the same steps it would be {mixed}."
    return f"P99 between tokens is {mixed}; without prompts in the same steps it would be {alone}."
