"""Why this plan and no other, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner import numbers
from planner.explain.hours import at_hour, busiest_hour, clock, has_hours, replicas_by_hour
from planner.explain.phrases import (
    api_sentence,
    carried_in_words,
    carried_rps,
    described,
    is_answered,
    listing,
)
from planner.explain.problem_values import capacity_margin, may_wait, overridable, peak_rps, workload_names
from planner.schema.plan import Plan
from planner.schema.pool import Pool

_STOPS = {
    "ttft": "the time to first token",
    "itl": "the gap between tokens",
    "tpot": "the time per output token",
    "e2e": "the end-to-end time",
    "memory": "memory for the batch",
}
_HOUR_S = 3600
_PHASES = {"overhead": "the engine's own overhead", "memory-bandwidth": "memory bandwidth"}


def why(plan: Plan) -> tuple[str, ...]:
    """What each pool carries and what stops it, why not one replica less, and what comes next."""
    if not is_answered(plan):
        return ()
    pools = [_pool(plan, pool) for pool in plan.pools]
    needed = [sentence for name in workload_names(plan) for sentence in _needed(plan, name)]
    bought = [api_sentence(api) for api in plan.api]
    return (*pools, *needed, *bought, *_next(plan))


def _pool(plan: Plan, pool: Pool) -> str:
    stop = _STOPS.get((pool.limited_by or "").partition(":")[0])
    stopped = f"; {stop} stops it there" if stop else ""
    phases = ", ".join(f"{phase} waits for {_PHASES.get(what, what)}" for phase, what in pool.bound.items())
    waits = f" {phases[:1].upper()}{phases[1:]}." if phases else ""
    counts = set(replicas_by_hour(plan, pool)) if has_hours(plan) else set()
    count = numbers.between(min(counts), max(counts)) if len(counts) > 1 else ""
    return (
        f"{pool.id}: {described(pool, count)}. One carries {numbers.rate(pool.capacity_rps)}{stopped}.{waits}"
    )


def _needed(plan: Plan, workload: str) -> Iterator[str]:
    """What must be carried, and that less would not do."""
    peak, pools = peak_rps(plan, workload), [pool for pool in plan.pools if pool.workload == workload]
    if has_hours(plan) and may_wait(plan, workload):
        yield from _waiting(plan, workload)
        return
    margin = capacity_margin(plan, workload)
    hour = busiest_hour(plan, workload)
    pools = at_hour(plan, pools, hour)
    if peak is None or margin is None or not pools:
        return
    needed = peak * (1 + margin)
    kept = f" and {numbers.share(margin)} kept free" if margin else ""
    when = f" at {clock(hour * _HOUR_S, len(plan.periods))}" if has_hours(plan) else ""
    helped = [api.id for api in plan.api if api.workload == workload and api.share > 0]
    rest = f", {listing(helped)} the rest" if helped else _less(plan, workload, pools, needed)
    yield (
        f"{workload} needs {numbers.rate(needed)}{when} ({numbers.rate(peak)} at the peak{kept}); "
        f"{carried_in_words(pools)}{rest}."
    )


def _waiting(plan: Plan, workload: str) -> Iterator[str]:
    """When work that may wait is done."""
    done = [period.work.get(workload, 0.0) for period in plan.periods]
    if any(done):
        least, most = numbers.significant(min(done)), numbers.rate(max(done))
        mean = numbers.rate(sum(done) / len(done))
        yield f"{workload} may wait: {mean} on average are done, {least} to {most} in an hour."


def _less(plan: Plan, workload: str, pools: Sequence[Pool], needed: float) -> str:
    """What is left with the spares lost, or with one replica less where that is too little."""
    if any(pool.role != "serve" for pool in pools):
        return ""
    carried = carried_rps(pools)["serve"]
    spares = overridable(plan, workload, "redundancy")
    if isinstance(spares, int) and spares > 0:
        left = carried - spares * max(pool.capacity_rps for pool in pools)
        lost = numbers.count(spares, "replica")
        return f", and {numbers.rate(left)} with {lost} lost" if left >= needed else ""
    fewer = carried - min(pool.capacity_rps for pool in pools)
    return f", with one replica less only {numbers.rate(fewer)}" if fewer < needed else ""


def _next(plan: Plan) -> Iterator[str]:
    """The best plan that lost."""
    if plan.runners_up and plan.cost_usd_per_hour:
        other = plan.runners_up[0]
        change = other.cost_usd_per_hour / plan.cost_usd_per_hour - 1
        word = "more" if change > 0 else "less"
        against = f"costs {numbers.share(abs(change))} {word}" if change else "costs the same"
        yield f"Next best of one kind: {other.gpus:,} × {other.gpu}, which {against}."
