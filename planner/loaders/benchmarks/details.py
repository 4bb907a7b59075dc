"""The lists of single requests that vLLM (``--save-detailed``) and SGLang (``--output-details``) write."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from planner.loaders.benchmarks.reading import PERCENTILES, Reading
from planner.schema.benchmark import FloatArray, Samples

_LISTS = ("ttfts", "itls", "latencies", "input_lens", "output_lens", "start_times", "errors")
_SHARES = {name: float(name[1:]) / 100.0 for name in PERCENTILES}


def samples(reading: Reading) -> Samples | None:
    """The requests that were answered, by their start; None where the file lists none. Times are in seconds.

    A request that failed has an error, or no first token.
    """
    count = len(reading.at("ttfts")) if isinstance(reading.at("ttfts"), list) else 0
    if not count:
        return None
    for key in _LISTS:
        value = reading.at(key)
        if value is not None and not (isinstance(value, list) and len(value) in (0, count)):
            found = f"{len(value)} items" if isinstance(value, list) else f"{value!r}"[:60]
            reading.fault(key, f"{found} beside {count} ttfts", "one item a request")
            return None
    ttft_s, gaps_s = _numbers(reading, "ttfts", count), _gaps(reading, count)
    if ttft_s is None or gaps_s is None:
        return None
    columns = {key: _numbers(reading, key, count) for key in _LISTS[2:6]}
    if any(column is None for column in columns.values()):
        return None
    known = {key: column for key, column in columns.items() if column is not None}
    errors = reading.at("errors") or [""] * count
    kept = np.array([not error for error in errors], dtype=bool) & (ttft_s > 0.0)
    order = np.flatnonzero(kept)
    if np.all(np.isfinite(known["start_times"])):
        order = order[np.argsort(known["start_times"][order], kind="stable")]
    e2e_s = _whole_s(known["latencies"], ttft_s, gaps_s)
    with np.errstate(invalid="ignore", divide="ignore"):
        tpot_s = np.where(known["output_lens"] > 1.0, (e2e_s - ttft_s) / (known["output_lens"] - 1.0), np.nan)
    return Samples(
        ttft_s=ttft_s[order],
        tpot_s=tpot_s[order],
        e2e_s=e2e_s[order],
        gaps_s=tuple(gaps_s[index] for index in order) if gaps_s else (),
        input_tokens=known["input_lens"][order],
        output_tokens=known["output_lens"][order],
        start_s=known["start_times"][order],
    )


def lengths(listed: Samples | None, side: str) -> dict[str, float]:
    """Statistics of the lengths of one side; none where they are not listed."""
    tokens = np.zeros(0) if listed is None else getattr(listed, side)
    if not tokens.size or not np.all(np.isfinite(tokens)):
        return {}
    quantiles = np.quantile(tokens, list(_SHARES.values()))
    return {"mean": float(tokens.mean()), **dict(zip(_SHARES, map(float, quantiles), strict=True))}


def _whole_s(stated: FloatArray, ttft_s: FloatArray, gaps_s: Sequence[FloatArray]) -> FloatArray:
    """End-to-end times: as stated, else the first token and every gap after it."""
    if np.all(np.isfinite(stated)) or not gaps_s:
        return stated
    return np.asarray(ttft_s + np.array([float(gaps.sum()) for gaps in gaps_s]))


def _numbers(reading: Reading, key: str, count: int) -> FloatArray | None:
    """A list of numbers of zero or more; NaN where there is no list. None, and a fault, where one is bad."""
    values = reading.at(key) or []
    if not values:
        return np.full(count, np.nan)
    return _array(reading, key, values)


def _gaps(reading: Reading, count: int) -> tuple[FloatArray, ...] | None:
    values = reading.at("itls") or []
    if not values:
        return ()
    assert len(values) == count
    found = []
    for place, item in enumerate(values):
        row = _array(reading, f"itls[{place}]", item) if isinstance(item, list) else None
        if row is None:
            if not isinstance(item, list):
                reading.fault(f"itls[{place}]", f"{item!r}"[:60], "a list of seconds")
            return None
        found.append(row)
    return tuple(found)


def _array(reading: Reading, key: str, values: Sequence[Any]) -> FloatArray | None:
    bad = next((place for place, value in enumerate(values) if not _is_time(value)), None)
    if bad is not None:
        reading.fault(f"{key}[{bad}]", f"{values[bad]!r}"[:60], "a finite number of zero or more")
        return None
    return np.array(values, dtype=np.float64)


def _is_time(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and value >= 0
