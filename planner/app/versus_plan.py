"""Why not that: a GPU type, an option, a line of the supply or a supplier held against the plan."""

from __future__ import annotations

from collections.abc import Iterable

from planner.app.asked_case import asked_case
from planner.app.loaded_problem import LoadedProblem
from planner.candidates.market import find_id
from planner.errors import InputError, input_error, nearest
from planner.explain.break_even import BreakEven, api_break_even, break_evens, line_break_even
from planner.explain.held_against import HeldAgainst
from planner.explain.threshold import Ask
from planner.explain.worth import worth
from planner.planning.answering.search import solved
from planner.planning.asking.not_an_option import broken_rows, no_option, no_rows_left, refused
from planner.planning.formulation.fleet_case import FleetCase
from planner.planning.run import Run
from planner.schema.choice import Option
from planner.schema.explanation import Worth
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.plan import Plan
from planner.schema.reasons import Goal

Answer = tuple[tuple[str, ...], tuple[Worth, ...]]

_SEARCHES = 4
"""Each may take one of so many parts of the time that is left, …"""
_LEAST_S = 1.0
"""… and with less than that none begins."""


def why_not(session: LoadedProblem, plan: Plan, candidate: str, run: Run) -> Answer:
    """Sentences about a candidate, and what would make it worth using.

    Args:
        session: the problem of the plan.
        plan: the plan.
        candidate: a GPU type under any of its names, a line of the supply (``GPU/TERM``), an outside supplier
            by its id, or an option by id, by label or by the pool that uses it.
        run: whom to tell about progress, and how long to search at most.

    Raises:
        InputError: nothing of that name; with the nearest that there is.
        StoppedError: no time is left for a search that any answer needs.
    """
    case = asked_case(session, plan, run)
    gpu = _gpu(session, case, candidate)
    rows = no_rows_left(case, gpu or candidate)
    if rows:
        return rows, ()
    question, ask = case.question, _asks(run)
    held = HeldAgainst(plan, question, ask)
    if gpu is not None:
        return _about_gpu(session, case, held, gpu, run)
    if any(line.id == candidate for line in question.lines):
        return _about_line(session, case, held, candidate, run)
    if any(api.id == candidate for api in question.apis):
        told = tuple(held.api(candidate))
        with run.step("break-even", "finding its break-even price"):
            return told, _worths([api_break_even(question, candidate, ask)])
    options = _options(plan, question, candidate)
    if options:
        return (*held.option(options), *broken_rows(case, options[0].label)), ()
    broken = tuple(refused(session.study, case, candidate))
    if broken:
        return broken, ()
    raise _unknown(question, candidate)


def _gpu(session: LoadedProblem, case: FleetCase, candidate: str) -> str | None:
    """The name that the problem uses for a GPU type; None where the candidate is none."""
    find, formulation = session.catalog.accelerator, case.formulation
    names = [line.gpu for line in case.question.lines] + [option.gpu for option in case.question.options]
    if candidate in names:
        return candidate
    if find(candidate) is None:
        return None
    if formulation is not None:
        names += [*formulation.aside, *(lot.name for lot in formulation.lots)]
    known = {find_id(find, name): name for name in names}
    wanted = find_id(find, candidate)
    return known.get(wanted, wanted)


def _options(plan: Plan, question: FleetProblem, candidate: str) -> list[Option]:
    """The options of a name, at all their places; of a pool those that it has."""
    name = {pool.id: pool.option for pool in plan.pools}.get(candidate, candidate)
    return [option for option in question.options if name in (option.id, option.anywhere, option.label)]


def _asks(run: Run) -> Ask:
    """Answers within a part of the time that is left, then unknown; nothing is searched for twice."""
    known: list[tuple[FleetProblem, Goal, FleetChoice]] = []

    def ask(question: FleetProblem, goal: Goal) -> FleetChoice:
        for asked, aim, answer in known:
            if aim == goal and asked == question:
                return answer
        left_s = run.left_s
        if run.over or (left_s is not None and left_s < _LEAST_S):
            return FleetChoice("unknown")
        answer = solved(question, run, goal, part=1 / _SEARCHES)
        known.append((question, goal, answer))
        return answer

    return ask


def _about_gpu(session: LoadedProblem, case: FleetCase, held: HeldAgainst, gpu: str, run: Run) -> Answer:
    if not any(option.gpu == gpu for option in case.question.options):
        return (*held.pools(gpu), *no_option(session.study, case, gpu)), ()
    told = tuple(held.gpu(gpu))
    stated = case.problem.fleet.supplied
    lines = [line.id for line in case.question.lines if line.gpu == gpu and gpu in stated]
    with run.step("break-even", "finding its break-even price"):
        found = break_evens(case.question, gpu, lines if len(lines) > 1 else (), held.ask)
    return told, _worths(found)


def _about_line(session: LoadedProblem, case: FleetCase, held: HeldAgainst, line: str, run: Run) -> Answer:
    host, gpu = next((one.host, one.gpu) for one in case.question.lines if one.id == line)
    if not any(option.supply == host for option in case.question.options):
        return tuple(no_option(session.study, case, gpu)), ()
    told = tuple(held.line(line))
    with run.step("break-even", "finding its break-even price"):
        return told, _worths([line_break_even(case.question, line, held.ask)])


def _worths(found: Iterable[BreakEven | None]) -> tuple[Worth, ...]:
    return tuple(worth(one) for one in found if one is not None)


def _unknown(question: FleetProblem, candidate: str) -> InputError:
    """Nothing of that name, and the nearest that there is."""
    known = dict.fromkeys(option.gpu for option in question.options)
    known |= dict.fromkeys(option.label or option.id for option in question.options)
    known |= dict.fromkeys([*(line.id for line in question.lines), *(api.id for api in question.apis)])
    expected = "a GPU type of the problem, an option, a line of the supply or a supplier"
    return input_error("--candidate", "", f'"{candidate}"', expected, nearest(candidate, list(known)))
