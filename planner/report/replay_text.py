"""A replay in words: the verdict, limit by limit, what requests experience, what replicas do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.report.parts import bullets, section, table
from planner.schema.replay import BurstReplayed, LimitReplayed, Replay, Replays

_MOST_ROWS = 8
"""Of a table: more are in the JSON document."""
_SHOWN = ("mean", "p50", "p90", "p95", "p99", "p99.9")
_METRICS = ("ttft", "itl", "tpot", "e2e")


def view(found: Replay) -> RenderableType:
    """The page of a replay."""
    words = "holds" if found.verdict == "holds" else "breaks"
    parts: list[RenderableType] = [
        Text(f"{found.problem}: the plan {words}", style="bold"),
        Text(_what(found)),
    ]
    if found.limits:
        heads = ("limit", "at most", "replayed", "95 % interval", "predicted", "difference", "")
        rows = sorted(found.limits, key=lambda one: (one.holds, -one.replayed_s / one.limit_s))
        parts.append(
            section("Limits", table(heads, map(_limit, rows[:_MOST_ROWS]), right=[1, 2, 4, 5], whole=[0]))
        )
    parts += [
        section("Latency", table(("", *_SHOWN), _latency(found), right=range(1, 7))),
        section("Pools", table(_POOL, list(_pools(found))[:_MOST_ROWS], right=range(1, 8))),
    ]
    if found.hours:
        parts.append(section("Hours", table(_HOUR, _hours(found), right=range(1, 6))))
    if found.scaling:
        parts.append(section("Scaling", table(_SCALING, _scaling(found), right=range(1, 4))))
    if found.bursts:
        parts.append(section("Burst", bullets(_burst(name, one) for name, one in found.bursts.items())))
    if found.reasons:
        parts.append(section("Why", bullets(found.reasons[:_MOST_ROWS])))
    batch = [
        f"{name}: {numbers.significant(one.batch.output_tokens_per_s)} output tokens/s "
        f"({numbers.significant(one.batch.requests_per_s)} requests/s), set back {one.batch.gave_way:,} times"
        for name, one in found.pools.items()
        if one.batch is not None
    ]
    if batch:
        parts.append(section("Batch work in what requests leave", bullets(batch[:_MOST_ROWS])))
    if found.change is not None:
        price = numbers.usd(found.change.usd_per_hour)
        parts.append(section("Smallest change", bullets([f"{found.change.text}: {price}/h more"])))
    if found.warnings:
        parts.append(section("Mind", bullets(found.warnings[:4])))
    return Group(*parts)


def _burst(name: str, one: BurstReplayed) -> str:
    text = f"{name}: {one.ratio:g} times the rate from {one.at_s:g} s on, for {one.for_s:g} s"
    if one.ttft_before_s is None or one.ttft_worst_s is None:
        return f"{text}; nothing came before it to compare with"
    felt = f"median TTFT up to {_s(one.ttft_worst_s)}, P95 before {_s(one.ttft_before_s)}"
    if one.recovery_s is None:
        return f"{text}: {felt}; not as before when the period ends"
    when = f"{_s(one.recovery_s)} after its end" if one.recovery_s else "at its end"
    return f"{text}: {felt}; as before {when}"


def rows(found: Replays) -> RenderableType:
    """One line a plan and trace."""
    lines = []
    for row in found.rows:
        one = row.replay
        nearest = max(one.limits, key=lambda limit: limit.replayed_s / limit.limit_s, default=None)
        lines.append(
            (
                row.plan,
                row.trace or "its demand",
                one.verdict,
                "" if nearest is None else nearest.id,
                "" if nearest is None else numbers.share(nearest.replayed_s / nearest.limit_s),
            )
        )
    broken = sum(row.replay.verdict == "breaks" for row in found.rows)
    head = f"{numbers.count(len(found.rows), 'replay')}, of which {broken} break"
    heads = ("plan", "trace", "", "nearest limit", "of it")
    return section(head, table(heads, lines, right=[4], whole=[0, 1]))


def _what(found: Replay) -> str:
    requests = sum(one.requests for one in found.workloads.values())
    seeds = numbers.count(found.seeds, "seed")
    source = f"the trace {found.trace}" if found.trace else "its demand"
    hour = "" if found.period is None else f", hour {found.period} of the plan"
    if found.hours:
        paid = numbers.significant(found.gpu_hours or 0.0)
        hour = f", hours {found.hours[0].hour} to {found.hours[-1].hour} of the plan ({paid} GPU-hours)"
    fails = "".join(f", {one} fails" for one in found.failures)
    length = numbers.seconds(found.duration_s)
    text = (
        f"{numbers.count(requests, 'request')} of {source} over {length}{hour}, {seeds}{fails}; step times "
        f"that hold with {numbers.share(found.confidence)}"
    )
    cost = found.cost_usd_per_million_good_tokens
    return text if cost is None else f"{text}; {numbers.usd(cost)} a million good output tokens"


def _limit(row: LimitReplayed) -> tuple[str, ...]:
    low, high = row.low_s, row.high_s
    interval = "" if low is None or high is None else f"{_s(max(low, 0.0))} – {_s(high)}"
    return (
        row.id,
        _s(row.limit_s),
        _s(row.replayed_s),
        interval,
        "" if row.predicted_s is None else _s(row.predicted_s),
        "" if row.difference is None else numbers.signed_share(row.difference),
        "holds" if row.holds else "breaks",
    )


def _latency(found: Replay) -> Iterator[tuple[str, ...]]:
    metrics = _METRICS if len(found.workloads) == 1 else ("ttft", "itl")
    for place, (name, one) in enumerate(found.workloads.items()):
        if place >= _MOST_ROWS // 2:
            return
        for metric in metrics:
            values: Mapping[str, float] = getattr(one, f"{metric}_s")
            yield (f"{name} {metric.upper()}", *_cells(values))
    for name, tier in found.tiers.items():
        yield (f"{name}, whole, TTFT", *_cells(tier.ttft_s))
        yield (f"{name}, whole, E2E", *_cells(tier.e2e_s))


def _cells(values: Mapping[str, float]) -> Iterator[str]:
    return (_s(values[key]) if key in values else "" for key in _SHOWN)


_POOL = ("pool", "replicas", "utilization", "busy", "decoding", "KV", "KV peak", "preempted")


def _pools(found: Replay) -> Iterator[tuple[str, ...]]:
    for name, one in found.pools.items():
        yield (
            name,
            str(one.replicas),
            numbers.share(one.utilization),
            numbers.share(one.busy),
            numbers.significant(one.concurrency),
            numbers.share(one.kv_usage),
            numbers.share(one.kv_peak),
            f"{one.preemptions:,}",
        )


_SCALING = ("", "GPU-hours", "mean GPUs", "peak GPUs", "")


def _scaling(found: Replay) -> Iterator[tuple[str, ...]]:
    for one in found.scaling:
        numbers_ = (numbers.significant(value) for value in (one.gpu_hours, one.mean_gpus, one.peak_gpus))
        yield (one.how, *numbers_, f"breaks {', '.join(one.breaks)}" if one.breaks else "holds")


_HOUR = ("hour", "requests/s", "GPUs planned", "GPUs replayed", "nearest limit", "of it", "")


def _hours(found: Replay) -> Iterator[tuple[str, ...]]:
    """Every hour, with the limit that has the least room."""
    limits = {limit.id: limit.limit_s for limit in found.limits}
    for one in found.hours:
        shares = {name: value / limits[name] for name, value in one.limits_s.items()}
        nearest = max(shares, key=shares.__getitem__, default="")
        yield (
            str(one.hour),
            numbers.significant(sum(one.rate_rps.values())),
            str(one.planned_gpus),
            numbers.significant(one.gpus),
            nearest,
            numbers.share(shares[nearest]) if nearest else "",
            "breaks" if one.breaks else "",
        )


def _s(value: float) -> str:
    return numbers.seconds(value)
