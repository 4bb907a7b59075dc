"""The best plans that differ in what they buy or how they run it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from planner.errors import StoppedError
from planner.planning.answering.preferred import with_preferred
from planner.planning.answering.small_pools import carried
from planner.planning.asking.kept import kept
from planner.planning.asking.kinds import fleet_alternatives
from planner.planning.formulation.fleet_case import FleetCase
from planner.planning.formulation.study import Formulation
from planner.schema.answers import Plans
from planner.schema.choice import Option
from planner.schema.configuration import Configuration
from planner.schema.fleet import FleetChoice, FleetProblem

if TYPE_CHECKING:
    from planner.app.loaded_problem import LoadedProblem
    from planner.planning.run import Run


def alternatives(session: LoadedProblem, k: int, run: Run) -> Plans:
    """The k best plans, none of which only varies a price, a place or a batch of another.

    The first one is that of `planner plan`, of a day the optimum before simplicity; like it, the others carry
    their demand at the number of replicas that they have, and depart from what the problem prefers only where
    they must. Two options are of one kind when workload, role, GPU, layout and formats are the same; over a
    table of workers every option is a kind of its own.
    """
    session.refuse_throughput()
    ready = kept(session.study, session.problem, run)
    kind, first = kinds_of(ready.case), ready.answer.choice

    def solve(question: FleetProblem) -> FleetChoice:
        found = with_preferred(question, ready.solve(question))
        return carried(ready.case, question, found, ready.solve)

    try:
        found = fleet_alternatives(ready.case.question, k, solve, kind, first=first)
    except StoppedError:
        found = ready.alone()
    plans = ready.documents(found)
    complete = found.exhausted and len(plans) == len(found.choices)
    return Plans(plans=plans, complete=complete or len(plans) == k)


def kinds_of(case: FleetCase) -> Callable[[Option], Hashable]:
    """What makes two options the same to somebody who builds the fleet."""
    return lambda option: _kind(option, case.behind(option))


def _kind(option: Option, formulation: Formulation | None) -> Hashable:
    if formulation is None:
        return option.id
    item = configuration(formulation, option.anywhere)
    layout = (item.tp, item.pp, item.ep, item.attention_dp, item.weights.id, item.kv.id)
    return (option.workload, option.role, option.gpu, *layout)


def configuration(formulation: Formulation, option_id: str) -> Configuration:
    """The configuration behind an option."""
    placed = formulation.found[option_id][1]
    if placed.role == "serve":
        part = formulation.evaluated[placed.workload]
        assert part is not None, "options come from evaluated candidates"
        return part.evaluation.candidates.configurations[placed.configuration]
    split = formulation.disaggregated[placed.workload]
    assert split is not None, "options come from evaluated candidates"
    side = split.sides[placed.side]
    return side.evaluation.candidates.configurations[placed.configuration]
