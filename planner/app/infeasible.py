"""Why nothing is feasible: what every named constraint does to the whole candidate set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from planner.app.case import Case, Evaluated
from planner.app.demands import roles
from planner.app.infeasible_apart import side_bits
from planner.app.study import Posed, Study
from planner.candidates.options import options
from planner.candidates.space import WHOLE_SERVERS, rule_is_off
from planner.constraints.registry import verdicts
from planner.explain.removal import Bits, of_verdict, removals, stacked
from planner.explain.single import SinglePlan, single_plan
from planner.schema.candidates import FloatArray, Lot
from planner.schema.choice import ChoiceProblem
from planner.schema.plan import Removal
from planner.schema.rules import PlanningRule


def removed(study: Study, posed: Posed, in_the_way: Sequence[str]) -> tuple[tuple[Removal, ...], int]:
    """Every constraint with the candidates it removes, formats and rules included; and how many there are."""
    parts, count = [], 0
    for name, case in stuck(posed.cases, in_the_way).items():
        split = posed.apart[name]
        if split is not None:
            sides = side_bits(split, posed.rules)
            parts += sides
            count += sum(len(bits[0].names) for bits in sides)
        part = study.everything(case, posed.problem, posed.lots)
        if part is not None and ("serve" in roles(posed.problem) or not parts):
            whole = not rule_is_off(WHOLE_SERVERS, posed.problem.search.rules_off)
            parts.append(_bits(part, posed.lots, posed.rules, posed.question, whole))
            count += len(part.evaluation.candidates)
    return (removals(stacked(parts)) if parts else ()), count


def stuck(cases: Mapping[str, Case], in_the_way: Sequence[str]) -> Mapping[str, Case]:
    """The workloads that nothing serves, where some are: the others need no explanation."""
    unserved = [item.split(":")[1] for item in in_the_way if item.startswith("unservable:")]
    named = {item.split("/")[0] for item in unserved}
    return {name: case for name, case in cases.items() if name in named} or cases


def _bits(
    part: Evaluated,
    lots: Sequence[Lot],
    rules: Sequence[PlanningRule],
    question: ChoiceProblem,
    whole_servers: bool,
) -> list[Bits]:
    evaluation = part.evaluation
    names = evaluation.candidates.names
    bits = [of_verdict(verdict, names) for verdict in verdicts(evaluation, tuple(rules))]
    broken = np.sum([item.violated for item in bits], axis=0)
    return bits + _market_bits(part, lots, question, names, broken, whole_servers)


def _market_bits(
    part: Evaluated,
    lots: Sequence[Lot],
    question: ChoiceProblem,
    names: Sequence[str],
    broken: FloatArray,
    whole_servers: bool,
) -> list[Bits]:
    """Stock, budget and GPUs against the cheapest plan of each candidate that is left, bought alone."""
    best = _best_single(part, lots, question, whole_servers, broken)
    limits = question.limits
    rows: list[tuple[str, str, str, dict[int, float], float]] = []
    for gpu, stock in limits.stock_gpus.items():
        values = {index: float(plan.gpus) for index, plan in best.items() if plan.option.gpu == gpu}
        rows.append((f"stock:{gpu}", f"stock of {gpu}", "GPUs", values, float(stock)))
    if limits.budget_usd_per_h is not None:
        values = {index: float(plan.usd_per_h) for index, plan in best.items()}
        rows.append(("budget", "budget", "USD/h", values, float(limits.budget_usd_per_h)))
    if limits.max_gpus is not None:
        values = {index: float(plan.gpus) for index, plan in best.items()}
        rows.append(("max-gpus", "number of GPUs", "GPUs", values, float(limits.max_gpus)))
    if limits.power_w is not None:
        values = {index: float(plan.power_w) for index, plan in best.items()}
        rows.append(("power", "power of all replicas", "W", values, float(limits.power_w)))
    return [_row(row, names, broken) for row in rows]


def _row(
    row: tuple[str, str, str, dict[int, float], float],
    names: Sequence[str],
    broken: FloatArray,
) -> Bits:
    name, title, unit, values, limit = row
    value = np.zeros(broken.shape)
    for index, number in values.items():
        value[index] = number
    return Bits(name, title, unit, value > limit, value, np.full(broken.shape, limit), names)


def _best_single(
    part: Evaluated,
    lots: Sequence[Lot],
    question: ChoiceProblem,
    whole_servers: bool,
    broken: FloatArray,
) -> dict[int, SinglePlan]:
    """By candidate that keeps every other limit: its cheapest plan alone."""
    demand = next(item for item in question.demands if item.workload == part.case.workload.name)
    supplies = {supply.id: supply for supply in question.supplies}
    runs = (part.evaluation.capacities.max_batch > 0) & (broken == 0)
    best: dict[int, SinglePlan] = {}
    for option, placed in options(part.evaluation, lots, runs, whole_servers, every=True).values():
        plan = single_plan(option, supplies[option.supply], demand)
        known = best.get(placed.configuration)
        if plan is not None and (known is None or plan.usd_per_h < known.usd_per_h):
            best[placed.configuration] = plan
    return best
