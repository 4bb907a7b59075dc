"""Targets for the monitoring of a plan, pool by pool, each with the alarm that sends one back to sizing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner import numbers
from planner.explain.problem_values import planned_hit, problem_value, sizing_of
from planner.schema.explanation import Target
from planner.schema.plan import Plan
from planner.schema.policy import Alarms
from planner.schema.pool import Pool

_SECONDS_PER_H = 3600


def targets(plan: Plan, alarms: Alarms) -> tuple[Target, ...]:
    """What each pool should read at its planned peak, and when to ring; empty without a plan.

    Every pool is a hardware tier of its own: a mean over tiers hides the one that fails.

    Source: field guide, sections 9.1 (step 13), 9.3 and 9.5.
    """
    places = [_Place(plan, pool, alarms) for pool in plan.pools]
    return tuple(target for place in places for watched in _WATCHED if (target := watched(place)) is not None)


@dataclass(frozen=True)
class _Place:
    """One pool with what its targets are made from."""

    plan: Plan
    pool: Pool
    alarms: Alarms

    def target(
        self,
        metric: str,
        unit: str,
        expected: float | None,
        why: str,
        section: str,
        low: float | None = None,
        high: float | None = None,
    ) -> Target:
        return Target(
            pool=self.pool.id,
            gpu=self.pool.gpu,
            metric=metric,
            expected=expected,
            low=low,
            high=high,
            unit=unit,
            why=why,
            section=section,
        )

    def limit(self, metric: str) -> float | None:
        """The limit on P99, where that is the statistic that is limited."""
        for state in self.plan.constraints:
            if state.id == f"{metric}:{self.pool.workload}":
                on_p99 = "p99" in state.text.lower() or self.pool.evidence == "measured"
                return state.limit if on_p99 else None
        return None


def _ttft(at: _Place) -> Target | None:
    expected, limit = at.pool.ttft_s.get("p99"), at.limit("ttft")
    if expected is None:
        return None
    share = at.alarms.ttft_excess_fraction
    excess = expected * (1 + share)
    if limit is not None and limit <= excess:
        return at.target("ttft_p99_s", "s", expected, "the limit", "9.3", high=limit)
    why = f"{numbers.share(share)} above the plan: size anew"
    return at.target("ttft_p99_s", "s", expected, why, "9.1, step 13", high=excess)


def _itl(at: _Place) -> Target | None:
    expected, limit = at.pool.itl_s.get("p99"), at.limit("itl")
    if expected is None:
        return None
    why = "the limit" if limit is not None else "no limit: watch its trend"
    return at.target("itl_p99_s", "s", expected, why, "9.3", high=limit)


def _utilization(at: _Place) -> Target:
    planned, points = at.pool.utilization, at.alarms.utilization_drop_fraction
    return at.target(
        "utilization",
        "fraction",
        planned,
        f"{points * 100:.0f} points below the plan: size anew; above: no room for a peak",
        "9.1, step 13; 9.3",
        low=max(planned - points, 0.0),
        high=_above(planned, at.alarms.fleet_high_fraction),
    )


def _rate(at: _Place) -> Target:
    why = "more than one replica carries within the limits"
    return at.target("request_rate_rps", "req/s", at.pool.load_rps, why, "8.3", high=at.pool.capacity_rps)


def _batch(at: _Place) -> Target | None:
    if at.pool.concurrency is None:
        return None
    why, full = "the batch is full: requests queue", float(at.pool.max_batch)
    return at.target("batch_mean", "sequences", at.pool.concurrency, why, "8.4", high=full)


def _queue(at: _Place) -> Target | None:
    guard = at.plan.guardrails_of(at.pool.workload)
    if guard is None or at.pool.role == "decode":
        return None
    why = "the circuit breaker opens"
    return at.target("queue_depth", "requests", 0.0, why, "9.4", high=float(guard.max_queue))


def _kv(at: _Place) -> Target | None:
    usage = at.pool.kv_usage
    if usage is None:
        return None
    high = _above(usage, at.alarms.kv_high_fraction)
    return at.target("kv_usage_ratio", "fraction", usage, "the cache nears its end", "9.3", high=high)


def _evictions(at: _Place) -> Target | None:
    if at.pool.memory_bytes is None:
        return None
    why, high = "the cache is too small for the traffic", at.alarms.kv_eviction_fraction
    return at.target("eviction_ratio", "fraction", 0.0, why, "7.7; 9.3", high=high)


def _memory(at: _Place) -> Target | None:
    memory = at.pool.memory_bytes
    if memory is None or memory.capacity <= 0:
        return None
    used = 1 - memory.free / memory.capacity
    return at.target(
        "gpu_memory_used_ratio",
        "fraction",
        used,
        "below: bought and not used; above: out of memory at the next peak",
        "9.3",
        low=min(at.alarms.memory_low_fraction, used),
        high=_above(used, at.alarms.memory_high_fraction),
    )


def _prefixes(at: _Place) -> Target | None:
    planned = planned_hit(at.pool, sizing_of(at.plan, at.pool.workload))
    if planned <= 0 or at.pool.role == "decode":
        return None
    alarm = at.alarms.prefix_hit_low_fraction
    if planned <= alarm:
        why = "fewer hits than planned: prompts take longer"
        return at.target("prefix_hit_ratio", "fraction", planned, why, "7.7; 9.3", low=planned)
    why = "routing loses the prefixes, or the cache is too small"
    return at.target("prefix_hit_ratio", "fraction", planned, why, "7.7; 9.3", low=alarm)


def _adapters(at: _Place) -> Target | None:
    if problem_value(at.plan, "workloads", at.pool.workload, "lora") is None:
        return None
    why, low = "adapters compete for memory", at.alarms.adapter_hit_low_fraction
    return at.target("adapter_hit_ratio", "fraction", None, why, "9.3", low=low)


def _acceptance(at: _Place) -> Target | None:
    taken = at.pool.speculation
    if taken is None:
        return None
    low, why = min(at.alarms.acceptance_low_fraction, taken.acceptance), "drafts cost more than they bring"
    return at.target("spec_acceptance_ratio", "fraction", taken.acceptance, why, "9.3", low=low)


def _tokens(at: _Place) -> Target | None:
    sizing = sizing_of(at.plan, at.pool.workload)
    if sizing is None or at.pool.role == "prefill":
        return None
    answers_per_h = at.pool.load_rps * _SECONDS_PER_H
    per_gpu = answers_per_h * sizing.output_tokens.get("mean", 0.0) / max(at.pool.gpus_per_replica, 1)
    why = "the effect of every choice in one number: watch its trend"
    return at.target("tokens_per_gpu_h", "tokens", per_gpu, why, "9.3")


def _above(expected: float, alarm: float) -> float:
    """The alarm, or everything where the plan itself is beyond the alarm."""
    return alarm if expected < alarm else 1.0


_WATCHED: tuple[Callable[[_Place], Target | None], ...] = (
    _ttft, _itl, _utilization, _rate, _batch, _queue, _kv, _evictions, _memory, _prefixes, _adapters,
    _acceptance, _tokens,
)  # fmt: skip
"""In the order of the page."""
