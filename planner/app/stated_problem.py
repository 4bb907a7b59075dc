"""A problem in a few flags: the problem file that they stand for, and where each of its keys comes from."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from planner.errors import Fault, InputError
from planner.loaders.catalog import load_catalog
from planner.loaders.places import Key, dotted
from planner.loaders.write import commented_yaml
from planner.loaders.yaml_source import Document, parse_document
from planner.numbers import tokens_of
from planner.schema.slo import METRICS, STATISTICS

DEMANDS = ("rps", "concurrency", "users", "requests_per_day", "tokens_per_day")
"""Flags of which one is needed."""
PERCENTILE = "p95"
"""Of a limit that names none."""
SHAPE = "office"
"""Of a day whose hours nobody states."""
_NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?\Z")
_FACTORS = {"k": 10**3, "K": 10**3, "M": 10**6, "B": 10**9}
_NAME = re.compile(r"[/:\s]+")
_IN_DEMAND = {"rps": "peak_rps"} | {
    name: name
    for name in ("concurrency", "users", "think_time", "requests_per_day", "tokens_per_day", "shape")
}


@dataclass(frozen=True)
class Spelling:
    """How messages write what somebody stated."""

    name: Callable[[str], str]
    example: Callable[[str, object], str]


FLAGS = Spelling(lambda name: _flag(name), lambda name, value: f"{_flag(name)} {value}")
"""As on a command line."""


@dataclass(frozen=True)
class StatedProblem:
    """A problem that flags stand for."""

    values: Mapping[str, Any]
    """What its file says."""
    notes: Mapping[Key, str]
    """What flags leave open and the file settles, by path."""
    flags: Mapping[str, str]
    """Flag by dotted path of what it states."""
    command: str
    """What messages call it."""
    folder: Path
    """Where its file lies, or would."""

    @property
    def text(self) -> str:
        """Its file."""
        return commented_yaml(self.values, self.notes)

    def document(self) -> Document:
        """The file as if it had been read; it has no lines that anybody wrote."""
        read = parse_document(self.text.encode(), self.command)
        return Document(self.command, b"", read.value)

    def by_flag(self, problems: InputError) -> InputError:
        """What is wrong with the problem, told by the flags that say so."""
        return InputError(replace(fault, key=self._flag(fault.key)) for fault in problems.faults)

    def _flag(self, key: str) -> str:
        inside = [path for path in self.flags if key == path or key.startswith(f"{path}.")]
        return self.flags[max(inside, key=len)] if inside else key


class _Reader:
    """Puts flags into the places of a problem file, and gathers what is wrong with them."""

    def __init__(self, command: str, stated: Mapping[str, Any], spelling: Spelling) -> None:
        self.command, self.stated = command, stated
        self.name, self.example = spelling.name, spelling.example
        self.faults: list[Fault] = []
        self.places: dict[Key, str] = {}
        self.notes: dict[Key, str] = {}

    def refuse(self, name: str, found: str, expected: str, maybe: str = "") -> None:
        self.faults.append(Fault(self.command, self.name(name), found, expected, maybe))

    def put(self, holder: dict[str, Any], key: str, path: Key, name: str, value: Any) -> None:
        holder[key] = value
        self.places[(*path, key)] = self.name(name)

    def workload(self, name: str) -> dict[str, Any]:
        at: Key = ("workloads", 0)
        found: dict[str, Any] = {"name": name}
        for key in ("model", "archetype", "prefix_cache_hit"):
            if key in self.stated:
                self.put(found, key, at, key, self.stated[key])
        found["demand"] = self._demand((*at, "demand"))
        if lengths := self._lengths((*at, "lengths")):
            found["lengths"] = lengths
        if slo := self._slo((*at, "slo")):
            found["slo"] = slo
        precision: dict[str, Any] = {}
        for key in ("weights", "kv"):
            if key in self.stated:
                self.put(precision, key, (*at, "precision"), key, _words(self.stated[key]))
        if precision:
            found["precision"] = precision
        if "engine" in self.stated:
            engines = _words(self.stated["engine"])
            self.put(found, "engine", at, "engine", engines[0] if len(engines) == 1 else engines)
        return found

    def golden(self, values: dict[str, Any]) -> None:
        """The safe batch and cache of an archetype, where flags do not say otherwise."""
        named = str(self.stated.get("archetype", ""))
        found = load_catalog(()).archetype(named) if named else None
        if found is None:
            if not named:
                expected, hint = f"{self.name('archetype')} and its name", self.example("archetype", "chat")
                self.refuse("golden", "no archetype", expected, f'"{hint}"')
            return
        self.put(values, "search", (), "golden", {"max_batch": list(found.batch)})
        self.notes[("search", "max_batch")] = f"golden default of {found.id}: {found.goal}"
        precision = values["workloads"][0].setdefault("precision", {})
        precision.setdefault("kv", list(found.kv))

    def _demand(self, at: Key) -> dict[str, Any]:
        given = [name for name in DEMANDS if name in self.stated]
        if len(given) > 1:
            both = " and ".join(map(self.name, given))
            self.refuse(given[1], f"{both} together", f"one of {', '.join(map(self.name, DEMANDS))}")
        if not given:
            found = "no demand"
            self.refuse(
                "rps", found, f"one of {', '.join(map(self.name, DEMANDS))}", f'"{self.example("rps", 5)}"'
            )
        demand: dict[str, Any] = {}
        for name, key in _IN_DEMAND.items():
            if name in self.stated:
                self.put(demand, key, at, name, _amount(self.stated[name]))
        if given and given[0].endswith("_per_day") and "shape" not in self.stated:
            demand["shape"] = SHAPE
            self.notes[(*at, "shape")] = f"{self.name('shape')} is not given"
        return demand

    def _lengths(self, at: Key) -> dict[str, Any]:
        lengths: dict[str, Any] = {}
        for name, side in (("isl", "input"), ("osl", "output")):
            if name in self.stated:
                lengths[side] = {}
                self.put(lengths[side], "fixed", (*at, side), name, tokens_of(_plain(self.stated[name])))
            elif "archetype" not in self.stated or lengths or "osl" in self.stated:
                expected = (
                    f"tokens of the {'request' if side == 'input' else 'answer'}, or {self.name('archetype')}"
                )
                self.refuse(
                    name, "nothing", expected, f'"{self.example(name, 800 if side == "input" else 300)}"'
                )
        return lengths

    def _slo(self, at: Key) -> dict[str, Any]:
        slo: dict[str, Any] = {}
        for metric in METRICS:
            if metric in self.stated:
                key = f"{metric}_{PERCENTILE}"
                self.put(slo, key, at, metric, self.stated[metric])
                self.notes[(*at, key)] = f"{self.name(metric)} names no percentile: {PERCENTILE.upper()}"
            for name in (f"{metric}_{statistic}" for statistic in STATISTICS):
                if name in self.stated and name in slo:
                    self.refuse(name, f"{self.name(metric)}, which is {self.name(name)} too", "one of them")
                elif name in self.stated:
                    self.put(slo, name, at, name, self.stated[name])
        return slo

    def fleet(self) -> dict[str, Any]:
        fleet: dict[str, Any] = {}
        gpus = self._counts("gpu")
        if gpus:
            self.put(fleet, "accelerators", ("fleet",), "gpu", list(gpus))
            if stock := {gpu: count for gpu, count in gpus.items() if count is not None}:
                self.put(fleet, "stock", ("fleet",), "gpu", stock)
        if owned := self._counts("owned"):
            self.put(fleet, "owned", ("fleet",), "owned", owned)
        if "budget" in self.stated:
            self.put(fleet, "budget", ("fleet",), "budget", self.stated["budget"])
        return fleet

    def _counts(self, name: str) -> dict[str, Any]:
        """``G=N`` by G; None where only G is given."""
        found: dict[str, Any] = {}
        for text in (word for part in self.stated.get(name, ()) for word in _words(part)):
            gpu, mark, count = (part.strip() for part in text.partition("="))
            wrong = not gpu or (not count.isdecimal() if mark else name == "owned")
            if wrong or len(count) > 9:
                expected = f"GPU{'' if name == 'owned' else ' or GPU'}=how many"
                self.refuse(name, f'"{text}"', expected, f'"{gpu or "h100"}=16"')
            elif gpu in found:
                self.refuse(name, f'"{text}", {gpu} a second time', "each GPU once")
            else:
                found[gpu] = int(count) if mark else None
        return found


def stated_problem(
    command: str, stated: Mapping[str, Any], target: Path | None = None, spelling: Spelling = FLAGS
) -> StatedProblem:
    """The problem file that flags stand for.

    Args:
        command: what messages call the command line.
        stated: flags by name, with underscores, as they were typed.
        target: where the file will lie; paths of models are written as seen from there.
        spelling: of the flags in messages.

    Raises:
        InputError: every flag whose form is wrong, or that is missing; what they say is checked later.
    """
    if target is not None and "model" in stated:
        stated = {**stated, "model": _seen_from(target, str(stated["model"]))}
    reader = _Reader(command, stated, spelling)
    if "model" not in stated:
        hint = f'"{spelling.example("model", "Qwen/Qwen3-32B")}"'
        reader.refuse("model", "nothing", "a model's id or path", hint)
    name = str(stated.get("name") or _name_of(str(stated.get("model", ""))))
    values: dict[str, Any] = {"name": name, "workloads": [reader.workload(name)]}
    if "name" in stated:
        reader.places[("name",)] = reader.places[("workloads", 0, "name")] = spelling.name("name")
    if fleet := reader.fleet():
        values["fleet"] = fleet
    if "golden" in stated:
        reader.golden(values)
    if reader.faults:
        raise InputError(reader.faults)
    flags = {dotted(values, path): flag for path, flag in reader.places.items()}
    return StatedProblem(values, reader.notes, flags, command, (target or Path("problem.yaml")).parent)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _words(text: str) -> list[str]:
    return [word for part in text.split(",") if (word := part.strip())]


def _plain(text: str) -> Any:
    """A number where the text is one."""
    word = text.strip().replace(",", "")
    if not _NUMBER.match(word) or len(word) > 40:
        return text
    return Decimal(word) if "." in word else int(word)


def _amount(text: str) -> Any:
    """A number, with k, M or B behind it for thousands, millions and billions."""
    factor = _FACTORS.get(text.strip()[-1:])
    number = _plain(text.strip()[:-1]) if factor else None
    if factor is None or not isinstance(number, int | Decimal):
        return _plain(text)
    product = number * factor
    return int(product) if product == int(product) else product


def _name_of(model: str) -> str:
    """``Qwen/Qwen3-32B`` as ``qwen3-32b``."""
    last = model.rstrip("/").rpartition("/")[2].removesuffix(".json").lower()
    return _NAME.sub("-", last).strip("-.")[:60] or "problem"


def _seen_from(target: Path, model: str) -> str:
    """A path of a model as seen from the folder of the file; ids stay."""
    here = Path(model).expanduser()
    try:
        if here.is_absolute() or not here.exists():
            return model
        return os.path.relpath(here, target.parent)
    except (OSError, ValueError):
        return model
