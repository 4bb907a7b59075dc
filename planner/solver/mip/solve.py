"""Large fleets: a plan and how far it is proved, by mixed-integer programming."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.reasons import Goal
from planner.solver.mip.crew import Crew, CrewLost
from planner.solver.mip.day_moves import GAIN, move_days
from planner.solver.mip.day_search import SimpleDay, simple_day, widths
from planner.solver.mip.finish import buy, finish, lower_bound, used_by, with_bound
from planner.solver.mip.hourly_bound import prove_by_hours
from planner.solver.mip.hours.by_hours import by_hours
from planner.solver.mip.jobs import solve_whole
from planner.solver.mip.known_plan import from_known
from planner.solver.mip.large import search_large
from planner.solver.mip.mip import INF
from planner.solver.mip.plan import BlockPlan, Plan
from planner.solver.mip.prepared import Prepared, prepare
from planner.solver.mip.race import races
from planner.solver.mip.repair import repaired
from planner.solver.mip.run import PROVED_GAP, Run
from planner.solver.mip.state import State
from planner.solver.mip.taken_over import take_over
from planner.solver.work import Limit

QUICK_S = 3.0
"""So long this process tries the whole model itself: an interrupt waits for HiGHS no longer."""
RACING_S = 2.0
"""The same of fleets small enough for `race`."""
HOUR_S = 5.0
"""The same of a single hour: nearly all are settled within a second, and a busy machine must not decide."""
QUICK_SIZE = 1000
"""`Prepared.size` up to which that is worth trying: no counted work ends the root of a large model (12 s of
CPU at 1,400)."""
BRIEF_S = 4.0
"""For one brief question: what HiGHS settles at all it settles in a second, mostly."""
BRIEF_SIZE = 200
"""`Prepared.size` up to which it is asked where work is counted: the root of a day of six layouts at two
places (504) took 13 s of CPU and found nothing."""
NEAR_GAP = 0.01
"""Of a day that its hours bound: what is left are starts mostly, of which prices prove nothing."""
WIDE_GAP = 0.05
"""Of such a day, so near that more layouts are not searched: five workloads at 2 % gained nothing in 23 s."""
GOOD_S = 0.6
"""The same of days whose moves suffice."""
DAY_SIZE = 2000
"""`Prepared.size` up to which a day that moves have searched is searched whole too: beyond, the root of one
workload alone takes a minute (121 layouts over 24 hours, 4,320) and no counted work ends it."""
DAY_WIDTHS = (4, 8)
"""Options of a workload that a day is searched among, one search from the plan of the one before."""
DAY_NODES = 300
"""Of branch and bound in each of them."""
MOVES_PART, DAY_PART = 0.3, 0.3
"""Of the work that is left: moves of one workload's day, and each search, where the nodes take that long."""
_EXACT_ROUNDS = 20
"""Solutions in a row that rounding made look sufficient."""
_BEST = ("plan", "value")
"""Goals that ask for the best plan and its bound."""
_CONFIRM_S = 30.0
"""For the second opinion on `infeasible`, at most."""


