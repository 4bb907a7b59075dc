"""Why nothing is feasible: what every named constraint does to the whole candidate set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from planner.candidates.options import options
from planner.candidates.space import WHOLE_SERVERS, rule_is_off
from planner.constraints.registry import verdicts
from planner.explain.bought_alone import Alone, bought_alone
from planner.explain.over_limits import least_amount
from planner.explain.removal import Bits, of_verdict, removals, stacked
from planner.planning.documents.removed_sides import side_bits
from planner.planning.formulation.demands import roles
from planner.planning.formulation.study import Formulation, Study
from planner.planning.workload.case import Case, Evaluated
from planner.schema.candidates import FloatArray, Lot
from planner.schema.fleet import FleetProblem
from planner.schema.limit_rows import LimitRow
from planner.schema.limits_told import Removal
from planner.schema.rules import PlanningRule


def removed(
    study: Study, formulation: Formulation, question: FleetProblem, in_the_way: Sequence[str]
) -> tuple[tuple[Removal, ...], int]:
    """Every constraint with the candidates it removes, formats and rules included; and how many there are."""
    parts, count = [], 0
    for name, case in stuck(formulation.cases, in_the_way).items():
        split = formulation.disaggregated[name]
        if split is not None:
            sides = side_bits(split, formulation.rules, case)
            parts += sides
            count += sum(len(bits[0].names) for bits in sides)
        part = study.everything(case, formulation.problem, formulation.lots)
        if part is not None and ("serve" in roles(formulation.problem) or not parts):
            whole = not rule_is_off(WHOLE_SERVERS, formulation.problem.search.rules_off)
            parts.append(_bits(part, formulation.lots, formulation.rules, question, whole))
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
    question: FleetProblem,
    whole_servers: bool,
) -> list[Bits]:
    evaluation = part.evaluation
    names = evaluation.candidates.names
    bits = [of_verdict(verdict, names) for verdict in verdicts(evaluation, tuple(rules))]
    broken = np.sum([item.violated for item in bits], axis=0)
    best = _best_alone(part, lots, question, whole_servers, broken)
    return bits + [_row(row, question, best, names, broken.shape) for row in question.limits.rows]


def _row(
    row: LimitRow,
    question: FleetProblem,
    best: Mapping[int, Alone],
    names: Sequence[str],
    shape: tuple[int, ...],
) -> Bits:
    """One limit of the plan against the cheapest plan of each candidate that is left, bought alone."""
    value = np.zeros(shape)
    for index, plan in best.items():
        gpus, held = {plan.option.gpu: plan.gpus}, [(plan.option, plan.replicas)]
        value[index] = float(least_amount(question, row, gpus, held, plan.usd_per_h))
    most = np.full(shape, float(row.most))
    return Bits(row.id, row.title, row.unit, value > most, value, most, names)


def _best_alone(
    part: Evaluated,
    lots: Sequence[Lot],
    question: FleetProblem,
    whole_servers: bool,
    broken: FloatArray,
) -> dict[int, Alone]:
    """By candidate that keeps every other limit: its cheapest plan alone in the busiest period."""
    asked = next(item for item in question.demands if item.workload == part.case.workload.name)
    demand = asked.in_period(max(range(question.periods), key=lambda t: sum(asked.demand_rps[t])))
    hosts = {host.id: host for host in question.hosts}
    runs = (part.evaluation.capacities.max_batch > 0) & (broken == 0)
    best: dict[int, Alone] = {}
    for option, placed in options(part.evaluation, lots, runs, whole_servers, every=True).values():
        if option.supply not in hosts:
            continue
        lines = [line for line in question.lines if line.host == option.supply]
        plan = bought_alone(option, hosts[option.supply], lines, demand)
        known = best.get(placed.configuration)
        if plan is not None and (known is None or plan.usd_per_h < known.usd_per_h):
            best[placed.configuration] = plan
    return best
