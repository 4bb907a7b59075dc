"""The best plans that lost, one a GPU type and layout, and why."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction

from planner import numbers
from planner.explain.bought_alone import Alone
from planner.explain.over_limits import over_limits
from planner.schema.compared import RunnerUp
from planner.schema.fleet import FleetProblem

_SHOWN = 4


def runners_up(
    plans: Sequence[Alone],
    chosen: Sequence[str],
    best_value: Fraction,
    best_gpus: int,
    objective: str,
    limited_by: Mapping[str, str],
    problem: FleetProblem,
    layouts: Mapping[str, Hashable],
) -> tuple[RunnerUp, ...]:
    """The cheapest single-option plans of the GPU types that the plan does not use, and one other layout.

    Plans that keep the limits of the market come before those that break them.

    Args:
        plans: single-option plans of all options.
        chosen: option ids in the plan.
        best_value: objective of the plan.
        best_gpus: GPUs that it buys.
        objective: cost, gpus or power.
        limited_by: what stops one replica of an option, by option id.
        problem: with the limits that a plan bought alone may break.
        layouts: what tells layouts apart, by option id wherever it stands; those that differ in no more than
            what an engine is given of the memory are one.
    """
    taken = {layouts.get(option.anywhere) for option in problem.options if option.id in chosen} - {None}
    stops = {plan.option.id: _stops(plan, problem) for plan in plans}

    def order(plan: Alone) -> tuple[bool, Fraction, int, str]:
        return (bool(stops[plan.option.id]), _value(plan, objective), plan.gpus, plan.option.id)

    ranked = sorted(plans, key=order)
    used = {plan.option.gpu for plan in ranked if plan.option.id in chosen}
    shown: list[Alone] = []
    seen: set[str] = set(used)
    for plan in ranked:
        if plan.option.gpu not in seen and plan.option.id not in chosen:
            shown.append(plan)
            seen.add(plan.option.gpu)
    same_gpu = [
        plan
        for plan in ranked
        if plan.option.gpu in used
        and plan.option.id not in chosen
        and layouts.get(plan.option.anywhere) not in taken
    ]
    picked = sorted([*shown[:_SHOWN], *same_gpu[:1]], key=order)
    return tuple(
        RunnerUp(
            option=plan.option.label or plan.option.id,
            gpu=plan.option.gpu,
            replicas=plan.replicas,
            gpus=plan.gpus,
            cost_usd_per_hour=float(plan.usd_per_h),
            why="; ".join(
                [
                    *stops[plan.option.id],
                    *_why(plan, best_value, best_gpus, objective, limited_by.get(plan.option.id, "")),
                ]
            ),
        )
        for plan in picked
    )


def _value(plan: Alone, objective: str) -> Fraction:
    return {"gpus": Fraction(plan.gpus), "power": plan.power_w}.get(objective, plan.usd_per_h)


_LIMITS = {
    "memory": "memory for the batch",
    "ttft": "time to first token",
    "itl": "inter-token latency",
    "tpot": "time per output token",
    "e2e": "end-to-end time",
}


def _stops(plan: Alone, problem: FleetProblem) -> list[str]:
    """The limits of the plan that it breaks, in words."""
    replicas = {plan.option.id: plan.replicas}
    parts = list(over_limits(problem, {plan.option.gpu: plan.gpus}, replicas, plan.usd_per_h))
    if plan.missing_gpus:
        parts.append(f"the supply is short of {numbers.count(plan.missing_gpus, 'GPU')}")
    return parts


def _compared(value: Fraction, best: Fraction, noun: str) -> str:
    """More or less of the objective than the plan has."""
    if value == best:
        return f"the same {noun}"
    word = "more" if value > best else "less"
    return f"{abs(float((value - best) / best)) * 100:.1f} % {word} {noun}" if best else f"{word} {noun}"


def _why(plan: Alone, best: Fraction, best_gpus: int, objective: str, limit: str) -> list[str]:
    noun = {"gpus": "GPUs", "power": "power"}.get(objective, "cost")
    parts = [_compared(_value(plan, objective), best, noun)]
    if plan.gpus != best_gpus:
        parts.append(f"{numbers.count(plan.gpus, 'GPU')} instead of {best_gpus:,}")
    per_gpu = float(plan.usd_per_h) / plan.gpus
    parts.append(f"at {per_gpu:.2f} USD per GPU-hour")
    carried = float(plan.option.rates_rps[0])
    stop = f", limited by {_LIMITS[limit]}" if limit in _LIMITS else ""
    parts.append(f"a replica carries {carried:.3g} requests/s{stop}")
    return parts