def solve_mip(
    problem: FleetProblem,
    *,
    goal: Goal = "plan",
    time_limit_s: float | None = None,
    work_s: float | None = None,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[str], None] | None = None,
    quick: bool = False,
    start: FleetChoice | None = None,
    tried: FleetChoice | None = None,
    few: bool = False,
    enough: float = 0.0,
) -> FleetChoice:
    """The cheapest fleet, or the best one found with its bound.

    Without a time limit the search ends at a proof, at a gap of `GOOD_GAP`, or after `PATIENCE_S` of counted
    work, and gives the same plan in every run, with any number of processes.

    Args:
        problem: what is asked.
        goal: ``any``: stop at the first feasible plan; ``good``: where moves find nothing better any more.
        time_limit_s: wall time.
        work_s: counted work (`planner.solver.work`) at most; not where there is a time limit.
        seed: of everything random.
        workers: processes; fleets that one process does not settle within a second get two at least, where
            the machine has two cores.
        progress: told about once a second what is known.
        quick: end after what this process finds within a second.
        start: a plan of the question, perhaps with more options, that moves of days begin from.
        tried: what a ``quick`` search and the exact engine left open.
        few: the layouts are those of a day without limits already.
        enough: the gap at which the search ends, where that is not nearer than it would end at.
    """
    run = Run(time_limit_s, progress, work_s, enough)
    prepared = prepare(problem)
    state = State(prepared, seed)
    interrupted = False
    trouble: tuple[str, ...] = ()
    try:
        day = _begun(state, run)
        hours_first = goal in _BEST and (day is not None or _one_large_hour(prepared))
        near = None if few else partial(solve_mip, goal="value", seed=seed, workers=workers)
        spent_s = 0.0
        if hours_first and not tried:
            spent_s = _timed(run, partial(by_hours, state, run, near))
        good = goal == "good" and day is not None
        open_ = not tried and run.gap > max(PROVED_GAP, enough)
        status = _quick(state, run, goal, spent_s, good=good, day=day) if open_ else ""
        if tried:
            take_over(state, run, tried)
        ended = quick or (goal == "any" and run.blocks is not None)
        if status == "" and not run.done and not ended:
            if goal in _BEST and not hours_first:
                by_hours(state, run, near)
            size = max(workers, min(os.cpu_count() or 1, 2))
            with Crew(prepared, seed, size) as crew:
                crew.learn([cut for mine in state.cuts.values() for cut in mine])
                with suppress(CrewLost):
                    status = _searched(state, crew, run, goal, day, start)
                trouble = crew.trouble
        if status == "infeasible":
            return FleetChoice("infeasible", engine="HiGHS", trace=tuple(run.trace))
    except KeyboardInterrupt:
        if run.blocks is None:
            raise
        interrupted = True
    found = _closed(problem, prepared, run)
    return replace(found, interrupted=interrupted, trouble=() if found.status == "optimal" else trouble)


def _one_large_hour(prepared: Prepared) -> bool:
    return prepared.periods == 1 and prepared.size > BRIEF_SIZE


def _timed(run: Run, work: Callable[[], object]) -> float:
    """Seconds of the run that some work takes."""
    begun_s = run.seconds
    work()
    return run.seconds - begun_s


def _searched(
    state: State, crew: Crew, run: Run, goal: Goal, day: SimpleDay | None, start: FleetChoice | None
) -> str:
    """Better plans and bounds in ``run``; ``infeasible`` where that is proved."""
    if day is None:
        return search_large(state, crew, run, goal)
    good, whole = goal == "good", state.prepared.size <= DAY_SIZE
    first = run.blocks or day.plan.blocks
    if start is not None:
        first = from_known(state, day, start)
    by_their_hours = run.bound > -INF
    ended = move_days(state, crew, run, day, first, 1.0 if good else MOVES_PART)
    if not whole and not good and not by_their_hours:
        _bounded(state.prepared, crew, run, day, state.seed, crew.size)
    if (ended or not good) and not (by_their_hours and run.gap <= WIDE_GAP):
        _widened(state, crew, run, day)
    near = by_their_hours and run.gap <= NEAR_GAP
    return search_large(state, crew, run, goal) if whole and not good and not near else ""


def solve_brief(
    problem: FleetProblem,
    *,
    goal: Goal = "plan",
    time_limit_s: float | None = None,
    work_s: float | None = None,
    seed: int = 0,
) -> FleetChoice:
    """The whole model for a moment, in this process.

    Args:
        problem: what is asked.
        goal: ``any``: stop at the first feasible plan.
        time_limit_s: wall time; never more than `BRIEF_S`.
        work_s: the same of counted work, where there is no time limit.
        seed: of HiGHS.
    """
    most_s = None if time_limit_s is None else min(time_limit_s, BRIEF_S)
    run = Run(most_s, work_s=min(BRIEF_S, BRIEF_S if work_s is None else work_s))
    prepared = prepare(problem)
    if not run.limited and prepared.size > BRIEF_SIZE:
        return FleetChoice("unknown", engine="HiGHS")
    state = State(prepared, seed)
    begun = _begun(state, run) is not None
    for _ in range(0 if begun and goal == "any" else _EXACT_ROUNDS):
        if run.left_s <= 0:
            break
        found = solve_whole(state, run.left, 1.0 if goal == "any" else 0.0, _start(run))
        if found.status == "infeasible":
            return FleetChoice("infeasible", engine="HiGHS")
        if found.plan is None:
            break
        run.prove(found.bound)
        cuts, fine = state.short(found.plan.blocks)
        if fine:
            run.propose(found.plan.blocks, found.value, found.plan.units)
        if fine or not cuts:
            break
    if run.blocks is None:
        return FleetChoice("unknown", engine="HiGHS")
    return _closed(problem, prepared, run)


