"""The plan of a fleet: every setting of its tiers formulated and solved, the best one documented."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

from planner.candidates.market import find_id
from planner.errors import InputError, StoppedError
from planner.planning.answering.answer import Answered, FleetAnswer
from planner.planning.answering.calm import tolerance_of, with_calm
from planner.planning.answering.checkpoints import SIXTEEN, checkpoints_taken, original
from planner.planning.answering.class_mixes import settled
from planner.planning.answering.engines_tried import engines_tried
from planner.planning.answering.formats_tried import formats_tried
from planner.planning.answering.modes import mode_choices
from planner.planning.answering.preferred import with_preferred
from planner.planning.answering.rent import with_break_even
from planner.planning.answering.search import solved
from planner.planning.answering.shortage import shortage
from planner.planning.answering.sized_hours import sized_answer
from planner.planning.answering.small_pools import settled_sizes
from planner.planning.answering.smaller_replicas import with_smaller_replicas
from planner.planning.answering.tier_advice import tiers_taken
from planner.planning.answering.variants import PATIENCE_S, Variants, patience_s
from planner.planning.answering.way_there import way_there
from planner.planning.documents.document import fleet_document
from planner.planning.documents.not_taken import removed
from planner.planning.formulation.fleet_case import FleetCase, measured_fleet, predicted_fleet
from planner.planning.formulation.read_table import read_table
from planner.planning.formulation.size import refuse_too_large
from planner.planning.formulation.study import NOTHING, Granted, Study
from planner.planning.formulation.table_names import check_table_names
from planner.planning.formulation.tiers import Setting, settings
from planner.planning.formulation.today import today_of
from planner.planning.run import Run
from planner.planning.told import told_in_any_case, unless_ended
from planner.schema.choice import Status
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.fleet_answers import Today
from planner.schema.plan import Plan
from planner.schema.problem import Problem
from planner.schema.reasons import Goal
from planner.solver.promising import promising

_NONE = Fraction(0)
_OPTIMUM_PART = 4 / 3
"""Of the time one over this goes to the optimum, where the simplest plan near it is looked for afterwards."""
_FEW = 2
"""Layouts beside those of a plan near which a question is asked again: of four each, the exact engine leaves
problem 09 open, of two it proves a better plan in a third of the time."""
_SIZED_S = 60.0
"""Of the user's time, with less of which rates by hour are not asked with: it takes a search of its own."""
_PROOF_S, _HOUR_S, _AGAIN_S = 2.0, 3.0, 20.0
"""For a bound from what replicas carry alone, for one hour, and for a question asked again near its answer
(60 gained 0.2 % in a minute). Counted work without a time limit."""


def fleet_plan(study: Study, problem: Problem, run: Run) -> Plan:
    """The optimal plan of a fleet, proved or with its gap, or the honest no.

    Raises:
        InputError: everything wrong with the problem that only its catalog and files show.
    """
    calm = bool(tolerance_of(problem))
    found, simplicity = answer_fleet(study, problem, run.part(_OPTIMUM_PART) if calm else run), None
    if calm:
        with run.step("simplify", "looking for the simplest plan within the tolerance"):
            found, simplicity = unless_ended(run, lambda: with_calm(found, run)) or (found, None)
    found = _as_ended(found, run)
    plan = told_in_any_case(run, lambda: told_plan(study, found, run))
    return plan.model_copy(update={"simplicity": simplicity})


def _as_ended(found: Answered, run: Run) -> Answered:
    """The answer with who ended its searches, whichever of them it was that the user or the limit ended."""
    choice = found.best.choice
    if choice.status not in ("feasible", "unknown"):
        return found
    timed, interrupted = run.time_limit_s is not None, choice.interrupted or run.interrupted
    return replace(
        found, best=replace(found.best, choice=replace(choice, timed=timed, interrupted=interrupted))
    )


def answer_fleet(study: Study, problem: Problem, run: Run) -> Answered:
    """Every setting of the tiers formulated and solved.

    Raises:
        InputError: as for `fleet_plan`.
    """
    with run.step("evaluate", "evaluating configurations"):
        today, cases = formulated_settings(study, problem)
    with run.step("solve", "choosing and proving"):
        answers = [
            FleetAnswer(setting, *_solved(case, run, len(cases) - place))
            for place, (setting, case) in enumerate(cases)
        ]
    return Answered(problem, today, answers, together(answers))


