"""The best plans that differ in what they buy or how they run it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from planner.app import measured_plan, plan
from planner.app.choosing import all_told
from planner.app.fleet.shape import is_fleet
from planner.app.measured_pools import Solved
from planner.app.size import refuse_too_large
from planner.performance.measured import measured_case
from planner.schema.answers import Plans
from planner.schema.choice import ChoiceProblem, Choices, Option
from planner.schema.configuration import Configuration
from planner.schema.plan import Plan
from planner.solver.alternatives import alternatives as best_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.app.run import Run
    from planner.app.session import Session
    from planner.app.study import Posed


def alternatives(session: Session, k: int, run: Run) -> Plans:
    """The k best plans, none of which only varies a price, a place or a batch of another.

    Two options are of one kind when workload, role, GPU, layout and formats are the same; over a table
    of workers every option is a kind of its own.
    """
    if is_fleet(session.problem):
        from planner.app.fleet.several_plans import alternatives_of_fleet

        return alternatives_of_fleet(session, k, run)
    if session.problem.workers is not None:
        return _measured(session, k, run)
    with run.step("evaluate", "evaluating configurations"):
        posed = session.study.pose(session.problem)
    refuse_too_large(posed.question, session.where)
    with run.step("solve", "choosing and proving"):
        found = _found(posed.question, k, run, lambda option: _kind(option, posed))
    with run.step("explain", "explaining"):
        plans = all_told(found.choices, lambda choice: plan.documented(session.study, posed, choice, run))
    return Plans(plans=plans, complete=_complete(plans, found, k))


def _measured(session: Session, k: int, run: Run) -> Plans:
    table, sizes = measured_plan.read_table(session.problem, session.folder, session.catalog)
    case = measured_case(session.problem, table, sizes)
    refuse_too_large(case.problem, session.where)
    found = _found(case.problem, k, run, lambda option: option.id)
    plans = all_told(
        found.choices,
        lambda choice: measured_plan.documented(
            session.problem, session.folder, session.catalog, run, Solved(case, choice)
        ),
    )
    return Plans(plans=plans, complete=_complete(plans, found, k))


def _complete(plans: Sequence[Plan], found: Choices, k: int) -> bool:
    return len(plans) == k or (found.exhausted and len(plans) == len(found.choices))


def _found(question: ChoiceProblem, k: int, run: Run, kind: Callable[[Option], Hashable]) -> Choices:
    return best_of(question, k, kind=kind, time_limit_s=run.left_s, seed=run.seed, workers=run.workers)


def _kind(option: Option, posed: Posed) -> Hashable:
    """What makes two options the same to somebody who builds the fleet."""
    item = configuration(posed, option.id)
    layout = (item.tp, item.pp, item.ep, item.attention_dp, item.weights.id, item.kv.id)
    return (option.workload, option.role, option.gpu, *layout)


def configuration(posed: Posed, option_id: str) -> Configuration:
    """The configuration behind an option."""
    placed = posed.found[option_id][1]
    if placed.role == "serve":
        part = posed.evaluated[placed.workload]
        assert part is not None, "options come from evaluated candidates"
        return part.evaluation.candidates.configurations[placed.configuration]
    split = posed.apart[placed.workload]
    assert split is not None, "options come from evaluated candidates"
    side = split.sides[placed.side]
    return side.evaluation.candidates.configurations[placed.configuration]
