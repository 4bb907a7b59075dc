"""Sizing steps 1 to 3: what is asked, on what it runs, and whether one fleet is right."""

from __future__ import annotations

from collections.abc import Mapping

from planner import numbers, units
from planner.explain.hours import gpu_h_price, running_gpus
from planner.explain.phrases import listing
from planner.explain.problem_values import peak_rps, problem_value
from planner.explain.sizing.context import Asked, Context, figure, told
from planner.schema.explanation import Figure, Step
from planner.schema.fleet_plan import TierTaken
from planner.schema.pool import Pool
from planner.schema.sizing import WorkloadSizing

WORKLOAD = Asked(
    1,
    "Workload",
    "Know the lengths by percentile, the peak beside the mean, the latency limits, and who waits for the "
    "answer. Size for the tail of the lengths and the peak of the rate.",
    "1; 9.1, step 1",
)
HARDWARE = Asked(
    2,
    "Hardware",
    "Choose the accelerator by the phase that limits: compute for prompts, bandwidth for answers, memory for "
    "context. Check the link before a model is split.",
    "1.2; 3.5; 9.1, step 2",
)
ROUTING = Asked(
    3,
    "Routing",
    "Ask whether every request needs this model. A router with a small model beside it may pay where the "
    "fleet is large and many requests are simple.",
    "1.5; 9.1, step 3",
)
_STATED = "The problem states its tiers."
_PHASES = {"compute": "compute", "memory-bandwidth": "memory bandwidth", "overhead": "the engine itself"}
_DECIDES = {
    "ttft": "time to first token sets the capacity, so prompts decide",
    "itl": "the gap between tokens sets the capacity, so answers decide",
    "tpot": "the time per output token sets the capacity, so answers decide",
    "e2e": "the end-to-end time sets the capacity",
    "memory": "memory for the batch sets the capacity, so context decides",
}


def workload(at: Context) -> Step:
    """Step 1."""
    figures: list[Figure] = []
    verdicts: list[tuple[str, str]] = []
    no_mean = False
    for name in at.workloads:
        who, sizing = at.of_workload(name), at.sizing(name)
        limits = _limits(at, name)
        figures += _demand(at, name, sizing)
        figures += [figure("limits", limits or "none", of=who)]
        if sizing is not None:
            no_mean |= _mean_is_assumed(at, name)
            length = f" and {numbers.count(sizing.sequence_tokens, 'token')} a sequence"
            verdicts.append((who, f"Sized for {numbers.rate(sizing.peak_rps)}{length}."))
        elif (peak := peak_rps(at.plan, name)) is not None:
            verdicts.append((who, f"Sized for {numbers.rate(peak)}."))
        if not limits:
            verdicts.append((who, "Nobody waits: without a latency limit only cost counts."))
    sentences = told(verdicts)
    if no_mean:
        sentences.append("The mean rate is not stated, so cost per token takes the fleet as always full.")
    return at.step(WORKLOAD, figures, sentences, open_=no_mean)


def _mean_is_assumed(at: Context, name: str) -> bool:
    demand = problem_value(at.plan, "workloads", name, "demand")
    return isinstance(demand, Mapping) and "peak_rps" in demand and demand.get("mean_rps") is None


def _demand(at: Context, name: str, sizing: WorkloadSizing | None) -> list[Figure]:
    who = at.of_workload(name)
    if sizing is None:
        demand = problem_value(at.plan, "workloads", name, "demand")
        stated = demand.items() if isinstance(demand, Mapping) else ()
        return [figure(str(key), _words(value), of=who) for key, value in stated if value is not False]
    rows = [
        figure("peak rate", sizing.peak_rps, "req/s", who),
        figure("mean rate", sizing.mean_rps, "req/s", who),
    ]
    if sizing.arrival_scv_ratio != 1:
        rows.append(figure("squared variation of arrivals", sizing.arrival_scv_ratio, "", who))
    rows += [
        figure("prompt", _lengths(sizing.input_tokens), of=who),
        figure("answer", _lengths(sizing.output_tokens), of=who),
        figure("KV is sized for", sizing.sequence_tokens, "tokens", who),
    ]
    if sizing.cached_fraction:
        rows.append(figure("prompt tokens cached", sizing.cached_fraction, "fraction", who))
    return rows


def _words(stated: object) -> str:
    return ", ".join(map(str, stated)) if isinstance(stated, list | tuple) else str(stated)


