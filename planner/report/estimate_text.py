"""One configuration in words: whether it runs, how fast, at what cost."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.report.efficiency_text import estimate_efficiency
from planner.report.memory_bar import MemoryBar
from planner.report.parts import bullets, pairs, section, table
from planner.report.plan_text import uncertainty
from planner.report.pools_text import METRICS, bound_sentence, latency_table
from planner.schema.estimate import Curve, Estimate


def view(estimate: Estimate) -> RenderableType:
    """The page of an estimate."""
    body = refusal(estimate) if estimate.cannot_run else _figures(estimate)
    return Group(*(part for part in body if part is not None))


def refusal(estimate: Estimate | Curve) -> list[RenderableType | None]:
    """Why a configuration cannot run, and what fills its memory."""
    rows = [
        (
            f"{reason.id}\n{reason.text}" if reason.text else reason.id,
            "" if reason.value is None else numbers.quantity(reason.value, reason.unit),
            "" if reason.limit is None else numbers.quantity(reason.limit, reason.unit),
        )
        for reason in estimate.cannot_run
    ]
    return [
        Text(f"{estimate.option}: cannot run", style="bold red"),
        section("Why not", table(("reason", "needs", "allowed"), rows, right=[1, 2])),
        _memory(estimate),
        _warnings(estimate),
    ]


def _figures(estimate: Estimate) -> list[RenderableType | None]:
    return [
        Text(estimate.option, style="bold"),
        _memory(estimate),
        section("Speed", *_speed(estimate)),
        _latency(estimate),
        _cost(estimate),
        estimate_efficiency(estimate),
        _start(estimate),
        _evidence(estimate),
        _warnings(estimate),
    ]


def _memory(estimate: Estimate | Curve) -> RenderableType | None:
    if estimate.memory_bytes is None:
        return None
    return section("Memory of one GPU", MemoryBar(estimate.memory_bytes))


def _speed(estimate: Estimate) -> list[RenderableType]:
    figures = (
        ("sequences that fit", estimate.max_batch, lambda value: f"{value:,.0f} per replica"),
        ("requests in flight", estimate.concurrency, lambda value: numbers.significant(value)),
        ("of these decoding", estimate.decoding, lambda value: numbers.significant(value)),
        ("prefill", estimate.prefill_s, numbers.seconds),
        ("decode step", estimate.decode_step_s, numbers.seconds),
        (
            "output",
            estimate.output_tokens_per_s,
            lambda value: f"{numbers.significant(value)} tokens/s per replica",
        ),
        ("requests", estimate.requests_per_s, numbers.rate),
        ("utilization", estimate.utilization, numbers.share),
    )
    parts: list[RenderableType] = [
        Text(_capital(estimate.load) + ".", style="dim"),
        pairs((name, words(value)) for name, value, words in figures if value is not None),
    ]
    if estimate.bound:
        parts.append(Text(bound_sentence(estimate.bound), style="dim"))
    return parts


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _latency(estimate: Estimate) -> RenderableType | None:
    upper = " (upper bound)" if estimate.e2e_is_upper_bound else ""
    rows = [(name + (upper if name == "E2E" else ""), getattr(estimate, field)) for name, field in METRICS]
    if not any(values for _, values in rows):
        return None
    return section("Latency", latency_table(rows))


def _cost(estimate: Estimate) -> RenderableType | None:
    if estimate.usd_per_hour is None:
        return None
    rows = [(f"{numbers.count(estimate.gpus, 'GPU')}", f"{numbers.usd(estimate.usd_per_hour)}/h")]
    if estimate.usd_per_million_output_tokens is not None:
        rows.append(("per million output tokens", numbers.usd(estimate.usd_per_million_output_tokens)))
    return section("Cost", pairs(rows))


def _start(estimate: Estimate) -> RenderableType | None:
    rows = []
    if estimate.cold_start_s is not None:
        rows.append(("from an empty server to the first token", numbers.seconds(estimate.cold_start_s)))
    if estimate.host_memory_bytes is not None:
        rows.append(("host memory while loading", numbers.size(estimate.host_memory_bytes)))
    return section("Start", pairs(rows)) if rows else None


def _evidence(estimate: Estimate) -> RenderableType:
    spread = uncertainty(estimate.uncertainty)
    detail = f", one standard deviation: {spread}" if spread else ""
    line = Text(f"{estimate.evidence.capitalize()} numbers{detail}.")
    return section("How sure this is", line, *outside(estimate))


def outside(estimate: Estimate | Curve) -> list[RenderableType]:
    """What lies outside what was measured."""
    if not estimate.outside_measured:
        return []
    return [Text("Outside what was measured, so the spread is wider:"), bullets(estimate.outside_measured)]


def _warnings(estimate: Estimate | Curve) -> RenderableType | None:
    return section("Mind", bullets(estimate.warnings)) if estimate.warnings else None
