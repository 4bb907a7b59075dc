"""Reads the JSON inputs of the Mélange and AIBrix solvers as tables of measured workers.

Source: input format of tyler-griggs/melange-release (``gpu_info``, ``workload_distribution``,
``total_request_rate``, ``slice_factor``) and its copy in vllm-project/aibrix, which adds ``max_count``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from planner.errors import Fault, InputError, input_error, nearest
from planner.schema.workers import WorkerRow, WorkerTable

LARGEST = Decimal(10) ** 12
"""Numbers above this are mistakes."""
MAX_FAULTS = 100
_JSON_KEYS = ("gpu_info", "workload_distribution", "total_request_rate", "slice_factor", "indexes")
_GPU_KEYS = ("name", "gpu", "cost", "tputs", "max_count", "indexes", "created", "slos", "e2e", "ttft", "tpot")


def parse_worker_json(name: str, text: str) -> WorkerTable:
    """The rows, buckets and rate of a solver input.

    ``slice_factor`` is read and has no effect: shares are continuous here.

    Raises:
        InputError: anything that is not such an input; all faults at once.
    """
    try:
        data = json.loads(
            text,
            parse_float=Decimal,
            parse_int=Decimal,
            parse_constant=_no_constant,
            object_pairs_hook=_no_twice,
        )
    except json.JSONDecodeError as problem:
        raise input_error(f"{name}:{problem.lineno}", "", problem.msg, "JSON") from problem
    except (ValueError, ArithmeticError, RecursionError) as problem:
        raise input_error(
            f"{name}:1", "", str(problem), "JSON with finite numbers and every key once"
        ) from problem
    if not isinstance(data, dict) or "gpu_info" not in data:
        raise input_error(
            f"{name}:1", "gpu_info", "no such key",
            "a solver input of Mélange or AIBrix (gpu_info, workload_distribution, total_request_rate)",
            "a CSV table of workers",
        )  # fmt: skip
    return _Json(name, text).table(data)


def _no_constant(word: str) -> Any:
    raise ValueError(f"the number {word}")


def _no_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise ValueError(f'the key "{twice}" twice')
    return dict(pairs)


class _Json:
    """One solver input; gathers all faults."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text
        self.faults: list[Fault] = []

    def where(self, key: str) -> str:
        """Line of the first mention of a key."""
        place = self.text.find(f'"{key}"')
        return f"{self.name}:{self.text.count(chr(10), 0, max(place, 0)) + 1}"

    def fault(self, key: str, found: str, expected: str, maybe: str = "") -> None:
        self.faults.append(Fault(self.where(key.rsplit(".", 1)[-1]), key, found, expected, maybe))

    def table(self, data: dict[str, Any]) -> WorkerTable:
        for key in data:
            if key not in _JSON_KEYS:
                self.fault(key, "an unknown key", f"one of {', '.join(_JSON_KEYS)}", nearest(key, _JSON_KEYS))
        rate = self.number(data.get("total_request_rate"), "total_request_rate")
        grid = self.matrix(data.get("workload_distribution"), "workload_distribution")
        devices = self.devices(data["gpu_info"])
        rows: list[WorkerRow] = []
        stock: dict[str, int] = {}
        for name, device in devices.items():
            rows.extend(self.device(name, device, grid))
            if device.get("max_count") is not None:
                limit = self.number(device["max_count"], "max_count")
                stock[name] = int(limit)
        total = sum((cell for line in grid for cell in line), Decimal(0))
        if not self.faults and (total <= 0 or rate <= 0):
            self.fault("workload_distribution", f"demand {rate} x {total}", "a demand above zero")
        if self.faults:
            raise InputError(self.faults[:MAX_FAULTS])
        shares = {
            _cell(i, j): Fraction(c) / Fraction(total)
            for i, line in enumerate(grid)
            for j, c in enumerate(line)
            if c
        }
        return WorkerTable(
            tuple(row for row in rows if row.bucket in shares), shares, Fraction(rate) * _total(total),
            stock, _notes(self.name, total),
        )  # fmt: skip

    def devices(self, value: Any) -> dict[str, dict[str, Any]]:
        """By name; older files hold a list of records with a name."""
        if isinstance(value, list):
            value = {
                str(item.get("name", place)) if isinstance(item, dict) else str(place): item
                for place, item in enumerate(value)
            }
        if not isinstance(value, dict) or not value:
            self.fault("gpu_info", "no GPUs", "a mapping of names to cost and tputs")
            return {}
        good = {}
        for name, device in value.items():
            if isinstance(device, dict):
                good[name] = device
                for key in device:
                    if key not in _GPU_KEYS:
                        self.fault(
                            f"gpu_info.{name}.{key}",
                            "an unknown key",
                            f"one of {', '.join(_GPU_KEYS)}",
                            nearest(key, _GPU_KEYS),
                        )
            else:
                self.fault(f"gpu_info.{name}", str(device)[:60], "a mapping with cost and tputs")
        return good

    def device(self, name: str, device: dict[str, Any], grid: list[list[Decimal]]) -> list[WorkerRow]:
        cost = self.number(device.get("cost"), f"gpu_info.{name}.cost")
        rates = self.matrix(device.get("tputs"), f"gpu_info.{name}.tputs")
        if grid and rates and [len(line) for line in rates] != [len(line) for line in grid]:
            self.fault(f"gpu_info.{name}.tputs", _shape(rates), f"{_shape(grid)}, as workload_distribution")
        where = self.where(name)
        return [
            WorkerRow(where, name, name, 1, rate, bucket=_cell(i, j), usd_per_hour=cost)
            for i, line in enumerate(rates)
            for j, rate in enumerate(line)
        ]

    def number(self, value: Any, key: str) -> Decimal:
        if isinstance(value, Decimal) and 0 <= value <= LARGEST:
            return value
        found = "nothing" if value is None else str(value)[:60]
        self.fault(key, found, f"a number from 0 to {LARGEST:f}")
        return Decimal(0)

    def matrix(self, value: Any, key: str) -> list[list[Decimal]]:
        if (
            not isinstance(value, list)
            or not value
            or not all(isinstance(line, list) and line for line in value)
        ):
            self.fault(key, "nothing" if value is None else str(value)[:60], "a list of rows of numbers")
            return []
        return [[self.number(cell, key) for cell in line] for line in value]


def _cell(row: int, column: int) -> str:
    return f"{row}-{column}"


def _shape(grid: Sequence[Sequence[object]]) -> str:
    return f"{len(grid)} rows of {len(grid[0])}"


def _total(total: Decimal) -> Fraction:
    """Sums within 1e-6 of 1 are rounding; any other sum scales the rate, as those solvers do."""
    return Fraction(1) if abs(total - 1) <= Decimal("1e-6") else Fraction(total)


def _notes(name: str, total: Decimal) -> tuple[str, ...]:
    if _total(total) == 1:
        return ()
    return (f"{name}: workload_distribution sums to {total}, not 1: demand = total_request_rate x that sum",)
