"""The plan's schedule beside autoscalers, and beside the fewest replicas that would have done."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from planner.performance.load import PERCENTILE
from planner.planning.replaying.answer import Answered, Progress, Question, answered, limits, run_plan
from planner.replay.autoscaler import Autoscaler, Scaling
from planner.replay.by_part import statistic_by_part
from planner.replay.observed import observed
from planner.replay.pool import PoolPlan, Turn
from planner.replay.run_plan import RunPlan, ServicePlan
from planner.replay.simulation import simulate
from planner.schema.replay import ScalingReplayed

_WINDOW_S = 300.0
"""The shortest window of the perfect scaler …"""
_WINDOWS_OF_HOUR = 4
"""… and how many an hour of a day has."""
_FILLS_S = 120.0
"""Before each window, with its own number of replicas."""
_ROUNDS = 4
"""In which windows that break between the others get a replica more."""
_MOST = 4
"""Times the replicas of the plan's largest hour: more are not tried."""


@dataclass(frozen=True)
class ScalersAsked:
    """What autoscalers are told."""

    target: float | None = None
    """Rate of a replica over its planned capacity; None: what the plan has at its peak."""
    least: int = 1
    cold_start_s: float | None = None
    """None: as planned, or by storage."""


def scaled(question: Question, how: Scaling, asked: ScalersAsked, progress: Progress | None) -> Answered:
    """The same requests under an autoscaler that starts with the plan's replicas."""
    stated = {pool.id: pool for pool in question.service.pools}

    def change(plan: PoolPlan) -> PoolPlan:
        pool = stated[plan.id]
        share = asked.target or pool.utilization or 1.0
        told = Autoscaler(how, share * pool.capacity_rps, asked.least)
        return replace(plan, replicas=max(plan.replicas, asked.least), turns=(), autoscaler=told)

    return answered(question, progress, question.service.plan.each(change))


def row(
    how: Literal["schedule", "reactive", "predictive", "perfect"], answers: Sequence[Answered]
) -> ScalingReplayed:
    """One way of scaling, over all workloads."""
    found = [limit for answer in answers for limit in limits(answer)]
    paid = gpus_by_part(answers)
    hours = max(run.period_s for answer in answers for run in answer.runs) / 3600.0
    mean = sum(paid) / len(paid)
    return ScalingReplayed(
        how=how,
        verdict="holds" if all(limit.holds for limit in found) else "breaks",
        gpu_hours=mean * hours,
        mean_gpus=mean,
        peak_gpus=max(paid),
        limits_s={limit.id: limit.replayed_s for limit in found},
        breaks=tuple(limit.id for limit in found if not limit.holds),
    )


