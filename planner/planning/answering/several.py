"""Several plans of one fleet: how they are asked for, and what they hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.schema.fleet import FleetChoice, FleetProblem

Solve = Callable[[FleetProblem], FleetChoice]
"""Answers a question as well as its time allows."""


@dataclass(frozen=True)
class FleetChoices:
    """Several answers to one question, in a stated order."""

    choices: tuple[FleetChoice, ...]
    exhausted: bool
    """Proved: there are no others, and each is where it belongs."""


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
