"""What is told of a run that its user or the time has ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from planner.errors import StoppedError
from planner.planning.run import Run
from planner.schema.plan import Plan

Answer = TypeVar("Answer")


def all_told(choices: Sequence[Answer], tell: Callable[[Answer], Plan]) -> tuple[Plan, ...]:
    """The plans of several answers in documents: as many as the time suffices for, the first in any case."""
    plans: list[Plan] = []
    try:
        plans.extend(tell(choice) for choice in choices)
    except StoppedError:
        if not plans:
            return (tell(choices[0]),)
    return tuple(plans)


def unfinished(plan: Plan, by: str = "the time limit") -> Plan:
    """A plan whose reasons the time did not suffice for, or its user did not wait for."""
    complete = plan.conflicts_complete and plan.status != "infeasible"
    warnings = (*plan.warnings, f"{by} ended the search for reasons before it was done")
    return plan.model_copy(update={"conflicts_complete": complete, "warnings": warnings})


def told_in_any_case(run: Run, tell: Callable[[], Plan]) -> Plan:
    """The plan in a document; an interrupt or the end of the time amid it ends the searches that explain.

    Then the plan is told without them. A second interrupt ends everything.
    """
    try:
        return tell()
    except KeyboardInterrupt:
        if run.interrupted:
            raise
        run.interrupt()
    except StoppedError:
        run.time_limit_s = 0.0
    return tell()


def unless_ended(run: Run, look: Callable[[], Answer | None]) -> Answer | None:
    """What is found beside a known answer; None where an interrupt or the time ends it first."""
    try:
        return look()
    except KeyboardInterrupt:
        run.interrupt()
    except StoppedError:
        run.time_limit_s = 0.0
    return None
