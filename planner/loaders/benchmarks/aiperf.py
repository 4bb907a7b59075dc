"""AIPerf ``profile_export_aiperf.json`` and its predecessor GenAI-Perf: every metric names its unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.loaders.benchmarks.reading import PERCENTILES, UNITS_S, Reading, find_number, find_text, iso_date
from planner.schema.benchmark import BenchmarkPoint

NAME = "aiperf"
_RATES = {
    "request_throughput": ("requests/sec", "requests/s", "req/s"),
    "output_token_throughput": ("tokens/sec", "tokens/s", "tok/s"),
}


def matches(value: dict[str, Any]) -> bool:
    """Metrics as objects with a unit."""
    metrics = [value.get(name) for name in ("request_latency", "request_throughput", "time_to_first_token")]
    return any(isinstance(metric, Mapping) and "unit" in metric for metric in metrics)


def points(reading: Reading) -> list[BenchmarkPoint]:
    """The one run of a file; none where it was cancelled or not finished."""
    if reading.at("was_cancelled") is True:
        reading.fault("was_cancelled", "true", "a run that ended by itself")
        return []
    if reading.at("is_complete") is False:
        reading.fault("is_complete", "false", "a complete run")
        return []
    completed, failed = reading.count("request_count.avg"), reading.count("error_request_count.avg")
    if reading.has("request_count.avg") and not completed:
        reading.fault("request_count.avg", "0", "a run with completed requests")
    # What a sweep varied wins over the settings that all its runs share.
    settings = [reading.at("run_info.variation_values"), reading.at("input_config")]
    concurrency, rate = (_first(settings, name) for name in ("concurrency", "request_rate"))
    ours = reading.has("aiperf_version") or reading.has("schema_version") or reading.has("run_info")
    return [
        BenchmarkPoint(
            source=NAME if ours else "genai-perf",
            where=reading.where,
            raw_sha256=reading.sha256,
            model=find_text(reading.at("input_config"), "model_names", "model_name", "models", "model"),
            isl_mean_tokens=_mean(reading, "input_sequence_length"),
            osl_mean_tokens=_mean(reading, "output_sequence_length"),
            offered_rps=rate,
            concurrency=concurrency,
            arrival_scv_ratio=_arrivals(settings),
            input_tokens=_tokens(reading, "input_sequence_length"),
            output_tokens=_tokens(reading, "output_sequence_length"),
            ttft_s=_latency_s(reading, "time_to_first_token"),
            # Averaged within a request by these tools: a TPOT; the raw gaps have a name of their own.
            tpot_s=_latency_s(reading, "inter_token_latency"),
            itl_s=_latency_s(reading, "inter_chunk_latency"),
            e2e_s=_latency_s(reading, "request_latency"),
            output_tokens_per_s=_rate(reading, "output_token_throughput"),
            requests_per_s=_rate(reading, "request_throughput"),
            completed=completed,
            failed=failed,
            date=iso_date(reading.text("start_time", "end_time")),
        )
    ]


def _first(places: list[Any], name: str) -> float | None:
    return next((found for place in places if (found := find_number(place, name)) is not None), None)


def _tokens(reading: Reading, metric: str) -> dict[str, float]:
    return reading.tokens({"mean": f"{metric}.avg"} | {name: f"{metric}.{name}" for name in PERCENTILES})


def _arrivals(settings: list[Any]) -> float | None:
    """Squared coefficient of variation of the gaps: gamma arrivals have the inverse of their smoothness."""
    names = ("arrival_pattern", "request_rate_mode")
    pattern = next((found for place in settings if (found := find_text(place, *names))), "")
    smooth = _first(settings, "arrival_smoothness")
    if pattern == "gamma" and smooth:
        return 1.0 / smooth
    return {"poisson": 1.0, "constant": 0.0}.get(pattern)


def _mean(reading: Reading, metric: str) -> float | None:
    return reading.number(f"{metric}.avg")


def _latency_s(reading: Reading, metric: str) -> dict[str, float]:
    if not isinstance(reading.at(metric), Mapping):
        return {}
    unit = reading.at(f"{metric}.unit")
    factor = UNITS_S.get(str(unit))
    if factor is None:
        reading.fault(f"{metric}.unit", f'"{unit}"', f"a unit of time ({', '.join(UNITS_S)})")
        return {}
    keys = {"mean": f"{metric}.avg"} | {name: f"{metric}.{name}" for name in (*PERCENTILES, "std", "max")}
    return reading.statistics(keys, factor)


def _rate(reading: Reading, metric: str) -> float | None:
    unit = reading.at(f"{metric}.unit")
    if unit is not None and unit not in _RATES[metric]:
        reading.fault(f"{metric}.unit", f'"{unit}"', f"one of {', '.join(_RATES[metric])}")
        return None
    return reading.number(f"{metric}.avg", needed=True)
