"""Reads the JSON files of the Mélange and AIBrix solvers as tables of measured workers.

Source: input format of tyler-griggs/melange-release (``gpu_info``, ``workload_distribution``,
``total_request_rate``, ``slice_factor``) and its copy in vllm-project/aibrix, which adds ``max_count``; and
the profile of one GPU that AIBrix's ``gen_profile.py`` writes (``gpu``, ``cost``, ``tputs``, ``indexes`` with
output tokens by row and input tokens by column, ``ttft`` in seconds).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

from planner.errors import Fault, InputError, input_error, nearest
from planner.loaders.json_source import kind_of, read_json
from planner.loaders.messages import show
from planner.schema.workers import WorkerRow, WorkerTable

LARGEST = Decimal(10) ** 12
"""Numbers above this are mistakes."""
SMALLEST, MOST_DIGITS = Decimal(10) ** -30, 60
MAX_FAULTS = 100
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
_JSON_KEYS = ("gpu_info", "workload_distribution", "total_request_rate", "slice_factor", "indexes")
_GPU_KEYS = (
    "name", "gpu", "cost", "tputs", "max_count", "indexes", "created", "slos", "e2e", "ttft", "tpot",
)  # fmt: skip
_FORMS = (
    "a solver input of Mélange or AIBrix (gpu_info, workload_distribution, total_request_rate), a profile "
    "of one GPU by AIBrix (gpu, cost, tputs), or a list of such profiles"
)
_MS = 1000


def parse_worker_json(name: str, text: str) -> WorkerTable:
    """The rows of one file; of a solver input with its buckets and rate.

    ``slice_factor`` is read and has no effect: shares are continuous here.

    Raises:
        InputError: anything that is no such file; all faults at once.
    """
    found = read_json(text, name, "JSON with finite numbers and every key once", exact=True)
    data, reading = found.value, _Json(name, text)
    if isinstance(data, dict) and "gpu_info" in data:
        reading.faults += found.faults
        return reading.solver_input(data)
    profiles = data if isinstance(data, list) else [data]
    if not profiles or not all(isinstance(one, dict) and "tputs" in one for one in profiles):
        # Nothing of what it holds: it may be any file.
        kind = f"{kind_of(data)} of another kind"
        raise input_error(f"{name}:1", "", kind, _FORMS, "a CSV table of workers")
    reading.faults += found.faults
    return reading.profiles(profiles)


class _Json:
    """One file; gathers all faults."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text
        self.faults: list[Fault] = []

    @cached_property
    def lines(self) -> dict[str, list[int]]:
        """Lines of every text, downwards."""
        lines: dict[str, list[int]] = {}
        line, place = 1, 0
        for match in _TEXT.finditer(self.text):
            line += self.text.count("\n", place, match.start())
            place = match.start()
            lines.setdefault(match[1], []).append(line)
        return lines

    def where(self, key: str) -> str:
        """Line of a key: each of its parts is the first mention after the part before."""
        line = 1
        for part in key.partition("[")[0].split("."):
            line = next((number for number in self.lines.get(part, ()) if number >= line), line)
        return f"{self.name}:{line}"

    def fault(self, key: str, found: str, expected: str, maybe: str = "") -> None:
        self.faults.append(Fault(self.where(key), key, found, expected, maybe))
        if len(self.faults) >= MAX_FAULTS:
            raise InputError(self.faults)

    # -- a solver's input -------------------------------------------------------------------------------

    def solver_input(self, data: Mapping[str, Any]) -> WorkerTable:
        self.keys("", data, _JSON_KEYS)
        rate = self.number(data.get("total_request_rate"), "total_request_rate")
        grid = self.matrix(data.get("workload_distribution"), "workload_distribution")
        devices = self.devices(data["gpu_info"])
        rows = [row for name, device in devices.items() for row in self.device(name, device, grid)]
        stock = self.stock({f"gpu_info.{name}": (name, device) for name, device in devices.items()})
        total = sum((cell for line in grid for cell in line), Decimal(0))
        if not self.faults and (total <= 0 or rate <= 0):
            self.fault("workload_distribution", f"demand {rate} x {total}", "a demand above zero")
        if self.faults:
            raise InputError(self.faults)
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
                self.keys(f"gpu_info.{name}.", device, _GPU_KEYS)
            else:
                self.fault(f"gpu_info.{name}", show(device), "a mapping with cost and tputs")
        return good

    def device(self, name: str, device: Mapping[str, Any], grid: list[list[Decimal]]) -> list[WorkerRow]:
        cost = self.number(device.get("cost"), f"gpu_info.{name}.cost")
        rates = self.matrix(device.get("tputs"), f"gpu_info.{name}.tputs")
        self.shaped(f"gpu_info.{name}.tputs", rates, grid, "workload_distribution")
        where = self.where(f"gpu_info.{name}")
        return [
            WorkerRow(where, name, name, 1, rate, bucket=_cell(i, j), usd_per_hour=cost)
            for i, line in enumerate(rates)
            for j, rate in enumerate(line)
        ]

    # -- profiles ---------------------------------------------------------------------------------------

    def profiles(self, profiles: Sequence[Mapping[str, Any]]) -> WorkerTable:
        rows: list[WorkerRow] = []
        named: dict[str, tuple[str, Mapping[str, Any]]] = {}
        notes: list[str] = []
        for profile in profiles:
            gpu = profile.get("gpu")
            if not isinstance(gpu, str) or not gpu.strip():
                self.fault("gpu", show(gpu), "the name of the GPU")
                continue
            if gpu in named:
                self.fault(gpu, f'"{gpu}" again', "every GPU once")
                continue
            named[gpu] = (gpu, profile)
            self.keys(f"{gpu}.", profile, _GPU_KEYS)
            rows += self.profile(gpu, profile)
            notes += self.measured_under(gpu, profile.get("slos"))
        stock = self.stock(named)
        if self.faults:
            raise InputError(self.faults)
        return WorkerTable(tuple(rows), stock_gpus=stock, notes=tuple(notes))

    def profile(self, gpu: str, profile: Mapping[str, Any]) -> Iterator[WorkerRow]:
        cost = self.number(profile.get("cost"), f"{gpu}.cost")
        rates = self.matrix(profile.get("tputs"), f"{gpu}.tputs")
        names = self.cells(gpu, profile.get("indexes"), rates)
        ttft: list[list[Decimal]] = []
        if profile.get("ttft") is not None:
            ttft = self.matrix(profile["ttft"], f"{gpu}.ttft")
            self.shaped(f"{gpu}.ttft", ttft, rates, "tputs")
        where = self.where(gpu)
        for i, line in enumerate(rates):
            for j, rate in enumerate(line):
                known = ttft[i][j] if not self.faults and ttft and rate else None
                yield WorkerRow(
                    where, gpu, gpu, 1, rate, bucket=names(i, j), usd_per_hour=cost,
                    ttft_ms=None if known is None else known * _MS,
                )  # fmt: skip

    def cells(self, gpu: str, indexes: Any, rates: Sequence[Sequence[Decimal]]) -> Any:
        """The name of a cell: ``in512-out128`` where the tokens are stated, else row and column."""
        if indexes is None:
            return _cell
        ticks = self.matrix(indexes, f"{gpu}.indexes")
        shape = [len(rates), len(rates[0])] if rates else []
        if ticks and [len(line) for line in ticks] != shape:
            self.fault(
                f"{gpu}.indexes", f"lists of {' and '.join(str(len(line)) for line in ticks)}",
                f"output tokens for {len(rates)} rows and input tokens for the columns of tputs",
            )  # fmt: skip
        if self.faults:
            return _cell
        return lambda i, j: f"in{_plain(ticks[1][j])}-out{_plain(ticks[0][i])}"

    def measured_under(self, gpu: str, slos: Any) -> Iterator[str]:
        """What the rates of a profile keep, in words."""
        if isinstance(slos, dict):
            limits = [f"{key} {value}" for key, value in slos.items() if key != "percentile"]
            at = slos.get("percentile")
            if limits:
                kind = f" at P{at}" if isinstance(at, int | Decimal) and at else ""
                yield f"{self.name}: the rates of {gpu} were measured to keep {', '.join(limits)}{kind}"

    # -- values -----------------------------------------------------------------------------------------

    def keys(self, inside: str, found: Mapping[str, Any], known: Sequence[str]) -> None:
        for key in found:
            if key not in known:
                self.fault(
                    f"{inside}{key}", "an unknown key", f"one of {', '.join(known)}", nearest(key, known)
                )

    def stock(self, devices: Mapping[str, tuple[str, Mapping[str, Any]]]) -> dict[str, int]:
        """GPUs at most, by name."""
        found = {}
        for inside, (name, device) in devices.items():
            if device.get("max_count") is not None:
                limit = self.number(device["max_count"], f"{inside}.max_count", whole=True)
                found[name] = int(limit)
        return found

    def number(self, value: Any, key: str, *, whole: bool = False) -> Decimal:
        if isinstance(value, int | Decimal) and not isinstance(value, bool):
            exact = Decimal(value)
            if _fine(exact) and not (whole and exact % 1):
                return exact
        self.fault(key, show(value), f"a {'whole ' if whole else ''}number from 0 to {LARGEST:f}")
        return Decimal(0)

    def matrix(self, value: Any, key: str) -> list[list[Decimal]]:
        if (
            not isinstance(value, list)
            or not value
            or not all(isinstance(line, list) and line for line in value)
        ):
            self.fault(key, show(value), "a list of rows of numbers")
            return []
        return [
            [self.number(cell, f"{key}[{i}][{j}]") for j, cell in enumerate(line)]
            for i, line in enumerate(value)
        ]

    def shaped(
        self, key: str, grid: Sequence[Sequence[object]], like: Sequence[Sequence[object]], what: str
    ) -> None:
        if grid and like and [len(line) for line in grid] != [len(line) for line in like]:
            self.fault(key, _shape(grid), f"{_shape(like)}, as {what}")


def _fine(value: Decimal) -> bool:
    """Zero, or a number whose exact fraction is no larger than its use."""
    return not value or (SMALLEST <= value <= LARGEST and len(value.as_tuple().digits) <= MOST_DIGITS)


def _cell(row: int, column: int) -> str:
    return f"{row}-{column}"


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}"


def _shape(grid: Sequence[Sequence[object]]) -> str:
    lengths = sorted({len(line) for line in grid})
    return f"{len(grid)} rows of {' or '.join(map(str, lengths))}"


def _total(total: Decimal) -> Fraction:
    """Sums within 1e-6 of 1 are rounding; any other sum scales the rate, as those solvers do."""
    return Fraction(1) if abs(total - 1) <= Decimal("1e-6") else Fraction(total)


def _notes(name: str, total: Decimal) -> tuple[str, ...]:
    if _total(total) == 1:
        return ()
    return (f"{name}: workload_distribution sums to {total}, not 1: demand = total_request_rate x that sum",)
