"""The main job: a problem in, the cheapest plan out. The order of its steps is written here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from planner.app import infeasible, measured_plan
from planner.app.case import Case, Evaluated, assess, prepare
from planner.app.demands import limits as market_limits
from planner.app.demands import pool_demand, refuse_unsupported
from planner.app.document import Chosen, document
from planner.app.run import Run
from planner.candidates.market import lots as market_lots
from planner.candidates.market import unpriced
from planner.candidates.options import Placed, options, supplies
from planner.candidates.space import WHOLE_SERVERS, rule_is_off
from planner.constraints import planning_rules
from planner.constraints.registry import admitted, verdicts
from planner.errors import input_error
from planner.loaders.catalog import load_catalog
from planner.loaders.problem import load_problem
from planner.loaders.rules import load_planning_rules
from planner.schema.candidates import Lot
from planner.schema.catalog_index import Catalog
from planner.schema.choice import ChoiceProblem, Option
from planner.schema.plan import Plan
from planner.schema.problem import Problem
from planner.schema.rules import PlanningRule
from planner.solver.solve import solve


def plan(
    path: Path,
    *,
    overlays: tuple[Path, ...] = (),
    time_limit_s: float | None = None,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[str], None] | None = None,
    timing: bool = False,
) -> Plan:
    """The optimal plan of a problem file, proved or with its gap.

    Raises:
        InputError: everything wrong with the problem, the catalog or the rules.
    """
    run = Run(time_limit_s, seed, workers, progress, timing)
    with run.step("load", "reading the catalog and the problem"):
        catalog = load_catalog(overlays)
        rules = load_planning_rules(overlays)
        problem = load_problem(path, catalog, [rule.id for rule in rules])
    return solve_problem(problem, path.parent, catalog, rules, run, str(path))


def solve_problem(
    problem: Problem,
    folder: Path,
    catalog: Catalog,
    rules: Sequence[PlanningRule],
    run: Run,
    where: str = "problem",
) -> Plan:
    """The plan of a problem: enumerate, evaluate, judge, choose, check, explain."""
    if problem.workers is not None:
        return measured_plan.plan_from_table(problem, folder, catalog, run)
    refuse_unsupported(problem, where)
    active = planning_rules.active(rules, problem.search.rules_off)
    lots = market_lots(problem.fleet, catalog.accelerator, catalog.price_lists)
    priceless = unpriced(problem.fleet, catalog.accelerator, lots)
    if not lots:
        named = f" among {', '.join(priceless)}" if priceless else ""
        raise input_error(
            where,
            "fleet",
            f"no accelerator with a price{named}",
            "a price list, or fleet.prices for what you can buy",
        )
    with run.step("evaluate", "evaluating configurations"):
        cases = {w.name: prepare(w, problem, folder, catalog) for w in problem.workloads}
        evaluated = {name: assess(case, problem, lots, active, catalog) for name, case in cases.items()}
        found = _options(evaluated, lots, active, problem)
    with run.step("solve", "choosing and proving"):
        question = _question(problem, cases, lots, found, catalog)
        choice = solve(question, time_limit_s=run.time_limit_s, seed=run.seed, workers=run.workers)
    with run.step("explain", "explaining"):
        if choice.status in ("infeasible", "unknown"):
            stuck = infeasible.stuck(cases, choice.in_the_way)
            removed, count = infeasible.removed(stuck, problem, lots, active, catalog, question)
            return document(problem, catalog, cases, run, choice, None, removed, count)
        ready = {name: part for name, part in evaluated.items() if part is not None}
        chosen = Chosen(question, found, ready, lots, active, priceless)
        return document(problem, catalog, cases, run, choice, chosen, (), _evaluations(evaluated))


def _evaluations(evaluated: Mapping[str, Evaluated | None]) -> int:
    """Operating points that were evaluated."""
    return sum(part.evaluation.capacities.evaluations for part in evaluated.values() if part is not None)


def _options(
    evaluated: Mapping[str, Evaluated | None],
    lots: Sequence[Lot],
    rules: Sequence[PlanningRule],
    problem: Problem,
) -> dict[str, tuple[Option, Placed]]:
    """Every option of every workload that no constraint excludes."""
    whole = not rule_is_off(WHOLE_SERVERS, problem.search.rules_off)
    found: dict[str, tuple[Option, Placed]] = {}
    for part in evaluated.values():
        if part is not None:
            judged = verdicts(part.evaluation, tuple(rules))
            found |= options(part.evaluation, lots, admitted(judged), whole)
    return found


def _question(
    problem: Problem,
    cases: Mapping[str, Case],
    lots: Sequence[Lot],
    found: Mapping[str, tuple[Option, Placed]],
    catalog: Catalog,
) -> ChoiceProblem:
    return ChoiceProblem(
        options=tuple(option for option, _ in found.values()),
        supplies=supplies(lots),
        demands=tuple(
            pool_demand(case.workload, problem, case.peak_rps, Fraction(case.headroom.capacity))
            for case in cases.values()
        ),
        limits=market_limits(problem, tuple(lots), catalog.accelerator),
    )
