"""One run inside a benchmark file: numbers by key, with every fault noted in place."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import pairwise
from typing import Any

from planner.errors import Fault

PERCENTILES = ("p50", "p90", "p95", "p99")
UNITS_S = {
    "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0, "s/token": 1.0,
    "ms": 1e-3, "millisecond": 1e-3, "milliseconds": 1e-3, "ms/token": 1e-3,
    "us": 1e-6, "µs": 1e-6, "microseconds": 1e-6, "ns": 1e-9, "nanoseconds": 1e-9,
}  # fmt: skip
"""Names of units of time in benchmark files, in seconds."""
_UNLIMITED = ("inf", "infinity")


class Reading:
    """One JSON object with its name for messages."""

    def __init__(self, where: str, value: Mapping[str, Any], sha256: str, faults: list[Fault]) -> None:
        """``faults`` is shared by all readings of all files."""
        self.where, self.value, self.sha256 = where, value, sha256
        self._faults = faults

    def fault(self, key: str, found: str, expected: str, maybe: str = "") -> None:
        """Note something wrong."""
        self._faults.append(Fault(self.where, key, found, expected, maybe))

    def at(self, key: str) -> Any:
        """The value at a dotted path, or None."""
        value: Any = self.value
        for step in key.split("."):
            value = value.get(step) if isinstance(value, Mapping) else None
        return value

    def part(self, name: str, value: Any) -> Reading | None:
        """A run inside the file; None, and a fault, where it is no object."""
        if not isinstance(value, Mapping):
            self.fault(name, f"{value!r}"[:60], "an object")
            return None
        return Reading(f"{self.where}: {name}", value, self.sha256, self._faults)

    def has(self, *keys: str) -> bool:
        """Whether all keys hold something."""
        return all(self.at(key) is not None for key in keys)

    def number(self, key: str, needed: bool = False) -> float | None:
        """A finite number of zero or more; None, and a fault where it is needed, without one."""
        value = self.at(key)
        if value is None:
            if needed:
                self.fault(key, "nothing", "a number")
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fault(key, f"{value!r}"[:60], "a number")
        elif not math.isfinite(value) or value < 0:
            self.fault(key, f"{value}", "a finite number of zero or more")
        else:
            return float(value)
        return None

    def count(self, key: str, needed: bool = False) -> int:
        """A whole number of zero or more; 0 without one."""
        number = self.number(key, needed) or 0.0
        if number != int(number):
            self.fault(key, f"{number:g}", "a whole number")
        return int(number)

    def text(self, *keys: str) -> str | None:
        """The first of the keys that holds a text."""
        for key in keys:
            value = self.at(key)
            if isinstance(value, list) and value:
                value = value[0]
            if isinstance(value, str) and value:
                return value
        return None

    def rate(self, key: str) -> float | None:
        """An offered rate; None where it is unlimited (``inf``) or a word such as ``trace``."""
        value = self.at(key)
        if isinstance(value, str):
            if value.strip().lower() in _UNLIMITED or not _is_number(value):
                return None
            value = float(value)
        if value is None or (isinstance(value, float) and math.isinf(value)):
            return None
        found = self.number(key) if not isinstance(self.at(key), str) else float(value)
        if found is not None and found <= 0.0:
            self.fault(key, f"{found:g}", "a rate above zero")
            return None
        return found

    def statistics(self, keys: Mapping[str, str], factor: float) -> dict[str, float]:
        """Statistics by name -> key, times a factor; they must not fall from p50 to p99."""
        read = {name: self.number(key) for name, key in keys.items()}
        found = {name: value * factor for name, value in read.items() if value is not None}
        known = [name for name in PERCENTILES if name in found]
        for below, above in pairwise(known):
            if found[above] < found[below] * (1.0 - 1e-9):
                low, high = keys[below], keys[above]
                self.fault(
                    high, f"{self.at(high)}, below {low} {self.at(low)}", "percentiles that never fall"
                )
        return found

    def tokens(self, keys: Mapping[str, str]) -> dict[str, float]:
        """Statistics of lengths by name -> key, those that are stated."""
        read = {name: self.number(key) for name, key in keys.items()}
        return {name: value for name, value in read.items() if value}

    def listed_facts(self, names: Mapping[str, Sequence[str]]) -> dict[str, str | int]:
        """Facts of the server under the names that a tool or its users give them."""
        facts: dict[str, str | int] = {}
        for fact, keys in names.items():
            for key in keys:
                value = self.at(key)
                if value is None or value in ("", "auto", "None"):
                    continue
                if fact in COUNTED:
                    value = self._degree(key, value)
                if value is not None:
                    facts[fact] = value if isinstance(value, int) else str(value)
                    break
        return facts

    def _degree(self, key: str, value: Any) -> int | None:
        text = str(value).strip()
        if not isinstance(value, bool) and text.isdigit() and int(text) > 0:
            return int(text)
        self.fault(key, f"{value!r}"[:60], "a whole number of 1 or more")
        return None


COUNTED = ("tp", "pp", "ep", "attention_dp")
METADATA: Mapping[str, tuple[str, ...]] = {
    "gpu": ("gpu", "gpu_type", "gpu_name", "accelerator"),
    "tp": ("tp", "tp_size", "tensor_parallel_size", "tensor_parallel"),
    "pp": ("pp", "pp_size", "pipeline_parallel_size"),
    "ep": ("ep", "ep_size", "expert_parallel_size"),
    "attention_dp": ("attention_dp", "attn_dp_size"),
    "weights": ("weights", "weight_precision", "precision", "quantization"),
    "kv": ("kv", "kv_cache_dtype", "kv_precision"),
}
"""Fact -> keys under which people and servers write it."""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def find_number(value: Any, name: str) -> float | None:
    """The first number under a key of that name, anywhere inside."""
    return next((float(v) for v in _under(value, name) if isinstance(v, int | float) and v > 0), None)


def find_text(value: Any, *names: str) -> str | None:
    """The first text under a key of one of the names, anywhere inside; the first item of a list."""
    for name in names:
        for found in _under(value, name):
            item = found[0] if isinstance(found, list) and found else found
            if isinstance(item, str) and item:
                return item
    return None


def _under(value: Any, name: str) -> Iterator[Any]:
    if isinstance(value, Mapping):
        if name in value and not isinstance(value[name], bool):
            yield value[name]
        for inner in value.values():
            yield from _under(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _under(inner, name)


def iso_date(text: str | None) -> str:
    """``20251121-101112`` or ``2025-11-21T10:11:12Z`` as ``2025-11-21``; empty without a date."""
    match = re.match(r"(\d{4})-?(\d\d)-?(\d\d)", text or "")
    if match is None:
        return ""
    try:
        return date(*(int(part) for part in match.groups())).isoformat()
    except ValueError:
        return ""
