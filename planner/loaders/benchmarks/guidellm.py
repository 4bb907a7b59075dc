"""GuideLLM ``benchmarks.json``: several runs in a file, metrics by outcome; keys name ms, E2E is in s."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.loaders.benchmarks.reading import PERCENTILES, Reading, find_text, iso_date
from planner.schema.benchmark import BenchmarkPoint

NAME = "guidellm"
MS = 1e-3
KNOWN_VERSIONS = (1, 2)
_RATED = ("constant", "poisson", "async", "asynchronous")
_SCV = {"constant": 0.0, "poisson": 1.0}
"""Squared coefficient of variation of the gaps between arrivals, by strategy."""


def matches(value: dict[str, Any]) -> bool:
    """A report, or one of its benchmarks."""
    return isinstance(value.get("benchmarks"), list)


def points(reading: Reading) -> list[BenchmarkPoint]:
    """One point a benchmark; those of a sweep have loads of their own."""
    version = reading.at("metadata.version")
    if version is not None and version not in KNOWN_VERSIONS:
        known = " or ".join(str(number) for number in KNOWN_VERSIONS)
        reading.fault("metadata.version", str(version), f"version {known} of the report")
        return []
    runs = reading.value["benchmarks"]
    if not runs:
        reading.fault("benchmarks", "an empty list", "at least one benchmark")
    found: list[BenchmarkPoint] = []
    for number, run in enumerate(runs):
        part = reading.part(f"benchmarks[{number}]", run)
        if part is not None:
            found += _point(part, reading)
    return found


def _point(run: Reading, report: Reading) -> list[BenchmarkPoint]:
    completed = run.count("metrics.request_totals.successful")
    if run.has("metrics.request_totals") and not completed:
        run.fault("metrics.request_totals.successful", "0", "a run with completed requests")
        return []
    strategy = _strategy(run)
    kind = str(strategy.get("type_") or run.at("scheduler_metrics.strategy_type") or "")
    rate, concurrency = _load(run, strategy, kind)
    return [
        BenchmarkPoint(
            source=NAME,
            where=run.where,
            raw_sha256=run.sha256,
            model=find_text(report.at("args"), "model") or find_text(run.value.get("config"), "model")
            or find_text(run.value.get("args"), "model"),
            isl_mean_tokens=run.number("metrics.prompt_token_count.successful.mean"),
            osl_mean_tokens=run.number("metrics.output_token_count.successful.mean"),
            offered_rps=rate,
            concurrency=concurrency,
            arrival_scv_ratio=_SCV.get(kind),
            input_tokens=_tokens(run, "prompt_token_count"),
            output_tokens=_tokens(run, "output_token_count"),
            ttft_s=_latency(run, "time_to_first_token_ms", MS),
            # Gaps are averaged within a request; what the tool calls time per output token has had the
            # first token in it in some versions.
            tpot_s=_latency(run, "inter_token_latency_ms", MS),
            e2e_s=_latency(run, "request_latency", 1.0),
            output_tokens_per_s=run.number("metrics.output_tokens_per_second.successful.mean", needed=True),
            requests_per_s=run.number("metrics.requests_per_second.successful.mean", needed=True),
            completed=completed,
            failed=run.count("metrics.request_totals.errored"),
            date=iso_date(find_text(report.value.get("metadata"), "date")),
        )
    ]  # fmt: skip


def _strategy(run: Reading) -> Mapping[str, Any]:
    """The load in version 2 (``config``, ``scheduler``) and 1 (``args``)."""
    for key in ("config.strategy", "scheduler.strategy", "args.strategy"):
        value = run.at(key)
        if isinstance(value, Mapping):
            return value
    return {}


def _load(run: Reading, strategy: Mapping[str, Any], kind: str) -> tuple[float | None, float | None]:
    """Offered rate and requests in flight; those seen where the strategy sets neither."""
    rate, streams = strategy.get("rate"), strategy.get("streams")
    if kind in _RATED and isinstance(rate, int | float) and rate > 0:
        return float(rate), None
    if kind == "synchronous":
        return None, 1.0
    if kind == "concurrent" and isinstance(streams, int | float) and streams > 0:
        return None, float(streams)
    seen = run.number("metrics.request_concurrency.successful.mean")
    if seen is None:
        run.fault("config.strategy", f'"{kind}"' if kind else "nothing", "a strategy with a rate or streams")
    return None, seen


def _latency(run: Reading, metric: str, factor: float) -> dict[str, float]:
    root = f"metrics.{metric}.successful"
    if not run.has(root):
        return {}
    keys = {"mean": f"{root}.mean", "std": f"{root}.std_dev", "max": f"{root}.max"}
    keys |= {name: f"{root}.percentiles.{name}" for name in PERCENTILES}
    if not run.has(keys["p50"]):
        keys["p50"] = f"{root}.median"
    return run.statistics(keys, factor)


def _tokens(run: Reading, metric: str) -> dict[str, float]:
    root = f"metrics.{metric}.successful"
    return run.tokens({"mean": f"{root}.mean"} | {name: f"{root}.percentiles.{name}" for name in PERCENTILES})
