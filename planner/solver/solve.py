"""From a fleet problem to a plan: which engine answers, and the last check of its answer."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from planner.constraints.fleet_check import broken
from planner.constraints.packing import rooms_are_exact
from planner.errors import SearchInterrupted
from planner.schema.fleet import FleetChoice, FleetProblem, Progress
from planner.schema.reasons import Goal
from planner.solver.at_places import place_rows
from planner.solver.blocking_limits import gap, in_the_way
from planner.solver.cp.canonical import in_order, separable
from planner.solver.cp.solve import solve_cp
from planner.solver.cp.supports import refuse_servers, shares_servers, size, supports
from planner.solver.hours_alone import busiest_hours
from planner.solver.one_place import solve_at_one_place
from planner.solver.places_aside import anywhere, solve_anywhere
from planner.solver.serving_modes import barred_modes
from planner.solver.work import Limit, Timer

SMALL = 60
"""`planner.solver.cp.supports.size` up to which the exact engine goes first. Measured on 192 made-up
fleets (1 to 5 workloads, 1 to 4 buckets, 1 to 24 periods) on one core: up to 100, all were settled in 8 s and
97 % in 2 s; up to 300, three in four in 8 s; beyond, fewer than half. HiGHS settles fleets of one bucket a
workload faster from about 100 on (two regions over 24 hours: 0.2 s against 11 s)."""
MIDDLE = 1500
"""Size up to which the exact engine is tried on fleets of one bucket a workload that HiGHS does not settle at
once: where many hours share reserved GPUs, it proves what HiGHS leaves open (three workloads, 33 options, 24
hours: 5 s of CPU against a gap of 2 % after 35 s)."""
MOST_LINES = 400
"""Lines of the supply up to which the exact engine is tried: each is a whole number in every period."""
_EXACT_PART = 0.4
"""Part of the time limit that the exact engine gets."""
_SMALL_WORK, _WORK = 60.0, 8.0
"""Its work on small fleets (far more than they need) and on larger ones, in deterministic seconds of CP-SAT:
the same in every run."""

_HOUR_PART, _HOUR_WORK = 0.3, 3.0
"""Of the time, and counted seconds at most, to see whether a busy hour of a day has a plan at all."""

_BRIEF = ("brief",)
_BRIEF_WORK = 1.2
"""Of CP-SAT on a brief question, in its deterministic seconds."""

_EXACT: dict[str, Callable[..., FleetChoice]] = {"exact": solve_cp, "anywhere": solve_anywhere}
"""The exact engine, on the question itself and on that without its places."""

Watcher = Callable[[Any], None]
"""Is given a `Progress` by this module, and a text by the large engine."""


def solve_fleet(
    problem: FleetProblem,
    *,
    goal: Goal = "plan",
    time_limit_s: float | None = None,
    work_s: float | None = None,
    seed: int = 0,
    workers: int = 1,
    progress: Watcher | None = None,
    brief: bool = False,
    start: FleetChoice | None = None,
    enough: float = 0.0,
) -> FleetChoice:
    """The cheapest fleet that carries every demand in every period, and how far that is proved.

    Small problems of whole replicas and GPUs go to CP-SAT, which settles them exactly. Of larger ones with
    one bucket a workload HiGHS settles some at once and CP-SAT others; everything else, and what neither
    ends, HiGHS searches by prices and neighborhoods. The better plan and the better bound are kept. A fleet
    of several places is such a problem first without them. Without a time limit the answer is the same in
    every run, however busy the machine is and however many processes search.

    Args:
        problem: what is asked.
        goal: ``plan`` settles ties among optimal plans where that is cheap; ``value`` proves the optimal
            value only; ``good`` spends nothing on the bound of a large day; ``any`` ends at the first plan.
        time_limit_s: wall time for everything.
        work_s: counted work (`planner.solver.work`) for everything, where there is no time limit.
        seed: of the search.
        workers: processes of the search; one for what CP-SAT settles.
        progress: is told what is known from time to time: a `Progress`, or the large engine's own words.
        brief: only what can be settled in seconds; what that leaves open stays open.
        start: a plan of the question, perhaps with more options, from which ``good`` ones are looked for.
        enough: the gap at which the search ends.

    Raises:
        InputError: spares counted in servers where none are bought.
        RuntimeError: an answer breaks a limit.
        SearchInterrupted: the user ended the search; with the best choice so far, if there is one.
    """
    asked: dict[str, Any] = {
        "goal": goal,
        "seed": seed,
        "workers": workers,
        "progress": progress,
        "brief": brief,
        "start": start,
        "enough": enough,
    }
    left = _Left(time_limit_s, work_s)
    if rows := place_rows(problem):
        solve = partial(_anywhere, left, asked)
        value = partial(_anywhere, left, asked | {"goal": "value", "progress": None, "enough": 0.0})
        found = _checked(problem, solve_at_one_place(problem, rows, solve, value))
    else:
        found = _anywhere(left, asked, problem)
    return replace(found, timed=time_limit_s is not None and found.status in ("feasible", "unknown"))


def _anywhere(left: _Left, how: Mapping[str, Any], problem: FleetProblem) -> FleetChoice:
    """The answer of one engine after the other; ``how``: as `solve_fleet` takes it."""
    refuse_servers(problem)
    hopeless = _hopeless(problem, left, how)
    if hopeless is not None:
        return hopeless
    asked = {name: how[name] for name in ("goal", "seed", "workers")}
    goal, progress = how["goal"], how["progress"]
    known: FleetChoice | None = None
    attempts = _BRIEF if how["brief"] else _attempts(problem)
    if goal == "good":
        attempts = attempts[-1:]
    for attempt in attempts:
        if attempt == "brief":
            found = _briefly(problem, left, asked)
        elif attempt == "quick":
            found = solve_large(problem, **left(), quick=True, enough=how["enough"], **asked)
        elif attempt in _EXACT:
            only = len(attempts) == 1
            mine = left(1.0 if only else _EXACT_PART)
            work = _SMALL_WORK if size(problem) <= SMALL else _WORK
            most = [w for w in (mine["work_s"], None if only else work) if w is not None]
            exact = {**asked, "workers": 1, "work": min(most, default=None)}
            found = _EXACT[attempt](problem, time_limit_s=mine["time_limit_s"], **exact)
        else:
            tried = known if "quick" in attempts else None
            more = {name: how[name] for name in ("progress", "start", "enough")} | {"tried": tried}
            found = solve_large(problem, **left(), **more, **asked)
        known = found if known is None else better_of(known, found)
        if progress is not None and known.value is not None:
            progress(_known(known, left.gone_s))
        if (
            known.interrupted
            or known.status in ("optimal", "infeasible")
            or (goal == "any" and known.periods)
            or (known.gap is not None and known.gap <= how["enough"])
        ):
            break
    assert known is not None
    found = _checked(problem, known)
    if found.interrupted:
        raise SearchInterrupted(found if found.value is not None else None)
    return found


def _hopeless(problem: FleetProblem, left: _Left, how: Mapping[str, Any]) -> FleetChoice | None:
    """That a workload has no way to be served, or one of the busiest hours no plan, where that is so."""
    _, unserved = barred_modes(problem)
    if unserved:
        return FleetChoice("infeasible", in_the_way=unserved)
    asked = {**how, "goal": "any", "progress": None, "start": None, "enough": 0.0}
    for hour in busiest_hours(problem):
        mine = left(_HOUR_PART)
        if mine["time_limit_s"] is None:
            mine["work_s"] = min(_HOUR_WORK, math.inf if mine["work_s"] is None else mine["work_s"])
        try:
            found = _anywhere(_Left(**mine), asked, hour)
        except SearchInterrupted:  # its best is no plan of the day
            raise SearchInterrupted from None
        if found.status == "infeasible":
            return replace(found, in_the_way=in_the_way(problem))
    return None


def exact_reaches(problem: FleetProblem) -> bool:
    """The exact engine is tried on fleets of this size."""
    return size(problem) <= MIDDLE


def _attempts(problem: FleetProblem) -> tuple[str, ...]:
    """Engines in the order in which they are tried; the size decides, no clock."""
    if problem.places:
        free = _attempts(anywhere(problem))
        return tuple("anywhere" if attempt == "exact" else attempt for attempt in free)
    if not supports(problem) or len(problem.lines) > MOST_LINES:
        return ("large",)
    if shares_servers(problem):
        return ("exact",)
    if size(problem) <= SMALL or not rooms_are_exact(problem):
        return ("exact", "large")
    single = all(len(demand.buckets) == 1 for demand in problem.demands)
    if single and separable(in_order(problem)):
        # Hour by hour it is the question of one hour, which CP-SAT answers at once.
        return ("exact", "large")
    if single and size(problem) <= MIDDLE:
        return ("quick", "exact", "large")
    return ("large",)


def _briefly(problem: FleetProblem, left: _Left, asked: Mapping[str, Any]) -> FleetChoice:
    """CP-SAT for a fixed amount of work, then HiGHS for a moment."""
    from planner.solver.mip.solve import solve_brief

    found = FleetChoice("unknown")
    if supports(problem) and len(problem.lines) <= MOST_LINES:
        mine = left()
        work = min(_BRIEF_WORK, _BRIEF_WORK if mine["work_s"] is None else mine["work_s"])
        found = solve_cp(problem, time_limit_s=mine["time_limit_s"], work=work, **{**asked, "workers": 1})
    open_ = found.status == "unknown" or (found.status == "feasible" and asked["goal"] != "any")
    if open_ and rooms_are_exact(problem) and not found.interrupted:
        other = solve_brief(problem, **left(), goal=asked["goal"], seed=asked["seed"])
        return better_of(found, other)
    return found


def solve_large(
    problem: FleetProblem, *, time_limit_s: float | None = None, work_s: float | None = None, **asked: Any
) -> FleetChoice:
    """HiGHS counts replicas with rooms that always fit; where that gives plans away, a bound of its own.

    With GPUs that need not stand in the same server every plan stays possible: what is proved of that holds.

    Args:
        problem: what is asked.
        time_limit_s: wall time for everything.
        work_s: counted work for everything, where there is no time limit.
        asked: as `planner.solver.mip.solve.solve_mip` takes it.
    """
    # Imported here: the large engine takes a while to load.
    from planner.solver.mip.solve import solve_mip

    if rooms_are_exact(problem):
        return solve_mip(problem, time_limit_s=time_limit_s, work_s=work_s, **asked)
    left = _Left(time_limit_s, work_s)
    found = solve_mip(problem, **left(0.5), **asked)
    loose = replace(problem, hosts=tuple(replace(host, server_gpus=None) for host in problem.hosts))
    known = solve_mip(loose, **left(), **{**asked, "goal": "value"})
    if known.status == "infeasible" or found.interrupted:
        return known if known.status == "infeasible" else found
    open_ = FleetChoice("unknown", lower_bound=known.lower_bound, engine=known.engine)
    if found.value is None:
        return open_
    return better_of(replace(found, status="feasible", lower_bound=None), open_)


class _Left:
    """What is left of a time limit, or of counted work."""

    def __init__(self, time_limit_s: float | None, work_s: float | None) -> None:
        counted = time_limit_s is None
        limit_s = work_s if counted else time_limit_s
        self.limited = limit_s is not None
        self.timer = Timer(Limit(math.inf if limit_s is None else limit_s, counted))
        self.began_s = time.monotonic()

    @property
    def gone_s(self) -> float:
        """Since the beginning, on the clock."""
        return time.monotonic() - self.began_s

    def __call__(self, part: float = 1.0) -> dict[str, Any]:
        """A part of the seconds that are left, as engines take it; None without a limit."""
        left_s = max(0.0, self.timer.left_s) * part if self.limited else None
        counted = self.timer.limit.counted
        return {"time_limit_s": None if counted else left_s, "work_s": left_s if counted else None}


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
        interrupted=first.interrupted or second.interrupted,
        timed=first.timed or second.timed,
        trouble=() if proved else (*first.trouble, *second.trouble),
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
