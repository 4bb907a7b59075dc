"""Pools and fleets in a few words, the same on every page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner import numbers
from planner.schema.fleet_plan import ApiTaken
from planner.schema.plan import Plan
from planner.schema.pool import KvCache, Pool

NO_PRICE = "no price for"
"""How a warning begins that names limits whose prices are not sure."""
_ROUNDING = 1e-9
"""Part of the objective that is no difference."""
_DAY_S = 86_400.0
_FEWEST_A_DAY = 0.01


def listing(words: Sequence[str], joint: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {joint} {words[-1]}"


def layout(tp: int, pp: int, ep: int = 1, attention_dp: int = 1) -> str:
    """Degrees of parallelism, without those that are one: ``TP 4, PP 2``."""
    degrees = (("TP", tp), ("PP", pp), ("EP", ep), ("attention-DP", attention_dp))
    named = [f"{name} {degree}" for name, degree in degrees if degree > 1]
    return ", ".join(named) or "one GPU"


def pool_layout(pool: Pool) -> str:
    """The same of a pool; on a slice of a GPU its name."""
    if pool.slice is not None:
        return f"slice {pool.slice}"
    return layout(pool.tp, pool.pp, pool.ep, pool.attention_dp)


def offer(pool: Pool) -> str:
    """Where the pool is bought."""
    if pool.offer is None and pool.site is not None:
        return pool.site
    if pool.offer is None:
        return "at the given price"
    taken = pool.offer
    return f"{taken.provider} {taken.instance}, {taken.region}"


def speculation(pool: Pool) -> str:
    """``3 drafts a step by ngram``; empty without speculation."""
    taken = pool.speculation
    return (
        ""
        if taken is None
        else f"{numbers.count(taken.tokens, 'draft')} a step by {taken.draft or taken.kind}"
    )


def is_measured(pool: Pool) -> bool:
    """Rates come from a table: layout, formats and batch are not known."""
    return pool.evidence == "measured"


def distance(gap: float) -> str:
    """How far a plan may lie from the best; what lies within rounding is said so."""
    if gap == 0.0:
        return "as good as the best possible"
    if gap < _ROUNDING:
        return "within rounding of the best possible"
    return f"at most {numbers.share(gap)} from the best possible"


def preemptions(cache: KvCache) -> str:
    """Of a replica by the day; what is less than one in months is not told closer."""
    a_day = max(cache.preemptions_per_s * _DAY_S, _FEWEST_A_DAY)
    return f"{numbers.significant(a_day)} a day" if cache.preemptions_per_s else "none"


def described(pool: Pool, count: str = "") -> str:
    """``3 replicas of h200-sxm (TP 2, weights fp8, KV fp8, batch 64)``; ``count`` instead of one number."""
    replicas = numbers.counted(count, "replica") if count else numbers.count(pool.replicas, "replica")
    if is_measured(pool):
        return f"{replicas} of {pool.option} on {pool.gpu}"
    drafts = f", {speculation(pool)}" if pool.speculation is not None else ""
    return (
        f"{replicas} of {pool.gpu} ({pool_layout(pool)}, weights {pool.weights}, KV {pool.kv}, "
        f"batch {pool.max_batch:,}{drafts})"
    )


def fleet(plan: Plan) -> str:
    """``9 × b200-sxm and 4 × l40s``; the larger count first."""
    ordered = sorted(plan.gpus.items(), key=lambda item: (-item[1], item[0]))
    words = listing([f"{count:,} × {gpu}" for gpu, count in ordered if count])
    most = any(set(period.gpus.items()) != set(plan.gpus.items()) for period in plan.periods)
    return f"up to {words}" if most and words and len(plan.periods) > 1 else words


def carried_rps(pools: Iterable[Pool]) -> dict[str, float]:
    """What the pools carry together, by role: prefill and decode each see every request."""
    carried: dict[str, float] = {}
    for pool in pools:
        carried[pool.role] = carried.get(pool.role, 0.0) + pool.capacity_rps * pool.replicas
    return carried


def carried_in_words(pools: Iterable[Pool]) -> str:
    """``the plan carries 51.0 req/s``; with prefill disaggregated, what each side carries."""
    carried = carried_rps(pools)
    if set(carried) == {"serve"}:
        return f"the plan carries {numbers.rate(carried['serve'])}"
    return listing([f"{role} carries {numbers.rate(rate)}" for role, rate in carried.items()])


def latency_value(pools: Iterable[Pool], metric: str, statistic: str = "p99") -> float | None:
    """The slowest pool's latency in seconds; None where no pool states it.

    A pool of a worker table states one number, which counts as every statistic.
    """
    values: list[float | None] = []
    for pool in pools:
        stated = getattr(pool, f"{metric}_s")
        values += stated.values() if is_measured(pool) else [stated.get(statistic)]
    return max((value for value in values if value is not None), default=None)


def is_answered(plan: Plan) -> bool:
    """There is a plan, proved or not."""
    return plan.status in ("optimal", "feasible")


def api_sentence(api: ApiTaken) -> str:
    """``chat/api/api carries 34 % of chat for 1.20 USD/h; owning pays from 3.1 times this volume``."""
    money = f" for {numbers.usd(api.usd_per_hour)}/h"
    used = f"{api.id} carries {numbers.share(api.share)} of {api.workload}{money}"
    words = used if api.share > 0 else f"{api.id} is not used"
    if api.entry:
        words = f"{words} ({api.entry})"
    if api.text:
        return f"{words}; {api.text.rstrip('.')}."
    factor = api.break_even_factor
    if factor is None:
        return f"{words}."
    return f"{words}; owning pays from {numbers.significant(factor)} times this volume."