def told_plan(study: Study, found: Answered, run: Run) -> Plan:
    """The plan document of an answered fleet."""
    problem, today, answers, best = found.problem, found.today, found.answers, found.best
    with run.step("explain", "explaining"):
        plan = fleet_document(problem, best.case, best.choice, study.catalog, study.folder, run)
        update: dict[str, object] = {"tiers": tiers_taken(problem, answers, best)}
        update["engines"] = engines_tried(answers, best)
        if today is not None and best.choice.value is not None:
            update |= way_there(best.case.question, best.choice, today, plan)
        if best.choice.status == "infeasible" and not run.over:
            update["shortage"] = shortage(best.case, run)
        if best.choice.status == "infeasible":
            removals, looked_at = removed(study, best.case, best.choice)
            made = plan.provenance.model_copy(update={"candidates": looked_at})
            update |= {"removed": removals, "provenance": made}
        if best.choice.value is not None and not run.over and not run.brief:
            update |= _asked_beside(study, best, today, plan, run)
        if plan.api and not run.over:
            update["api"] = with_break_even(plan.api, best.case.question, run)
        return plan.model_copy(update=update)


def _asked_beside(
    study: Study, best: FleetAnswer, today: Today | None, plan: Plan, run: Run
) -> dict[str, object]:
    """What other modes, checkpoints and formats would cost.

    Over many hours each question may take as long as the plan; `planner whatif` asks it there.
    """
    case, cost = best.case, plan.cost_usd_per_hour or 0.0
    if case.question.periods > 1:
        return {"checkpoints": tuple(checkpoints_taken(case, cost, plan.pools, study.catalog, None))}
    ask = partial(solved, run=run, goal="value")
    again = partial(_sixteen_bit_usd_per_h, study, case, today, run)
    found: dict[str, object] = {
        "mode_choice": mode_choices(case, best.choice, plan.pools, study.catalog, ask),
        "checkpoints": tuple(checkpoints_taken(case, cost, plan.pools, study.catalog, again)),
    }
    if run.details and not run.over:
        ask_variant = partial(_of_variant, study, {} if today is None else today.gpus, run)
        found["formats"] = formats_tried(case, best.choice, study.catalog, ask_variant)
    return found


def _sixteen_bit_usd_per_h(
    study: Study, case: FleetCase, today: Today | None, run: Run, workload: str, model: str | None
) -> float | None:
    """The cheapest plan with 16-bit weights of a workload; None where there is none, or no time to find it.

    Where the model itself has them among its formats, nothing is evaluated again.
    """
    problem = case.problem if model is None else original(case.problem, workload, model)
    granted = Granted(weight_bits={workload: SIXTEEN})
    try:
        other = formulate(study, problem, {} if today is None else today.gpus, granted)
        choice = solved(other.question, run.part(2), "value")
    except (InputError, StoppedError):
        return None
    return None if choice.value is None else float(choice.cost_usd)


def formulated_settings(
    study: Study, problem: Problem, granted: Granted = NOTHING
) -> tuple[Today | None, list[tuple[Setting, FleetCase]]]:
    """Today's fleet, and every setting of the tiers formulated.

    Raises:
        InputError: as for `fleet_plan`.
    """
    try:
        return _formulated_settings(study, problem, granted)
    except InputError as problems:
        raise study.placed(problems) from None


def _formulated_settings(
    study: Study, problem: Problem, granted: Granted
) -> tuple[Today | None, list[tuple[Setting, FleetCase]]]:
    if problem.workers is not None:
        check_table_names(problem, read_table(problem, study.folder, study.catalog)[0], study.where)
    today = today_of(problem, study.folder, study.catalog, _names(study, problem))
    gpus: Mapping[str, int] = {} if today is None else today.gpus
    names = frozenset(workload.name for workload in problem.workloads)
    return today, [(item, formulate(study, item.problem, gpus, granted, names)) for item in settings(problem)]


