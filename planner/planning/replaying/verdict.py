"""What a replay says of a plan: what breaks, when and why, and the fewest replicas more that mend it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from planner import numbers
from planner.performance.load import PERCENTILE
from planner.planning.replaying.answer import Answered, Progress, answered, limits
from planner.planning.replaying.pools import more
from planner.replay.observed import worst_window_s
from planner.schema.replay import LimitReplayed, SmallestChange

_FULL_BATCH, _FULL_CACHE, _MANY_PREEMPTIONS = 0.9, 0.97, 0.01
"""Mean number decoding over the batch, peak of the cache, preemptions a request: from these on they count."""


def reasons(answer: Answered, found: Sequence[LimitReplayed]) -> list[str]:
    """Every limit that breaks: when it is worst, and what stands behind it."""
    told = []
    for limit in found:
        name = limit.id.split(":")[0]
        if not any(map(math.isfinite, answer.values(*name.split("_")))):
            told.append(f"{limit.id} cannot be told: no request that was answered in the period shows it")
            continue
        if limit.holds:
            if limit.high_s is not None and limit.high_s > limit.limit_s:
                told.append(f"{limit.id} holds on average; single seeds may break it: more --seeds say more")
            continue
        words = f"{limit.id} breaks: {numbers.seconds(limit.replayed_s)} of {numbers.seconds(limit.limit_s)}"
        when = f" in hours {_spans(limit.hours)}" if limit.hours else _when(answer, name)
        told.append(f"{words}{when}; {_cause(answer, name)}")
    refused = sum(run.refused for run in answer.runs)
    if refused:
        told.append(
            f"{answer.question.service.workload}: {numbers.count(refused, 'request')} longer than the KV "
            "cache of a replica were refused"
        )
    return told


def _spans(hours: Sequence[int]) -> str:
    """``3, 7-9``."""
    spans: list[list[int]] = []
    for hour in hours:
        if spans and spans[-1][-1] == hour - 1:
            spans[-1].append(hour)
        else:
            spans.append([hour])
    return ", ".join(str(one[0]) if len(one) == 1 else f"{one[0]}-{one[-1]}" for one in spans)


def _when(answer: Answered, name: str) -> str:
    metric, statistic = name.split("_")
    at = worst_window_s(answer.runs[0], metric, PERCENTILE.get(statistic))
    if at is None:
        return ""
    since = at - answer.runs[0].arrival_s.min()
    return f", worst about {since:,.0f} s into the period"


def _cause(answer: Answered, name: str) -> str:
    service, runs = answer.question.service, answer.runs
    if answer.question.failures and any(run.lost for run in runs):
        return "requests of the replica that failed are sent again to those that are left"
    requests = max(sum(run.requests for run in runs), 1)
    for plan in service.plan.pools:
        uses = [run.pools[plan.id] for run in runs]
        if sum(use.preemptions for use in uses) > _MANY_PREEMPTIONS * requests:
            return f"the KV cache of {plan.id} is too small: requests are preempted and computed again"
        concurrency = sum(use.concurrency for use in uses) / len(uses)
        if plan.worker.running and concurrency >= _FULL_BATCH * plan.worker.running:
            return f"the batch of {plan.id} is full ({plan.worker.running} requests)"
        if max(use.kv_peak for use in uses) >= _FULL_CACHE and name.startswith(("ttft", "e2e")):
            return f"the KV cache of {plan.id} is full at times, and requests wait for room"
    if name.startswith(("itl", "tpot")):
        return "prompts in the steps of answers and the number decoding make steps long"
    return "prompts wait for each other"


def smallest_change(
    answer: Answered, usd_per_hour: Mapping[str, float], progress: Progress | None = None
) -> SmallestChange | None:
    """The fewest replicas more of one kind of pool with which every limit holds, up to twice as many.

    The pools of one role grow together, in proportion; where no role alone is enough, all of them do.
    """
    service = answer.question.service
    late = any(not one.holds and one.id.startswith("ttft") for one in limits(answer))
    together = service.plan.serve or (*service.plan.prefill, *service.plan.decode)
    disaggregated = (
        (service.plan.prefill, service.plan.decode) if late else (service.plan.decode, service.plan.prefill)
    )
    for pools in (*disaggregated, together):
        if not pools:
            continue
        counts = {pool.id: pool.replicas for pool in pools}
        total = sum(counts.values())

        def keeps(number: int, counts: dict[str, int] = counts) -> bool:
            if progress is not None:
                progress(f"trying {numbers.count(number, 'replica')} more for {service.workload}")
            tried = answered(answer.question, None, more(service.plan, _spread(number, counts)))
            return all(one.holds for one in limits(tried))

        number = _fewest(keeps, total)
        if number is not None:
            added = {name: n for name, n in _spread(number, counts).items() if n}
            cost = sum(n * usd_per_hour[name] for name, n in added.items())
            words = " and ".join(f"{n} more in {name}" for name, n in added.items())
            return SmallestChange(replicas=added, usd_per_hour=cost, text=f"holds with {words}")
    return None


def _fewest(keeps: Callable[[int], bool], most: int) -> int | None:
    """The smallest number from 1 to ``most`` that is enough, by doubling and halving."""
    low, high = 0, 1
    while not keeps(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        if keeps(middle):
            high = middle
        else:
            low = middle
    return high


def _spread(number: int, replicas: Mapping[str, int]) -> dict[str, int]:
    """So many more, in proportion to what is there; what is left over goes to the largest pools."""
    total = sum(replicas.values())
    found = {name: number * count // total for name, count in replicas.items()}
    rest = number - sum(found.values())
    for name in sorted(replicas, key=lambda one: -replicas[one])[:rest]:
        found[name] += 1
    return found
