"""What a plan says of things it does not take: the next best, GPUs that cannot serve, what limits remove."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable

from planner.constraints.fleet_check import bill
from planner.explain.bought_alone import bought_alone
from planner.explain.runners_up import runners_up
from planner.planning.documents import measured_limits as measured_reasons
from planner.planning.documents import removed_candidates as infeasible
from planner.planning.documents.chosen import chosen_of
from planner.planning.documents.left_out import left_out
from planner.planning.formulation.fleet_case import FleetCase
from planner.planning.formulation.study import Study
from planner.schema.compared import RunnerUp, WhyNot
from planner.schema.fleet import FleetChoice, Line
from planner.schema.limits_told import Removal


def next_best(case: FleetCase, choice: FleetChoice) -> tuple[RunnerUp, ...]:
    """Plans of one option of aggregated serving that lost: of a single workload over one period."""
    question = case.question
    demands = [demand for demand in question.demands if demand.role == "serve"]
    alone = len({demand.workload for demand in question.demands}) == 1
    if len(demands) != 1 or not alone or question.periods > 1 or question.apis or choice.value is None:
        return ()
    demand = demands[0].in_period(0)
    if len(demand.buckets) > 1 or case.formulation is None:
        return ()
    hosts = {host.id: host for host in question.hosts}
    lines: dict[str, list[Line]] = defaultdict(list)
    for line in question.lines:
        if demands[0].sites is None or line.site in demands[0].sites:
            lines[line.host].append(line)
    serving = [option for option in question.options if option.role == "serve"]
    plans = [bought_alone(option, hosts[option.supply], lines[option.supply], demand) for option in serving]
    taken = choice.periods[0]
    return runners_up(
        [plan for plan in plans if plan is not None],
        tuple(option for option, _ in taken.counts),
        choice.value,
        sum(bill(question, choice.periods).periods[0].gpus.values()),
        question.limits.objective,
        _stopped_by(case, demand.workload),
        question,
        _layouts(case, demand.workload),
    )


def _layouts(case: FleetCase, workload: str) -> dict[str, Hashable]:
    """What tells the layouts of options apart but for the share of memory, by option."""
    assert case.formulation is not None
    part = case.formulation.evaluated[workload]
    if part is None:
        return {}
    items = part.evaluation.candidates.configurations
    found: dict[str, Hashable] = {}
    for option_id, (_, placed) in case.formulation.found.items():
        if placed.role == "serve" and placed.workload == workload:
            item = items[placed.configuration]
            formats = (item.weights.id, item.kv.id, item.drafting is None)
            found[option_id] = (
                placed.lot, item.tp, item.pp, item.ep, item.attention_dp, item.batched_tokens, *formats
            )  # fmt: skip
    return found


def _stopped_by(case: FleetCase, workload: str) -> dict[str, str]:
    """What keeps one replica of an option from carrying more, by option."""
    assert case.formulation is not None
    part = case.formulation.evaluated[workload]
    if part is None:
        return {}
    return {
        option_id: part.evaluation.capacities.limited_by[placed.configuration]
        for option_id, (_, placed) in case.formulation.found.items()
        if placed.role == "serve"
    }


def cannot_serve(case: FleetCase) -> tuple[WhyNot, ...]:
    """GPU types that no configuration can use within the limits, in any role; of predicted options."""
    return () if case.formulation is None else left_out(chosen_of(case.formulation))


def removed(study: Study, case: FleetCase, choice: FleetChoice) -> tuple[tuple[Removal, ...], int]:
    """Every constraint with the candidates that it removes; and how many there are."""
    if case.formulation is not None:
        return infeasible.removed(study, case.formulation, case.question, choice.in_the_way)
    assert case.measured is not None
    rows = measured_reasons.removed(case.measured, choice.in_the_way, case.problem)
    return rows, len(case.question.options)
