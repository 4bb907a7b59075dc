"""A replay to look at: the verdict, percentiles beside the plan's own prediction, and what replicas did."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from planner import numbers
from planner.schema.replay import LimitReplayed, Replay
from planner.serve.page.charts import beside
from planner.serve.page.parts import fact, heading

_METRICS = {"ttft": "first token (TTFT)", "itl": "gap between tokens (ITL)", "e2e": "whole answer (E2E)"}
_STATISTICS = ("mean", "p50", "p90", "p95", "p99")
_MOST_WORKLOADS = 6
"""Drawn; all are in the words below."""


def replayed(document: dict[str, Any]) -> None:
    """The answer of ``planner replay``."""
    found = Replay.model_validate(document)
    with ui.row().classes("w-full gap-6 py-2"):
        fact("the plan", found.verdict)
        if found.margin is not None:
            below = found.margin >= 0
            fact("least room below a limit" if below else "over a limit", numbers.share(abs(found.margin)))
        fact("requests", f"{sum(one.requests for one in found.workloads.values()):,}")
        fact("looked at", f"{numbers.seconds(found.duration_s)}, {numbers.count(found.seeds, 'seed')}")
        if found.cost_usd_per_million_good_tokens is not None:
            fact("USD per million good output tokens", f"{found.cost_usd_per_million_good_tokens:,.2f}")
    for name in list(found.workloads)[:_MOST_WORKLOADS]:
        _latency(found, name)


def _latency(found: Replay, name: str) -> None:
    """One chart a metric: what was replayed, what the plan predicts, and the limit."""
    seen, told = found.workloads[name], found.predicted.get(name)
    heading(f"Latency of {name}, milliseconds")
    limits = {limit.id: limit for limit in found.limits}
    with ui.element("div").classes("w-full grid grid-cols-1 md:grid-cols-3 gap-3"):
        for metric, title in _METRICS.items():
            values = getattr(seen, f"{metric}_s")
            if not values:
                continue
            predicted = getattr(told, f"{metric}_s") if told is not None else {}
            sides = {"replayed": [_ms(values.get(key)) for key in _STATISTICS]}
            if predicted:
                sides["plan's prediction"] = [_ms(predicted.get(key)) for key in _STATISTICS]
            held = {key: _limit(limits.get(f"{metric}_{key}:{name}")) for key in _STATISTICS}
            beside(title, _STATISTICS, sides, held)


def _limit(limit: LimitReplayed | None) -> float | None:
    return None if limit is None else _ms(limit.limit_s)


def _ms(value: float | None) -> float | None:
    return None if value is None else value * 1000