def _begun(state: State, run: Run) -> SimpleDay | None:
    """A first plan of a day whose hours are tied to one another."""
    day = simple_day(state)
    if day is not None:
        run.propose(day.plan.blocks, day.value, day.plan.units)
    return day


def _widened(state: State, crew: Crew, run: Run, day: SimpleDay) -> None:
    """More layouts beside those of the first plan, searched from the best that is known."""
    for places in widths(day, DAY_WIDTHS):
        before = run.value
        if run.done:
            return
        asked = {
            "limit": run.limit(DAY_PART * run.left_s),
            "gap": run.enough,
            "start": _start(run),
            "allowed": places,
            "nodes": DAY_NODES,
        }
        for _, solved in crew.each(iter([("whole", asked)])):
            if solved is None or solved.plan is None:
                continue
            if state.short(solved.plan.blocks)[1]:
                run.propose(solved.plan.blocks, solved.value, solved.plan.units)
            else:
                _propose_repaired(state.prepared, run, solved.plan.blocks)
        if run.value > before * (1 - GAIN):
            return


def _bounded(prepared: Prepared, crew: Crew, run: Run, day: SimpleDay, seed: int, size: int) -> None:
    """What is proved of a day that is too large to be searched whole: its linear relaxation, then its hours.

    With every loss of a replica written out the relaxation takes 2 GB and proves next to nothing.
    """
    if not any(pool.spares for work in prepared.works for pool in work.pools):
        for _, relaxed in crew.each(iter([("relax", {"limit": run.left})])):
            if relaxed is not None and relaxed.status == "optimal":
                run.prove(relaxed.value)
    if not run.done:
        prove_by_hours(day, run, seed, size)


def _start(run: Run) -> Plan | None:
    return None if run.blocks is None else Plan(run.blocks, run.units)


def _quick(
    state: State, run: Run, goal: Goal, spent_s: float, *, good: bool = False, day: SimpleDay | None = None
) -> str:
    """The whole model for a moment: ``optimal``, ``infeasible`` or, undecided, nothing.

    What the hours took before, ``spent_s``, does not count.
    """
    prepared = state.prepared
    if prepared.size > QUICK_SIZE or (day is not None and goal == "any"):
        return ""
    # Where two models race next, trying longer alone is time lost.
    quick_s = GOOD_S if good else RACING_S if races(prepared) else QUICK_S
    if prepared.periods == 1:
        quick_s = HOUR_S
    for _ in range(_EXACT_ROUNDS):
        left = min(quick_s + spent_s - run.seconds, run.left_s)
        if left <= 0:
            return ""
        found = solve_whole(state, run.limit(left), 1.0 if goal == "any" else 0.0, _start(run))
        if found.status == "infeasible":
            again_s = max(left, min(_CONFIRM_S, run.left_s))
            return "infeasible" if _confirmed(state, run.limit(again_s)) else ""
        run.prove(found.bound)
        if found.plan is None:
            return ""
        cuts, fine = state.short(found.plan.blocks)
        if fine:
            run.propose(found.plan.blocks, found.value, found.plan.units)
            return "optimal" if found.status == "optimal" else ""
        if not cuts:
            _propose_repaired(prepared, run, found.plan.blocks)
            return ""
    return ""


def _propose_repaired(prepared: Prepared, run: Run, blocks: Sequence[BlockPlan]) -> None:
    """A plan that rounding left short, with a replica more where that is."""
    mended = repaired(prepared, blocks)
    bought = None if mended is None else buy(prepared, used_by(prepared, mended))
    if mended is not None and bought is not None:
        run.propose(mended, bought.value, bought.units)


def _confirmed(state: State, limit: Limit) -> bool:
    """A second opinion on `infeasible`: without presolve."""
    return solve_whole(state, limit, 0.0, presolve=False).status == "infeasible"


def _closed(problem: FleetProblem, prepared: Prepared, run: Run) -> FleetChoice:
    """The best plan in exact numbers, with its bound and trace."""
    trace = tuple(run.trace)
    low = lower_bound(run.bound)
    if run.blocks is None:
        return FleetChoice("unknown", lower_bound=low, engine="HiGHS", trace=trace)
    blocks: Sequence[BlockPlan] = run.blocks
    done = finish(problem, prepared, blocks, run.units)
    if isinstance(done, list):
        mended = repaired(prepared, blocks)
        done = None if mended is None else finish(problem, prepared, mended)
    if done is None or isinstance(done, list):
        return FleetChoice("unknown", lower_bound=low, engine="HiGHS", trace=trace)
    return replace(with_bound(done, run.bound), trace=trace)
