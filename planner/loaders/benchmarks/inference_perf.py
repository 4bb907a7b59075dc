"""inference-perf ``summary_lifecycle_metrics.json`` and ``stage_<n>_lifecycle_metrics.json``: seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.loaders.benchmarks.reading import PERCENTILES, Reading, find_number
from planner.schema.benchmark import BenchmarkPoint

NAME = "inference-perf"
_RATES = ("requested_rate", "target_rate", "rate", "achieved_rate")


def matches(value: dict[str, Any]) -> bool:
    """Outcomes beside the load."""
    return isinstance(value.get("load_summary"), Mapping) and "successes" in value


def points(reading: Reading) -> list[BenchmarkPoint]:
    """The one run of a file."""
    completed = reading.count("successes.count", needed=True)
    if not completed:
        reading.fault("successes.count", "0", "a run with completed requests")
        return []
    load = reading.at("load_summary")
    concurrency = find_number(load, "concurrency") or find_number(load, "concurrency_level")
    rates = (find_number(load, name) for name in _RATES)
    rate = next((rate for rate in rates if rate is not None), None)
    if concurrency is None and rate is None:
        concurrency = _seen(reading)
    return [
        BenchmarkPoint(
            source=NAME,
            where=reading.where,
            raw_sha256=reading.sha256,
            isl_mean_tokens=_tokens(reading, ("prompt_len", "input_len"), "prompt_tokens", completed),
            osl_mean_tokens=_tokens(reading, ("output_len",), "output_tokens", completed),
            offered_rps=rate if concurrency is None else None,
            concurrency=concurrency,
            input_tokens=_lengths(reading, "prompt_len"),
            output_tokens=_lengths(reading, "output_len"),
            ttft_s=_latency(reading, "time_to_first_token"),
            tpot_s=_latency(reading, "time_per_output_token"),
            itl_s=_latency(reading, "inter_token_latency"),
            e2e_s=_latency(reading, "request_latency"),
            output_tokens_per_s=reading.number("successes.throughput.output_tokens_per_sec", needed=True),
            requests_per_s=reading.number("successes.throughput.requests_per_sec", needed=True),
            completed=completed,
            failed=reading.count("failures.count"),
        )
    ]


def _seen(reading: Reading) -> float | None:
    """Mean number in flight by Little's law, where a summary of several stages states no load."""
    rate = reading.number("successes.throughput.requests_per_sec")
    time_s = reading.number("successes.latency.request_latency.mean")
    if not rate or not time_s:
        reading.fault("load_summary", "neither a rate nor a concurrency", "a file of one stage")
        return None
    return rate * time_s


def _tokens(reading: Reading, names: tuple[str, ...], total: str, completed: int) -> float | None:
    """Mean length: a summary, else the total of newer files over the requests."""
    for name in names:
        mean = reading.number(f"successes.{name}.mean")
        if mean is not None:
            return mean
    tokens = reading.number(f"successes.{total}.total")
    return None if tokens is None else tokens / completed


def _lengths(reading: Reading, name: str) -> dict[str, float]:
    root = f"successes.{name}"
    keys = {"mean": f"{root}.mean", "p50": f"{root}.median"}
    return reading.tokens(keys | {p: f"{root}.{p}" for p in PERCENTILES[1:]})


def _latency(reading: Reading, metric: str) -> dict[str, float]:
    """Percentiles are configurable, so any may be missing; the 50th is called median."""
    root = f"successes.latency.{metric}"
    if not isinstance(reading.at(root), Mapping):
        return {}
    keys = {"mean": f"{root}.mean", "max": f"{root}.max"}
    keys |= {name: f"{root}.{name}" for name in PERCENTILES}
    if reading.has(f"{root}.median"):
        keys["p50"] = f"{root}.median"
    return reading.statistics(keys, 1.0)
