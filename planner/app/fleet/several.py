"""Several plans of one fleet: how they are asked for, and what they hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from planner.schema.fleet import FleetChoice, FleetProblem

Solve = Callable[[FleetProblem], FleetChoice]
"""Answers a question as well as its time allows."""


@dataclass(frozen=True)
class FleetChoices:
    """Several answers to one question, in a stated order."""

    choices: tuple[FleetChoice, ...]
    exhausted: bool
    """Proved: there are no others, and each is where it belongs."""


def without_kinds(question: FleetProblem, options: frozenset[str], lines: frozenset[str]) -> FleetProblem:
    """The question without some options or outside suppliers, and without some lines of the supply."""
    kept = tuple(line for line in question.lines if line.id not in lines)
    ids = {line.id for line in kept}
    limits = question.limits
    quotas = (replace(q, lines=tuple(name for name in q.lines if name in ids)) for q in limits.quotas)
    starts = (replace(s, lines=tuple(name for name in s.lines if name in ids)) for s in question.starts)
    return replace(
        question,
        options=tuple(option for option in question.options if option.id not in options),
        apis=tuple(api for api in question.apis if api.id not in options),
        lines=kept,
        limits=replace(limits, quotas=tuple(quota for quota in quotas if quota.lines)),
        starts=tuple(start for start in starts if start.lines),
    )


def found(choice: FleetChoice) -> bool:
    """There is a plan, proved or not."""
    return choice.status in ("optimal", "feasible")


def suppliers_of(question: FleetProblem, choice: FleetChoice) -> set[str]:
    """Providers that any GPU is bought from, and outside suppliers that serve anything."""
    providers = {line.id: line.site.provider for line in question.lines}
    bought = {providers[line] for period in choice.periods for line, gpus in period.bought.items() if gpus}
    apis = {api.id for api in question.apis}
    shares = (share for period in choice.periods for share in period.shares if share.share)
    return bought | {share.option for share in shares if share.option in apis}
