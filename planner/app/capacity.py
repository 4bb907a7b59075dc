"""The largest load of a given fleet, once or over a range of fleets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planner.app.what_if import sweep_of
from planner.planning.capacity.plan import capacity_plan
from planner.schema.answers import Sweep
from planner.schema.plan import Plan

if TYPE_CHECKING:
    from planner.app.loaded_problem import LoadedProblem
    from planner.planning.run import Run


def capacity(session: LoadedProblem, run: Run, workloads: Sequence[str] = ()) -> Plan:
    """The plan at the largest load of the session's fleet, whatever its objective.

    Args:
        session: the problem; its demand is the mix.
        run: limits of the search.
        workloads: whose demand is raised; none: all.

    Raises:
        InputError: nothing limits the fleet, or a workload that the problem does not have.
        StoppedError: the time ended before anything was known.
    """
    with session.placed():
        return capacity_plan(session.study, session.problem, run, workloads)


def capacities(
    session: LoadedProblem, axes: Mapping[str, Sequence[Any]], run: Run, workloads: Sequence[str] = ()
) -> Sweep:
    """The same at every combination of values.

    Raises:
        InputError: more combinations than a sweep may have, and as for `capacity`.
        StoppedError: the time ended before the first of them was planned.
    """
    return sweep_of(session, axes, run, lambda changed, part: capacity(changed, part, workloads))