def _lengths(tokens: Mapping[str, float]) -> str:
    return (
        ", ".join(
            f"{name.upper() if name != 'mean' else name} {value:,.0f}" for name, value in tokens.items()
        )
        + " tokens"
    )


def _limits(at: Context, name: str) -> str:
    """The limits that the problem states; those of an archetype from the plan."""
    stated = problem_value(at.plan, "workloads", name, "slo")
    if isinstance(stated, Mapping) and stated:
        return ", ".join(f"{_limit_name(str(key))} {_duration(value)}" for key, value in stated.items())
    states = [state for state in at.plan.constraints if state.id.endswith(f":{name}") and state.unit == "s"]
    return ", ".join(f"{state.text} {numbers.quantity(state.limit, state.unit)}" for state in states)


def _duration(stated: object) -> str:
    try:
        return numbers.seconds(float(units.parse(stated, units.SECONDS)))
    except units.UnitError:
        return str(stated)


def _limit_name(key: str) -> str:
    metric, _, statistic = key.partition("_")
    return f"{metric.upper()} {statistic.upper() if statistic != 'mean' else statistic}".strip()


def hardware(at: Context) -> Step:
    """Step 2."""
    plan = at.plan
    figures: list[Figure] = []
    for pool in plan.pools:
        figures += _gpu(at, pool)
    others = [other for other in plan.runners_up if other.gpu not in plan.gpus]
    if others and plan.cost_usd_per_hour:
        change = numbers.signed_share(others[0].cost_usd_per_hour / plan.cost_usd_per_hour - 1)
        figures.append(figure("next GPU type", f"{others[0].gpu}, {change} cost"))
    if plan.why_not:
        names = sorted(item.gpu for item in plan.why_not)
        figures.append(figure("cannot serve this", listing(names)))
    verdicts = told((at.of_pool(pool), _phase(pool)) for pool in plan.pools)
    return at.step(HARDWARE, figures, verdicts)


def _gpu(at: Context, pool: Pool) -> list[Figure]:
    who, gpus = at.of_pool(pool), pool.replicas * pool.gpus_per_replica
    price = gpu_h_price(at.plan, pool)
    if price is None:
        price = pool.usd_per_hour / gpus if gpus > 0 else None
    rows = [figure("GPU", pool.gpu, of=who), figure("price of a GPU", price, "USD/h", who)]
    if pool.memory_bytes is not None:
        rows.append(figure("memory of a GPU", pool.memory_bytes.capacity, "B", who))
    rows += [
        figure(f"{phase} waits for", _PHASES.get(what, what), of=who) for phase, what in pool.bound.items()
    ]
    return rows


def _phase(pool: Pool) -> str:
    decides = _DECIDES.get((pool.limited_by or "").partition(":")[0])
    return f"{pool.gpu}: {decides}." if decides else f"{pool.gpu} is the choice that costs least."


def routing(at: Context) -> Step:
    """Step 3."""
    served = dict.fromkeys(pool.model or "measured workers" for pool in at.plan.pools)
    gpus = {
        model: running_gpus(
            at.plan, [pool for pool in at.plan.pools if (pool.model or "measured workers") == model]
        )
        for model in served
    }
    figures = [figure(model, count, "GPUs") for model, count in gpus.items()]
    if problem_value(at.plan, "tiers"):
        return at.step(ROUTING, figures, [_tier(tier) for tier in at.plan.tiers] or [_STATED])
    limit = at.rules.routing_gpus
    large = [model for model, count in gpus.items() if count > limit]
    if not gpus:
        return at.step(ROUTING, [], [])
    if large:
        verdict = (
            f"More than {numbers.count(limit, 'GPU')} serve {listing(large)}: find out what share of the "
            "requests a smaller model answers well enough."
        )
    else:
        verdict = f"No model takes more than {numbers.count(limit, 'GPU')}: a router would hardly pay."
    return at.step(ROUTING, figures, [verdict], open_=bool(large))


def _tier(tier: TierTaken) -> str:
    """The setting that was taken, and what the others cost."""
    taken = tier.costs_usd_per_hour.get(tier.setting)
    others = [
        f"{name} {numbers.usd(cost)}/h" if cost is not None else f"{name} has no plan"
        for name, cost in tier.costs_usd_per_hour.items()
        if name != tier.setting
    ]
    cost = f" at {numbers.usd(taken)}/h" if taken is not None else ""
    against = f"; {listing(others)}" if others else ""
    return f"Tier {tier.name} runs {tier.setting}{cost}{against}."
