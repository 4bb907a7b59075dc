"""What the result objects of vLLM and SGLang share: flat keys, summaries in ms, details in seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner.loaders.benchmarks.reading import Reading

MS = 1e-3
APART = 3.0
"""Summary and details of one run may differ by rounding, never by this factor: then units are mixed."""


def latency_s(reading: Reading, name: str) -> dict[str, float]:
    """``mean_ttft_ms`` and so on in seconds; the median is p50."""
    keys = {"mean": f"mean_{name}_ms", "p50": f"median_{name}_ms", "std": f"std_{name}_ms"}
    keys |= {statistic: f"{statistic}_{name}_ms" for statistic in ("p90", "p95", "p99")}
    if not reading.has(keys["p50"]):
        keys["p50"] = f"p50_{name}_ms"
    return reading.statistics(keys, MS)


def check_details(reading: Reading, summary: Mapping[str, Mapping[str, float]]) -> None:
    """The lists of single requests are in seconds: their mean must be that of the summary."""
    for metric, key in (("ttft", "ttfts"), ("itl", "itls")):
        values = _flat(reading.at(key))
        stated = summary[metric].get("mean")
        if not values or not stated:
            continue
        mean_s = sum(values) / len(values)
        if mean_s > 0.0 and not 1.0 / APART <= stated / mean_s <= APART:
            found = f"{reading.at(f'mean_{metric}_ms')} beside {key} with a mean of {mean_s:.4g} s"
            reading.fault(f"mean_{metric}_ms", found, "the same time in ms", "the units are mixed")


def _flat(value: object) -> Sequence[float]:
    """Positive numbers of a list, or of a list of lists."""
    if isinstance(value, list):
        return [number for item in value for number in _flat(item)]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return [float(value)] if is_number and value > 0 else []  # type: ignore[arg-type, operator]


def mean_tokens(reading: Reading, key: str, completed: int) -> float | None:
    """Total tokens over completed requests."""
    total = reading.number(key, needed=True)
    return total / completed if total and completed else None


def counted(reading: Reading) -> int:
    """Completed requests; a fault where there are none."""
    completed = reading.count("completed", needed=True)
    if reading.has("completed") and not completed:
        reading.fault("completed", "0", "a run with completed requests")
    return completed


def failures(reading: Reading, completed: int) -> int:
    """Failed requests: as counted, else those sent and not completed."""
    if reading.has("failed"):
        return reading.count("failed")
    return max(reading.count("num_prompts") - completed, 0)
