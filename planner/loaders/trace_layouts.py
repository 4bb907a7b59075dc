"""Layouts of traces: the published ones by the names of their columns, any other by a mapping."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from planner.errors import nearest
from planner.loaders.messages import show
from planner.schema.traces import TraceColumns

MAX_SECONDS = 1e10
KNOWN = (
    "a trace of a known layout: Azure CSV (TIMESTAMP, ContextTokens, GeneratedTokens), Mooncake JSON lines "
    "(timestamp, input_length, output_length), BurstGPT CSV (Timestamp, Request tokens, Response tokens), or "
    "lengths CSV (num_prefill_tokens, num_decode_tokens); of any other one the names of the columns"
)


@dataclass(frozen=True)
class Layout:
    """Names of the columns, and how the time reads."""

    time: str | None
    read_time: Callable[[Any], float]
    """Seconds from an origin that all rows share.

    Raises: ValueError, TypeError, OverflowError.
    """
    input: str
    output: str
    hashes: str | None = None
    times: str = "a time"
    """What messages expect in the column of the time."""
    priority: str | None = None

    @property
    def columns(self) -> set[str]:
        """Those that a file must have."""
        return {name for name in (self.time, self.input, self.output) if name is not None}


def clock(text: Any) -> float:
    """Seconds of a date and time; Azure writes seven decimals."""
    # A fixed origin without time zones: naive datetimes subtract exactly.
    found = datetime.fromisoformat(_six_decimals(str(text).strip()))
    naive = found if found.tzinfo is None else (found - (found.utcoffset() or found - found))
    return (naive.replace(tzinfo=None) - datetime(2000, 1, 1)).total_seconds()


def _six_decimals(text: str) -> str:
    """Digits of a second beyond the sixth cut off."""
    head, mark, tail = text.partition(".")
    if not mark:
        return text
    digits = len(tail) - len(tail.lstrip("0123456789"))
    return f"{head}.{tail[: min(digits, 6)]}{tail[digits:]}"


def _milliseconds(number: Any) -> float:
    return float(number) / 1000


AZURE = Layout("TIMESTAMP", clock, "ContextTokens", "GeneratedTokens")
MOONCAKE = Layout("timestamp", _milliseconds, "input_length", "output_length", "hash_ids")
BURSTGPT = Layout("Timestamp", float, "Request tokens", "Response tokens")
LENGTHS = Layout(None, float, "num_prefill_tokens", "num_decode_tokens")
CSV_LAYOUTS = (AZURE, BURSTGPT, LENGTHS)


def mapped(columns: TraceColumns) -> Layout:
    """The layout that a mapping of columns describes."""
    arrival = columns.arrival
    if arrival is None:
        return Layout(None, float, columns.input, columns.output, columns.hashes, priority=columns.priority)
    name, unit_s = arrival
    read, times = _Times(unit_s, plain=columns.time is not None), "seconds or a date"
    if columns.time is None:
        times = "a number"
    times = f"a time ({times})"
    return Layout(name, read, columns.input, columns.output, columns.hashes, times, columns.priority)


class _Times:
    """Numbers in one unit, or dates: what the first row has, all rows have."""

    def __init__(self, unit_s: float, *, plain: bool) -> None:
        self._unit_s, self._plain = unit_s, plain
        self._dates: bool | None = None

    def __call__(self, cell: Any) -> float:
        is_date = self._plain and isinstance(cell, str) and not _is_number(cell)
        if self._dates is None:
            self._dates = is_date
        if is_date != self._dates:
            raise ValueError("dates and numbers in one column")
        return clock(cell) if is_date else float(cell) * self._unit_s


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def suggestion(names: Collection[str]) -> str:
    """A mapping for columns of other names, as far as their names tell what they hold."""
    found = {}
    for key, hints in _HINTS.items():
        near = _near(names, hints)
        if near:
            found[key] = near
    if "input" not in found or "output" not in found:
        return ""
    pairs = ",".join(f"{key}={name}" for key, name in found.items())
    return f"--columns {show(pairs)}, in a problem trace: {{file, columns}}"


_HINTS = {
    "time": ("timestamp", "time", "ts", "arrival", "arrived_at", "created_at", "start_time"),
    "input": ("prompt_tokens", "input_tokens", "input_len", "prompt_len", "isl", "context_tokens"),
    "output": ("completion_tokens", "output_tokens", "output_len", "generated_tokens", "response_len", "osl"),
}


def _near(names: Collection[str], hints: Sequence[str]) -> str:
    by_form = {name.strip().lower().replace(" ", "_"): name for name in names}
    exact = next((by_form[hint] for hint in hints if hint in by_form), "")
    if exact:
        return exact
    close = (nearest(hint, list(by_form), 0.8) for hint in hints)
    return next((by_form[found.strip('"')] for found in close if found), "")