def gpus_by_part(answers: Sequence[Answered]) -> list[float]:
    """GPUs of replicas that are there, starting and draining ones included; the mean over the seeds."""
    total = [0.0] * max(answer.question.parts for answer in answers)
    for answer in answers:
        each = {pool.id: pool.gpus_per_replica for pool in answer.question.service.pools}
        for run in answer.runs:
            for name, use in run.pools.items():
                for place in range(len(total)):
                    mine = use.paid[place * len(use.paid) // len(total)]
                    total[place] += mine * each[name] / len(answer.runs)
    return total


# -- the perfect scaler -----------------------------------------------------------------------------------


def perfect(question: Question, progress: Progress | None) -> Answered:
    """The fewest replicas by window that keep every limit on the requests of the window, and their replay.

    Replicas are there when a window begins and drain when it ends. Windows are looked at one by one, each
    after two minutes of its own load; the whole is then replayed, and windows that break get one more until
    none does. Pools keep the proportions, and the classes of requests, that the plan has at the time.
    """
    one = replace(question, seeds=1)
    base = run_plan(one, 0)
    windows = _windows(question, base)
    planned = question.service.plan
    wholes = [_at(planned, low - base.since_s) for low, _ in windows]
    largest = max(sum(_counts(whole).values()) for whole in wholes)
    numbers, near = [], max(largest // 2, 1)
    for place, (window, whole) in enumerate(zip(windows, wholes, strict=True)):
        if progress is not None:
            progress(f"least replicas of {question.service.workload}: window {place + 1} of {len(windows)}")
        near = _least(_keeps(question, base, whole, window), near, _MOST * largest)
        numbers.append(near)
    found = answered(one, None, _scheduled(wholes, windows, numbers, base.since_s))
    for _ in range(_ROUNDS):
        broken = _broken(found, len(windows))
        if not any(broken):
            break
        numbers = [number + (1 if bad else 0) for number, bad in zip(numbers, broken, strict=True)]
        found = answered(one, None, _scheduled(wholes, windows, numbers, base.since_s))
    return found


def _windows(question: Question, base: RunPlan) -> list[tuple[float, float]]:
    period_s = base.until_s - base.since_s
    parts = question.parts if not question.hours else _WINDOWS_OF_HOUR * len(question.hours)
    while parts > 1 and (period_s / parts < _WINDOW_S or question.parts % parts):
        parts -= 1
    edges = [base.since_s + period_s * place / parts for place in range(parts + 1)]
    return list(pairwise(edges))


def _at(plan: ServicePlan, at_s: float) -> ServicePlan:
    """The pools as the plan has them at a time of the period, for good and without a start."""

    def still(pool: PoolPlan) -> PoolPlan:
        first = Turn(0.0, pool.replicas, pool.classes)
        now = [turn for turn in (first, *pool.turns) if turn.at_s <= at_s][-1]
        return replace(pool, replicas=now.replicas, classes=now.classes, turns=(), start_s=0.0)

    return plan.each(still)


def _counts(plan: ServicePlan) -> dict[str, int]:
    return {pool.id: pool.replicas for pool in plan.pools}


def _spread(counts: Mapping[str, int], number: int) -> dict[str, int]:
    """So many replicas in the proportions of the plan, each pool that it has then at least one."""
    total = max(sum(counts.values()), 1)
    return {
        name: max(math.ceil(number * count / total - 1e-9), 1) if count else 0
        for name, count in counts.items()
    }


def _keeps(
    question: Question,
    base: RunPlan,
    whole: ServicePlan,
    window: tuple[float, float],
) -> Callable[[int], bool]:
    """Whether so many replicas keep every limit on the requests of one window."""
    low, high = window
    arrival_s = base.requests.arrival_s
    rows = range(bisect_left(arrival_s, low - _FILLS_S), bisect_left(arrival_s, high))
    requests = base.requests.only(rows)
    classes = [base.class_of[place] for place in rows] if base.class_of else []

    def keeps(number: int) -> bool:
        if not len(requests):
            return True
        spread = _spread(_counts(whole), number)
        service = whole.each(lambda pool: replace(pool, replicas=spread[pool.id]))
        plan = replace(
            base,
            service=service,
            requests=requests,
            class_of=classes,
            since_s=low,
            until_s=high,
            parts=1,
            failures=(),
        )
        found = observed(plan, simulate(plan), question.limits_s)
        return not any(
            found.statistics[metric][statistic] > limit
            for name, limit in question.limits_s.items()
            for metric, statistic in [name.split("_")]
        )

    return keeps


def _least(keeps: Callable[[int], bool], near: int, most: int) -> int:
    """The smallest number that is enough, looked for around one that is likely."""
    step, low, high = 1, 0, near
    if keeps(near):
        while high - step >= 1 and keeps(high - step):
            high, step = high - step, 2 * step
        low = max(high - step, 0)
    else:
        low, high = near, near + 1
        while high < most and not keeps(high):
            low, high, step = high, min(high + 2 * step, most), 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def _scheduled(
    wholes: Sequence[ServicePlan],
    windows: Sequence[tuple[float, float]],
    numbers: Sequence[int],
    since_s: float,
) -> ServicePlan:
    """Turns at the windows; times since the start of the period."""
    spreads = [_spread(_counts(whole), number) for whole, number in zip(wholes, numbers, strict=True)]
    classes = [{pool.id: pool.classes for pool in whole.pools} for whole in wholes]
    turns = list(zip(windows, spreads, classes, strict=True))[1:]
    return wholes[0].each(
        lambda pool: replace(
            pool,
            replicas=spreads[0][pool.id],
            turns=tuple(
                Turn(low - since_s, spread[pool.id], mine[pool.id]) for (low, _), spread, mine in turns
            ),
        )
    )


def _broken(found: Answered, windows: int) -> list[bool]:
    """Windows in which a limit does not hold."""
    broken = [False] * windows
    for name, limit in found.question.limits_s.items():
        metric, statistic = name.split("_")
        probability = None if statistic == "mean" else PERCENTILE[statistic]
        for place, value in enumerate(statistic_by_part(found.runs[0], metric, probability, windows)):
            broken[place] |= value > limit
    return broken
