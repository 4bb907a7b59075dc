"""What a plan says about options that it does not take."""

from __future__ import annotations

from planner.app.chosen import Chosen
from planner.constraints.registry import admitted, verdicts
from planner.explain.runners_up import runners_up
from planner.explain.single import single_plan
from planner.explain.why_not import why_not
from planner.schema.choice import Choice
from planner.schema.plan import RunnerUp, WhyNot


def other_plans(choice: Choice, chosen: Chosen) -> tuple[RunnerUp, ...]:
    """Plans of one option of aggregated serving that lost; of a single workload."""
    demands = [demand for demand in chosen.question.demands if demand.role == "serve"]
    if len(demands) != 1 or choice.value is None:
        return ()
    supplies = {supply.id: supply for supply in chosen.question.supplies}
    demand = demands[0]
    serving = [option for option in chosen.question.options if option.role == "serve"]
    singles = [single_plan(option, supplies[option.supply], demand) for option in serving]
    plans = [plan for plan in singles if plan is not None]
    evaluation = chosen.evaluated[demand.workload].evaluation
    limited = {
        option_id: evaluation.capacities.limited_by[placed.configuration]
        for option_id, (_, placed) in chosen.found.items()
        if placed.role == "serve"
    }
    return runners_up(
        plans,
        tuple(choice.counts),
        choice.value,
        sum(choice.gpus.values()),
        chosen.question.limits.objective,
        limited,
        limits=chosen.question.limits,
    )


def left_out(chosen: Chosen) -> tuple[WhyNot, ...]:
    """GPU types that no configuration can use within the limits, in any role, or that were left aside."""
    able = {option.gpu for option, _ in chosen.found.values()}
    lines = [WhyNot(gpu=name, why=what) for name, what in chosen.aside.items()]
    for part in chosen.evaluated.values():
        judged = verdicts(part.evaluation, tuple(chosen.rules))
        lines += why_not(
            part.evaluation, judged, admitted(judged), lots=chosen.lots, refused=part.refused_gpus
        )
    return tuple(line for line in lines if line.gpu not in able)
