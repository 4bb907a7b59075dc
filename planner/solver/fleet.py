"""From a fleet problem to a plan: which engine answers, and the last check of its answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from planner.constraints.fleet_check import broken
from planner.schema.fleet import FleetChoice, FleetProblem, Progress
from planner.schema.reasons import Goal
from planner.solver.fleet_cp.solve import solve_cp
from planner.solver.fleet_cp.supports import refuse_shared_servers, size, supports
from planner.solver.fleet_limits import gap, in_the_way
from planner.solver.fleet_ways import barred_ways

SMALL = 60
"""`planner.solver.fleet_cp.supports.size` up to which the exact engine goes first. Measured on 192 made-up
fleets (1 to 5 workloads, 1 to 4 buckets, 1 to 24 periods) on one core: up to 100, all were settled in 8 s and
97 % in 2 s; up to 300, three in four in 8 s; beyond, fewer than half. HiGHS settles fleets of one bucket a
workload faster from about 100 on (two regions over 24 hours: 0.2 s against 11 s)."""
_FIRST_PART = 0.5
"""Part of the time limit that the exact engine gets."""
_FIRST_S = 30.0
"""Its time at most. Far more than it needs at this size, so that no clock decides which engine answers."""

Watcher = Callable[[Any], None]
"""Is given a `Progress` by this module, and a text by the large engine."""


def solve_fleet(
    problem: FleetProblem,
    *,
    goal: Goal = "plan",
    time_limit_s: float | None = None,
    seed: int = 0,
    workers: int = 1,
    progress: Watcher | None = None,
) -> FleetChoice:
    """The cheapest fleet that carries every demand in every period, and how far that is proved.

    Small problems of whole replicas and GPUs go to CP-SAT, which settles them exactly; where it does not
    end in its part of the time, and for everything else, HiGHS searches on, and the better plan and the
    better bound are kept.

    Args:
        problem: what is asked.
        goal: ``plan`` settles ties among optimal plans where that is cheap; ``value`` proves the optimal
            value only; ``any`` ends at the first plan.
        time_limit_s: wall time for everything.
        seed: of the search.
        workers: threads of the search.
        progress: is told what is known from time to time: a `Progress`, or the large engine's own words.

    Raises:
        InputError: spares counted in servers where a server holds several replicas.
        RuntimeError: an answer breaks a limit.
    """
    began_s = time.monotonic()
    refuse_shared_servers(problem)
    _, unserved = barred_ways(problem)
    if unserved:
        return FleetChoice("infeasible", in_the_way=unserved)
    first = None
    if supports(problem) and size(problem) <= SMALL:
        part_s = _FIRST_S if time_limit_s is None else min(_FIRST_S, _FIRST_PART * time_limit_s)
        first = solve_cp(problem, goal=goal, time_limit_s=part_s, seed=seed, workers=workers)
        if progress is not None and first.value is not None:
            progress(_known(first, time.monotonic() - began_s))
        if first.status in ("optimal", "infeasible") or (goal == "any" and first.periods):
            return _checked(problem, first)
    # Imported here: the large engine takes a while to load.
    from planner.solver.fleet_mip.solve import solve_mip

    spent_s = time.monotonic() - began_s
    left_s = None if time_limit_s is None else max(0.0, time_limit_s - spent_s)
    second = solve_mip(problem, goal=goal, time_limit_s=left_s, seed=seed, workers=workers, progress=progress)
    trace = tuple(replace(known, seconds=known.seconds + spent_s) for known in second.trace)
    second = replace(second, trace=trace)
    return _checked(problem, second if first is None else better_of(first, second))


def better_of(first: FleetChoice, second: FleetChoice) -> FleetChoice:
    """The better plan of two engines with the better bound of both.

    A plan that was read again outrules any claim that there is none, and any bound above its value.
    """
    bounds = [choice.lower_bound for choice in (first, second) if choice.lower_bound is not None]
    bound, trace = max(bounds, default=None), (*first.trace, *second.trace)
    plans = [choice for choice in (first, second) if choice.value is not None]
    if not plans:
        impossible = [choice for choice in (first, second) if choice.status == "infeasible"]
        return impossible[0] if impossible else replace(second, lower_bound=bound, trace=trace)
    best = min(plans, key=lambda choice: (choice.value or 0, choice.status != "optimal"))
    assert best.value is not None
    bound = None if bound is None else min(bound, best.value)
    proved = bound == best.value or best.status == "optimal"
    return replace(
        best,
        status="optimal" if proved else "feasible",
        lower_bound=bound,
        gap=gap(best.value, bound),
        trace=trace,
    )


def _known(choice: FleetChoice, seconds: float) -> Progress:
    bound = choice.lower_bound
    return Progress(
        seconds,
        None if choice.value is None else float(choice.value),
        None if bound is None else float(bound),
    )


def _checked(problem: FleetProblem, choice: FleetChoice) -> FleetChoice:
    """The answer, read again outside the engine that gave it."""
    faults = broken(problem, choice)
    if faults:
        raise RuntimeError("the solver's answer breaks " + "; ".join(faults))
    if choice.status == "infeasible" and not choice.in_the_way:
        return replace(choice, in_the_way=in_the_way(problem))
    return choice
