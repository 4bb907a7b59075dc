"""Several plans of a fleet: the next best ones, and fronts over cost, GPUs, power and providers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from planner.app.choosing import all_told
from planner.app.fleet.alternatives import fleet_alternatives
from planner.app.fleet.kept import Kept, kept
from planner.app.fleet.pareto import FrontAxis, fleet_front
from planner.app.fleet.several import FleetChoices
from planner.errors import StoppedError, time_is_up
from planner.schema.answers import Plans
from planner.schema.plan import Plan

if TYPE_CHECKING:
    from planner.app.run import Run
    from planner.app.session import Session


def alternatives_of_fleet(session: Session, k: int, run: Run) -> Plans:
    """The k best plans that differ in the options in use, best first."""
    ready = kept(session.study, session.problem, run)
    try:
        found = fleet_alternatives(ready.case.question, k, ready.solve)
    except StoppedError:
        found = _first_alone(ready)
    plans = _documents(ready, found)
    complete = found.exhausted and len(plans) == len(found.choices)
    return Plans(plans=plans, complete=complete or len(plans) == k)


def front_of_fleet(
    session: Session, axes: Sequence[str], run: Run, max_cost_ratio: float | None = None
) -> Plans:
    """The front over cost, gpus, power and providers, or some of them; ``max_cost_ratio`` as for `pareto`.

    Raises:
        InputError: an axis named twice, or fewer than two.
    """
    ready = kept(session.study, session.problem, run)
    chosen = [cast("FrontAxis", axis) for axis in axes]
    try:
        found = fleet_front(ready.case.question, chosen, ready.solve, max_cost_ratio=max_cost_ratio)
    except StoppedError:
        found = _first_alone(ready)
    plans = _documents(ready, found)
    return Plans(
        plans=plans,
        axes=tuple(axes),
        max_cost_ratio=max_cost_ratio,
        complete=found.exhausted and len(plans) == len(found.choices),
    )


def _first_alone(ready: Kept) -> FleetChoices:
    """What is known when the time is up.

    Raises:
        StoppedError: nothing.
    """
    if ready.answer.choice.value is None:
        raise time_is_up(ready.run.time_limit_s or 0.0)
    return FleetChoices((ready.answer.choice,), exhausted=False)


def _documents(ready: Kept, found: FleetChoices) -> tuple[Plan, ...]:
    return all_told(found.choices, ready.document)