def formulate(
    study: Study,
    problem: Problem,
    today_gpus: Mapping[str, int],
    granted: Granted = NOTHING,
    names: frozenset[str] = frozenset(),
) -> FleetCase:
    """The question of a problem whose tiers are settled.

    Args:
        study: what is kept between questions.
        problem: without tiers.
        today_gpus: of the fleet that runs now.
        granted: what an explanation lifts.
        names: workloads of the file; rows of a table for one that a tier's setting does without are left out.
    """
    if problem.workers is None:
        case = predicted_fleet(study, problem, today_gpus, granted)
    else:
        table, sizes = read_table(problem, study.folder, study.catalog)
        gone = names - {workload.name for workload in problem.workloads}
        rows = tuple(row for row in table.rows if row.workload not in gone)
        case = measured_fleet(study, problem, replace(table, rows=rows), sizes, today_gpus)
    refuse_too_large(case.question, study.where)
    return case


def _solved(case: FleetCase, run: Run, left: int) -> tuple[FleetCase, FleetChoice]:
    """The answer to one of several settings that are left; with length classes, after pools were checked.

    Then the question may come again: each time takes half of what is left.
    """
    part = 1.0 / left / (2.0 if case.classes else 1.0)

    # Among plans of equal cost a calm day is chosen afterwards, and what hardly costs more will do for it.
    tolerance = tolerance_of(case.problem)
    calm = case.question.periods > 1 and tolerance > 0 and not case.classes

    def ask(question: FleetProblem, enough: float = 0.0) -> FleetChoice:
        goal: Goal = "value" if calm else "plan"
        return with_preferred(question, solved(question, run, goal, part, enough=enough))

    def soon(question: FleetProblem) -> FleetChoice:
        return ask(question, float(tolerance) / 4 if calm else 0.0)

    def again(question: FleetProblem, near: FleetChoice) -> FleetChoice:
        # The bound of the first answer holds, and few layouts are settled far better than all.
        return with_preferred(question, within(promising(question, near, _FEW), _AGAIN_S))

    def within(question: FleetProblem, most_s: float = PATIENCE_S) -> FleetChoice:
        if run.over:
            return FleetChoice("unknown")
        return Variants(case, run, _NONE)(question, "value", min(most_s, patience_s(run) * part), brief=False)

    def sized(case: FleetCase, known: FleetChoice) -> FleetChoice | None:
        if run.left_s is not None and run.left_s < _SIZED_S:
            return None
        return unless_ended(run, lambda: sized_answer(case, known, within, partial(within, most_s=_HOUR_S)))

    choice = None
    if case.classes:
        case, choice = settled(case, ask)
    prove = partial(within, most_s=_PROOF_S)
    case, choice = settled_sizes(case, ask, choice, again, prove, sized, soon)
    return case, with_smaller_replicas(case, choice)


def _of_variant(
    study: Study, today_gpus: Mapping[str, int], run: Run, problem: Problem
) -> tuple[FleetCase, FleetChoice]:
    """The optimal value of a problem whose tiers are settled."""
    case = formulate(study, problem, today_gpus)
    return settled(case, partial(solved, run=run, goal="value"))


def together(answers: Sequence[FleetAnswer]) -> FleetAnswer:
    """The best setting; its plan is proved when no other setting can be better."""
    found = [answer for answer in answers if answer.choice.value is not None]
    if not found:
        open_ = [answer for answer in answers if answer.choice.status == "unknown"]
        return (open_ or list(answers))[0]
    best = min(found, key=lambda answer: answer.choice.value or _NONE)
    value = best.choice.value
    assert value is not None
    bounds = [
        value if answer.choice.status == "infeasible" else answer.choice.lower_bound or _NONE
        for answer in answers
    ]
    bound = min(value, *bounds) if bounds else value
    gap = (value - bound) / value if value else _NONE
    status: Status = "optimal" if bound == value else "feasible"
    choice = best.choice
    if (choice.status, choice.lower_bound) != (status, bound):
        choice = replace(choice, status=status, lower_bound=bound, gap=gap)
    return FleetAnswer(best.setting, best.case, choice)


def _names(study: Study, problem: Problem) -> dict[str, str]:
    """GPUs by catalog id, under the names of the problem."""
    fleet = problem.fleet
    written = [
        *(fleet.accelerators or ()),
        *(fleet.prices or ()),
        *fleet.stock,
        *fleet.supplied,
    ]
    names = {find_id(study.catalog.accelerator, name): name for name in reversed(written)}
    if problem.workers is not None:
        table, _ = read_table(problem, study.folder, study.catalog)
        names |= {row.gpu: row.gpu for row in table.rows} | {name: name for name in written}
    return names
