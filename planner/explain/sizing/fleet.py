"""Sizing steps 11 to 13: how many, what they cost, and what to watch."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, isfinite

from planner import numbers
from planner.explain.hours import at_hour, busiest_hour, has_hours, replicas_by_hour, spread
from planner.explain.monitoring import targets
from planner.explain.phrases import carried_in_words, listing
from planner.explain.problem_values import capacity_margin, may_wait, overridable, peak_rps
from planner.explain.sizing.context import Asked, Context, figure, told
from planner.schema.explanation import Figure, Step, Target
from planner.schema.pool import Pool

HOURS_PER_YEAR = 8760
FLEET = Asked(
    11,
    "Fleet",
    "Divide the peak and its safety margin by what a replica carries, and round up once: known traffic takes "
    "a small margin, new or uneven traffic a large one.",
    "8.3; 9.1, step 11",
)
TCO = Asked(
    12,
    "Cost of ownership",
    "Divide what the GPUs cost by the tokens that really flow: the mean utilization decides, not the peak.",
    "9.2; 9.1, step 12",
)
VALIDATE = Asked(
    13,
    "What to validate",
    "In the first week hold TTFT, ITL, utilization, KV cache and evictions against the plan, by hardware "
    "tier. If they depart, the workload is not the one of step 1: go back there.",
    "9.1, step 13; 9.3; 9.5",
)


def fleet(at: Context) -> Step:
    """Step 11."""
    figures: list[Figure] = []
    verdicts = []
    thin = []
    for name in at.workloads:
        who, margin = at.of_workload(name), capacity_margin(at.plan, name)
        figures.append(figure("safety margin", margin, "fraction", who))
        spares = _spares(overridable(at.plan, name, "redundancy"))
        figures.append(figure("spares", spares, of=who))
        pools = at.pools(name)
        verdicts += [(who, text) for text in _division(at, name, pools, margin)]
        asked = _asked_margin(at, name)
        if pools and margin is not None and margin < asked:
            kept, wanted = numbers.share(margin), numbers.share(asked)
            thin.append((who, f"The margin is {kept}; the method keeps {wanted} for traffic like this."))
    figures += _counts(at)
    return at.step(FLEET, figures, [*told(verdicts), *told(thin)], open_=bool(thin))


def _counts(at: Context) -> list[Figure]:
    """Replicas and GPUs; over several hours from the fewest to the most."""
    plan = at.plan
    if has_hours(plan):
        rows = [figure("replicas", spread(replicas_by_hour(plan, p)), of=at.of_pool(p)) for p in plan.pools]
        for gpu in sorted(plan.gpus):
            rows.append(figure(f"GPUs, {gpu}", spread([hour.gpus.get(gpu, 0) for hour in plan.periods])))
        return rows
    rows = [figure("replicas", pool.replicas, of=at.of_pool(pool)) for pool in plan.pools]
    rows += [figure(gpu, count, "GPUs") for gpu, count in sorted(plan.gpus.items())]
    idle = sum(plan.gpus.values()) - sum(pool.replicas * pool.gpus_per_replica for pool in plan.pools)
    return [*rows, figure("of them idle", idle if idle > 0 and plan.gpus else None, "GPUs")]


def _spares(stated: object) -> str | None:
    if isinstance(stated, Mapping):
        return ", ".join(_spare(str(key), value) for key, value in stated.items())
    return numbers.count(stated, "replica") if isinstance(stated, int) and stated else None


def _spare(kind: str, value: object) -> str:
    if kind == "per_option":
        return f"{value} of each option"
    return f"{value} {kind.removesuffix('s') if value in (1, '1') else kind}"


def _asked_margin(at: Context, workload: str) -> float:
    """What the method keeps free: more where arrivals are less even than Poisson."""
    sizing = at.sizing(workload)
    uneven = sizing is not None and sizing.arrival_scv_ratio > 1
    return at.rules.safety_new_fraction if uneven else at.rules.safety_known_fraction


def _division(at: Context, name: str, pools: list[Pool], margin: float | None) -> list[str]:
    """Peak × margin over capacity, where one pool carries it all; else what the pools carry together."""
    peak = peak_rps(at.plan, name)
    if has_hours(at.plan) and may_wait(at.plan, name):
        return ["It may wait: when it is done follows from what the others leave idle, not from a peak."]
    pools = at_hour(at.plan, pools, busiest_hour(at.plan, name))
    if peak is None or margin is None or not pools:
        return []
    needed = peak * (1 + margin)
    helped = [api.id for api in at.plan.api if api.workload == name and api.share > 0]
    if helped:
        return [
            f"{numbers.rate(needed)} with the margin; {carried_in_words(pools)}, {listing(helped)} the rest."
        ]
    if len(pools) == 1 and pools[0].capacity_rps > 0:
        pool = pools[0]
        exact = needed / pool.capacity_rps
        least = f"{ceil(exact):,}" if isfinite(exact) else "many"
        more = f", {pool.replicas:,} with spares and minimum" if str(pool.replicas) != least else ""
        return [
            f"{numbers.rate(needed)} with the margin over {numbers.rate(pool.capacity_rps)} a replica is "
            f"{numbers.significant(exact)}: {numbers.counted(least, 'replica')}{more}."
        ]
    return [f"{numbers.rate(needed)} with the margin; {carried_in_words(pools)}."]


def tco(at: Context) -> Step:
    """Step 12."""
    plan, hourly = at.plan, at.plan.cost_usd_per_hour
    if hourly is None:
        return at.step(TCO, [], [])
    year = numbers.usd(hourly * HOURS_PER_YEAR)
    figures = [
        figure("an hour, on average" if has_hours(plan) else "an hour", hourly, "USD/h"),
        figure("a month", numbers.usd(hourly * numbers.HOURS_PER_MONTH)),
        figure("a year", year),
        figure("a million output tokens", _usd(plan.cost_usd_per_million_output_tokens)),
        figure("a million tokens, in and out", _usd(plan.cost_usd_per_million_tokens)),
        figure("mean utilization", plan.mean_utilization, "fraction"),
    ]
    used, low = plan.mean_utilization, at.alarms.fleet_low_fraction
    trapped = used is not None and used < low
    verdict = f"{numbers.usd(hourly)} an hour, {year} a year."
    if trapped and used is not None:
        verdict += (
            f" A mean utilization of {numbers.share(used)} is below {numbers.share(low)}, the utilization "
            "trap: fill the quiet hours with batch work, or buy by the hour."
        )
    return at.step(TCO, figures, [verdict], open_=trapped)


def _usd(value: float | None) -> str | None:
    return None if value is None else numbers.usd(value)


def validate(at: Context) -> Step:
    """Step 13."""
    watched = targets(at.plan, at.alarms)
    if not watched:
        return at.step(VALIDATE, [], [])
    names = {pool.id: at.of_pool(pool) for pool in at.plan.pools}
    figures = [figure(item.metric, bounds(item), of=names[item.pool]) for item in watched]
    ttft = numbers.share(at.alarms.ttft_excess_fraction)
    points = f"{at.alarms.utilization_drop_fraction * 100:.0f}"
    verdict = (
        f"Back to step 1 when P99 TTFT is {ttft} above the plan, or utilization {points} points below it at "
        "the same rate."
    )
    return at.step(VALIDATE, figures, [verdict], open_=True)


def bounds(item: Target) -> str:
    """``1.10 s, alarm above 1.43 s``."""
    words = [] if item.expected is None else [numbers.quantity(item.expected, item.unit)]
    if item.low is not None:
        words.append(f"alarm below {numbers.quantity(item.low, item.unit)}")
    if item.high is not None:
        words.append(f"alarm above {numbers.quantity(item.high, item.unit)}")
    return ", ".join(words)
