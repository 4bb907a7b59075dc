"""The exact engine for small fleets: from a problem to a proved plan."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from planner.constraints.fleet_check import bill, broken
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.reasons import Goal
from planner.solver.blocking_limits import gap
from planner.solver.cp.canonical import Distinct, distinct_periods, in_order, only, separable
from planner.solver.cp.periods import worth_searching
from planner.solver.cp.place_pairs import NO_PLACES
from planner.solver.cp.supports import refuse_servers, supports
from planner.solver.serving_modes import Barred, barred_modes


def solve_cp(
    problem: FleetProblem,
    *,
    goal: Goal = "plan",
    time_limit_s: float | None = None,
    seed: int = 0,
    workers: int = 1,
    work: float | None = None,
    places: Mapping[str, str] = NO_PLACES,
) -> FleetChoice:
    """The cheapest plan of a small fleet, proved in integers.

    Status ``optimal`` is proved; ``feasible`` was cut by the time limit and carries its bound and gap;
    ``unknown`` was cut before any plan; ``infeasible`` is confirmed by a second search without presolve.
    Periods that nothing ties together are solved one by one, and equal ones once.

    Args:
        problem: what is asked; see `planner.solver.cp.supports.supports`.
        goal: ``plan`` settles ties among optimal plans where the model is small; ``value`` proves the
            optimal value only; ``any`` ends at the first plan within 5 %.
        time_limit_s: wall time for everything.
        seed: of the search.
        workers: threads of the search.
        work: of each search in the solver's deterministic seconds; unlike a time limit it cuts every run at
            the same place.
        places: by option id, where it stands: only pairs of one place fit each other, and each place decodes
            about what it prefills (`planner.solver.cp.place_pairs`). What is proved is then a bound.

    Raises:
        InputError: spares counted in servers where none are bought.
        ValueError: a problem with parts that this engine does not know.
        RuntimeError: an answer breaks a limit.
    """
    if not supports(problem):
        raise ValueError(
            "deferrable work, outside suppliers, places and losses of zones need the other engine"
        )
    refuse_servers(problem)
    deadline_s = None if time_limit_s is None else time.monotonic() + time_limit_s
    barred, unserved = barred_modes(problem)
    if unserved:
        return FleetChoice("infeasible", in_the_way=unserved, engine="CP-SAT")
    # Imported here: the solver takes a while to load, which commands without a search need not pay.
    from planner.solver.cp.engine import Engine

    def solved(part: FleetProblem, days: Distinct, closed: Barred) -> FleetChoice:
        engine = Engine(
            part, days, closed, places, deadline_s=deadline_s, seed=seed, workers=workers, work=work
        )
        return engine.best(goal)

    ordered = in_order(problem)
    days = distinct_periods(ordered)
    if days.count > 1 and separable(ordered):
        parts, ordered = [], worth_searching(ordered)
        for first in days.first:
            closed = {(workload, mode, 0) for workload, mode, t in barred if t == first}
            parts.append(solved(only(ordered, first), Distinct((0,), (1,), (0,)), closed))
            if parts[-1].status == "infeasible" or parts[-1].interrupted:
                break
        if parts[-1].status == "infeasible":
            return parts[-1]
        choice = _together(ordered, days, parts)
    else:
        choice = solved(ordered, days, barred)
    # Pairs of different places need not fit each other.
    faults = broken(replace(problem, couplings=()) if places else problem, choice)
    if faults:
        raise RuntimeError("the solver's answer breaks " + "; ".join(faults))
    return choice


def _together(problem: FleetProblem, days: Distinct, parts: list[FleetChoice]) -> FleetChoice:
    """One plan of the day from the plans of its periods; bounds add up."""
    interrupted = any(part.interrupted for part in parts)
    if len(parts) < days.count:
        return FleetChoice("unknown", engine="CP-SAT", interrupted=interrupted)
    bounds = [part.lower_bound or Fraction(0) for part in parts]
    bound = sum((b * weight for b, weight in zip(bounds, days.weights, strict=True)), Fraction(0))
    if any(not part.periods for part in parts):
        return FleetChoice("unknown", lower_bound=bound, engine="CP-SAT", interrupted=interrupted)
    periods = days.spread([part.periods[0] for part in parts])
    counted = bill(problem, periods)
    value = counted.value(problem.limits.objective)
    return FleetChoice(
        status="optimal" if all(part.status == "optimal" for part in parts) else "feasible",
        periods=periods,
        cost_usd=counted.usd,
        value=value,
        lower_bound=bound,
        gap=gap(value, bound),
        engine="CP-SAT",
        trace=parts[-1].trace,
        interrupted=interrupted,
    )
