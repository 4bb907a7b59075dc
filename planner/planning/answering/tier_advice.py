"""The settings of tiers in the plan: what each costs, and the crossover advice checked with these numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner import numbers
from planner.planning.answering.answer import FleetAnswer
from planner.planning.formulation.tiers import SINGLE, TierSetting
from planner.schema.fleet_plan import TierTaken
from planner.schema.problem import Problem
from planner.schema.supply import Tier

_SMALL_FLEET_GPUS = 8
"""Below so many GPUs of the large model a router seldom pays (field guide, 1.5)."""
_LATENCY_SHARE = 0.1
"""Of the TTFT limit: a router that takes more is out of the question (field guide, 1.5)."""


def tiers_taken(problem: Problem, answers: Sequence[FleetAnswer], best: FleetAnswer) -> tuple[TierTaken, ...]:
    """One entry a tier."""
    return tuple(_taken(problem, item, answers, best) for item in best.setting.tiers)


def _taken(
    problem: Problem, item: TierSetting, answers: Sequence[FleetAnswer], best: FleetAnswer
) -> TierTaken:
    costs: dict[str, float | None] = {}
    for answer in answers:
        mine = next(other for other in answer.setting.tiers if other.tier.name == item.tier.name)
        others = [o.name for o in answer.setting.tiers if o.tier.name != item.tier.name]
        kept = [o.name for o in best.setting.tiers if o.tier.name != item.tier.name]
        if others == kept and answer.setting.engines == best.setting.engines:
            costs[mine.name] = answer.cost_usd_per_hour
    return TierTaken(
        name=item.tier.name,
        kind=item.tier.kind,
        setting=item.name,
        stages=item.stages,
        costs_usd_per_hour=costs,
        advice=tuple(_advice(problem, item.tier, costs, best, item)),
    )


def _advice(
    problem: Problem,
    tier: Tier,
    costs: dict[str, float | None],
    best: FleetAnswer,
    item: TierSetting,
) -> Iterator[str]:
    """Rules of thumb of the field guide (1.5), checked with this problem's numbers."""
    single = costs.get(SINGLE)
    routed = [cost for name, cost in costs.items() if name != SINGLE and cost is not None]
    if single is not None and routed:
        saved = single - min(routed)
        if saved > 0:
            alone = f"the last model alone ({numbers.usd(single)}/h)"
            yield f"the router saves {numbers.usd(saved)}/h against {alone}"
        else:
            yield f"the last model alone costs {numbers.usd(single)}/h, no more than with the router"
        gpus = _gpus_of(best, tier.stages[-1].workload)
        if item.name == SINGLE and gpus and (gpus > _SMALL_FLEET_GPUS) != (saved > 0):
            yield f"the rule of thumb ({_SMALL_FLEET_GPUS} GPUs of the large model) says otherwise for {gpus}"
    if tier.router_latency is not None:
        limits = [
            float(value)
            for workload in problem.workloads
            if workload.name in {stage.workload for stage in tier.stages}
            for key, value in workload.slo
            if key.startswith("ttft_") and value is not None
        ]
        if limits and float(tier.router_latency) > _LATENCY_SHARE * min(limits):
            share = numbers.share(float(tier.router_latency) / min(limits))
            yield f"the router takes {share} of the TTFT limit; above 10 % the field guide (1.5) rules it out"
    if tier.kind == "cascade":
        yield (
            "an escalated request waits for the first answer before it starts again: its first token comes "
            "after the whole answer of the stage before, which the TTFT of the later stage does not show"
        )


def _gpus_of(best: FleetAnswer, workload: str) -> int:
    options = {option.id: option for option in best.case.question.options}
    return max(
        (
            sum(
                options[name].gpus * count
                for (name, _), count in period.counts.items()
                if options[name].workload == workload
            )
            for period in best.choice.periods
        ),
        default=0,
    )
