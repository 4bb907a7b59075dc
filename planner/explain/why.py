"""Why this plan and no other, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner import numbers
from planner.explain.phrases import carried_in_words, carried_rps, described, is_answered
from planner.explain.problem_values import capacity_margin, overridable, peak_rps, workload_names
from planner.schema.plan import Plan, Pool

_STOPS = {
    "ttft": "the time to first token",
    "itl": "the gap between tokens",
    "tpot": "the time per output token",
    "e2e": "the end-to-end time",
    "memory": "memory for the batch",
}
_PHASES = {"overhead": "the engine's own overhead", "memory-bandwidth": "memory bandwidth"}


def why(plan: Plan) -> tuple[str, ...]:
    """What each pool carries and what stops it, why not one replica less, and what comes next."""
    if not is_answered(plan):
        return ()
    pools = [_pool(pool) for pool in plan.pools]
    needed = [sentence for name in workload_names(plan) for sentence in _needed(plan, name)]
    return (*pools, *needed, *_next(plan))


def _pool(pool: Pool) -> str:
    stop = _STOPS.get((pool.limited_by or "").partition(":")[0])
    stopped = f"; {stop} stops it there" if stop else ""
    phases = ", ".join(f"{phase} waits for {_PHASES.get(what, what)}" for phase, what in pool.bound.items())
    waits = f" {phases[:1].upper()}{phases[1:]}." if phases else ""
    return f"{pool.id}: {described(pool)}. One carries {numbers.rate(pool.capacity_rps)}{stopped}.{waits}"


def _needed(plan: Plan, workload: str) -> Iterator[str]:
    """What must be carried, and that less would not do."""
    peak, pools = peak_rps(plan, workload), [pool for pool in plan.pools if pool.workload == workload]
    margin = capacity_margin(plan, workload)
    if peak is None or margin is None or not pools:
        return
    needed = peak * (1 + margin)
    kept = f" and {numbers.share(margin)} kept free" if margin else ""
    yield (
        f"{workload} needs {numbers.rate(needed)} ({numbers.rate(peak)} at the peak{kept}); "
        f"{carried_in_words(pools)}{_less(plan, workload, pools, needed)}."
    )


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
