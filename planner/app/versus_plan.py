"""Why not that: a GPU type or an option held against the plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from planner import numbers
from planner.app.case import Evaluated
from planner.app.choosing import asked
from planner.app.fleet.shape import is_fleet
from planner.app.measured_plan import read_table
from planner.app.run import Run
from planner.app.session import Session
from planner.app.study import Posed
from planner.candidates.market import find_id
from planner.constraints.registry import verdicts
from planner.errors import input_error, nearest
from planner.explain.break_even import break_even
from planner.explain.why_not import found_in_words, why_not_gpu
from planner.explain.worth import worth
from planner.performance.measured import measured_case
from planner.schema.candidates import Verdict
from planner.schema.choice import ChoiceProblem, Option
from planner.schema.explanation import Worth
from planner.schema.plan import Plan
from planner.schema.workers import MeasuredCase

Answer = tuple[tuple[str, ...], tuple[Worth, ...]]

_NOT_FINISHED = "The time limit ended the search before it knew what the best plan with and without it costs."


def why_not(session: Session, plan: Plan, candidate: str, run: Run) -> Answer:
    """Sentences about a candidate, and what would make its GPU type worth using.

    Args:
        session: the problem of the plan.
        plan: the plan.
        candidate: a GPU type under any of its names, or an option of the plan, by id or label.
        run: whom to tell about progress.

    Raises:
        InputError: nothing of that name; with the nearest that there is.
    """
    if is_fleet(session.problem):
        from planner.app.fleet.versus import why_not_in_fleet

        return why_not_in_fleet(session, candidate, run)
    if session.problem.workers is not None:
        table, sizes = read_table(session.problem, session.folder, session.catalog)
        case = measured_case(session.problem, table, sizes)
        broken = _broken_rows(case, candidate)
        return (broken, ()) if broken else _asked(session, plan, case.problem, None, candidate, run)
    with run.step("evaluate", "evaluating configurations"):
        posed = session.study.pose(session.problem)
    return _asked(session, plan, posed.question, posed, candidate, run)


def _asked(
    session: Session, plan: Plan, question: ChoiceProblem, posed: Posed | None, candidate: str, run: Run
) -> Answer:
    gpu = _gpu(session, question, posed, candidate)
    if gpu is not None:
        return _about_gpu(session, plan, question, posed, gpu, run)
    options = [o for o in question.options if candidate in (o.id, o.label)]
    if options:
        return tuple(_about_option(plan, question, options, run)), ()
    if posed is not None:
        refused = tuple(_refused(session, posed, candidate))
        if refused:
            return refused, ()
    known = [*dict.fromkeys(o.gpu for o in question.options), *(o.label or o.id for o in question.options)]
    raise input_error(
        "--candidate", "", f'"{candidate}"', "a GPU type of the problem, or the name of an option",
        nearest(candidate, known),
    )  # fmt: skip


def _broken_rows(case: MeasuredCase, candidate: str) -> tuple[str, ...]:
    """The limits that the rows of a GPU type or an option break, where none of its rows is left."""
    mine = [o for o in case.problem.options if candidate in (o.gpu, o.id, o.label)]
    if any(any(option.rates_rps) for option in mine):
        return ()
    rows = [(row, ids) for row, ids in case.excluded if candidate in (row.gpu, row.option)]
    return tuple(
        f"{row.option} ({row.where.rpartition('/')[2]}) breaks {', '.join(ids)}." for row, ids in rows
    )


def _gpu(session: Session, question: ChoiceProblem, posed: Posed | None, candidate: str) -> str | None:
    """The name that the problem uses for a GPU type."""
    if any(supply.gpu == candidate for supply in question.supplies):
        return candidate
    accelerator = session.catalog.accelerator(candidate)
    if accelerator is None:
        return None
    if posed is None:
        return accelerator.id
    names = {find_id(session.catalog.accelerator, name): name for name in posed.aside}
    names |= {lot.accelerator.id: lot.name for lot in posed.lots}
    return names.get(accelerator.id, accelerator.id)


def _about_gpu(
    session: Session, plan: Plan, question: ChoiceProblem, posed: Posed | None, gpu: str, run: Run
) -> Answer:
    used = [pool for pool in plan.pools if pool.gpu == gpu]
    lines = [f"The plan uses it: {pool.id}, {numbers.count(pool.replicas, 'replica')}." for pool in used]
    if not any(option.gpu == gpu for option in question.options):
        return (*lines, *_no_option(session, posed, gpu)), ()
    if not used:
        lines += _with_it(plan, question, gpu, run)
    else:
        lines += _without_it(plan, question, gpu, run)
    with run.step("break-even", "finding its break-even price"):
        found = break_even(question, gpu, lambda changed, goal: asked(changed, run, goal))
    return tuple(lines), (worth(found),) if found is not None else ()


def _with_it(plan: Plan, question: ChoiceProblem, gpu: str, run: Run) -> Iterator[str]:
    limits = replace(question.limits, must_use=(gpu,))
    choice = asked(replace(question, limits=limits), run)
    if choice.status == "unknown":
        yield _NOT_FINISHED
        return
    if choice.value is None:
        yield "No plan uses it within stock, budget and number of GPUs."
        return
    cost = float(choice.cost_usd_per_h)
    yield f"The best plan that uses it costs {numbers.usd(cost)} per hour{_against(plan, cost)}."


def _without_it(plan: Plan, question: ChoiceProblem, gpu: str, run: Run) -> Iterator[str]:
    options = tuple(option for option in question.options if option.gpu != gpu)
    choice = asked(replace(question, options=options), run)
    if choice.status == "unknown":
        yield _NOT_FINISHED
        return
    if choice.value is None:
        yield "Without it there is no plan."
        return
    cost = float(choice.cost_usd_per_h)
    yield f"Without it the best plan costs {numbers.usd(cost)} per hour{_against(plan, cost)}."


def _against(plan: Plan, cost: float) -> str:
    today = plan.cost_usd_per_hour
    if not today:
        return ""
    if cost == today:
        return ", as much as the plan"
    word = "more" if cost > today else "less"
    return f", {numbers.share(abs(cost / today - 1))} {word} than the plan"


def _about_option(plan: Plan, question: ChoiceProblem, options: Sequence[Option], run: Run) -> Iterator[str]:
    """What the option carries, and the best plan of its pool that uses nothing else."""
    first = options[0]
    if any(pool.option in (first.id, first.label) for pool in plan.pools):
        yield "The plan uses it."
    served = max(first.rates_rps, default=Fraction(0))
    yield f"It keeps every limit: one replica carries {numbers.rate(float(served))}."
    ids = {option.id for option in options}
    kept = tuple(o for o in question.options if o.pool != first.pool or o.id in ids)
    choice = asked(replace(question, options=kept), run)
    if choice.status == "unknown":
        yield _NOT_FINISHED
        return
    if choice.value is None:
        yield "Alone it cannot carry the demand within stock, budget and number of GPUs."
        return
    cost = float(choice.cost_usd_per_h)
    yield f"The best plan with it alone costs {numbers.usd(cost)} per hour{_against(plan, cost)}."


def _no_option(session: Session, posed: Posed | None, gpu: str) -> Iterator[str]:
    """Why no configuration of the GPU type is an option."""
    if posed is None:
        yield "No row of the table on it serves anything within the limits."
        return
    if gpu in posed.aside:
        yield f"{gpu}: {posed.aside[gpu]}, so it was not considered."
        return
    if not any(lot.name == gpu for lot in posed.lots):
        yield "It is not among the accelerators of the problem, or nobody sells it."
        return
    for name, case in posed.cases.items():
        part = session.study.everything(case, posed.problem, posed.lots)
        line = None if part is None else why_not_gpu(part.evaluation, _judged(part, posed), posed.lots, gpu)
        yield f"{name}: {line or 'no layout of this model has a place on it'}."


def _refused(session: Session, posed: Posed, candidate: str) -> Iterator[str]:
    """The constraints that an evaluated configuration breaks, by its name."""
    for name, case in posed.cases.items():
        part = session.study.everything(case, posed.problem, posed.lots)
        if part is None or candidate not in part.evaluation.candidates.names:
            continue
        index = part.evaluation.candidates.names.index(candidate)
        broken = [verdict for verdict in _judged(part, posed) if verdict.violated[index]]
        yield from (f"{verdict.id}: {found_in_words(verdict, index)}." for verdict in broken)
        if not broken:
            batch = int(np.max(part.evaluation.capacities.max_batch[index]))
            yield f"{name}: it keeps every limit with a batch of {batch}; another option takes the same room."


def _judged(part: Evaluated, posed: Posed) -> tuple[Verdict, ...]:
    return verdicts(part.evaluation, posed.rules)
