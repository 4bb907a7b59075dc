"""More, smaller replicas in place of fewer, larger ones where they cost the same: a loss takes less then."""

from __future__ import annotations

from collections import defaultdict

from planner.constraints.fleet_check import broken
from planner.planning.answering.preferred import exchanged
from planner.planning.answering.real_sizes import too_small
from planner.planning.documents.chosen import chosen_of
from planner.planning.formulation.fleet_case import FleetCase
from planner.schema.choice import Option
from planner.schema.fleet import FleetChoice
from planner.solver.simple_counts import counts_of


def with_smaller_replicas(case: FleetCase, choice: FleetChoice) -> FleetChoice:
    """The same purchases with each option cut into the smallest that carries its load.

    Options in use are exchanged whole, for others of the same formats on the same GPUs: cost, pools, changes
    and places stay what they are. The check is exact and needs no solver.

    Args:
        case: what is asked; measured workers and fleets that run today are taken as the search takes them.
        choice: its answer; every pool carries its demand.
    """
    if choice.value is None or case.classes or case.formulation is None or case.problem.start is not None:
        return choice
    question = case.settled or case.question
    used = {name for period in choice.periods for name, _ in period.replicas()}
    smaller: dict[str, list[Option]] = defaultdict(list)
    mine = [option for option in question.options if option.id in used]
    for option in mine:
        smaller[option.id] = [other for other in question.options if _cuts(case, option, other)]
    for option in mine:
        for other in sorted(
            smaller[option.id], key=lambda one: (one.gpus, *(-r for r in one.rates_rps), one.id)
        ):
            plan = exchanged(choice, option.id, other.id, option.gpus // other.gpus)
            if not broken(question, plan) and not _worse(case, plan, choice):
                choice = plan
                break
    return choice


def _cuts(case: FleetCase, option: Option, other: Option) -> bool:
    """Several replicas of the other one stand where one of this does."""
    same = all(getattr(other, name) == getattr(option, name) for name in ("pool", "supply", "place", "kv"))
    if not same or other.gpus >= option.gpus or option.gpus % other.gpus:
        return False
    whole = option.slices > 1 or other.slices > 1 or other.slack < min(option.slack, 0.0)
    return not whole and _formats(case, option) == _formats(case, other)


def _formats(case: FleetCase, option: Option) -> tuple[str, ...]:
    """Of weights and KV cache, as far as they are known."""
    formulation = case.behind(option)
    assert formulation is not None, "the options of predictions come from candidates"
    chosen = chosen_of(formulation)
    placed = chosen.found[option.anywhere][1]
    item = chosen.part(placed).evaluation.candidates.configurations[placed.configuration]
    return (item.weights.id, item.kv.id)


def _worse(case: FleetCase, plan: FleetChoice, before: FleetChoice) -> bool:
    """It is less simple, or its pools are too small to carry what they carry in large ones."""
    question = case.settled or case.question
    now, then = counts_of(question, plan), counts_of(question, before)
    return any(now[aim] > then[aim] for aim in now) or bool(too_small(case, plan))
