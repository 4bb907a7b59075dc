"""Series turned into an observation, by the rules of the exporters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import ValidationError

from planner.characters import spelled
from planner.loaders.board import Board
from planner.loaders.takes import TAKES, Taken, Taking
from planner.schema.exporter import Exporter, Rule
from planner.schema.observation import Observation
from planner.schema.readings import Note, NoteKind, Reading, Readout, Series

_MODEL = "model_name"
_ASKED_FOR = frozenset(Observation.__annotations__)
"""Values whose absence is told; of the many others only what is there."""
_LONGEST = 200
_CLOSE = 1e-6
"""Sums of shares may pass 1 by rounding."""


def read_out(exporters: Sequence[Exporter], series: Iterable[Series], notes: Iterable[Note] = ()) -> Readout:
    """The observation in these series, with intervals and notes; what nobody exports stays unknown.

    Args:
        exporters: By order: of several that give one value the first is believed.
        series: Of all servers.
        notes: Found before, on how the series came.
    """
    read = _Reading(list(notes))
    everything = tuple(series)
    boards = [Board(exporter, everything) for exporter in exporters]
    present = [board for board in boards if board.found]
    if all(board.exporter.beside for board in present):
        present = []
    for board in present:
        for old, version in board.old_names():
            read.note("sources", f"{old} is a name from before {board.exporter.name} of version {version}")
        for name, rules in board.exporter.readings.items():
            read.take(board, name, rules)
    if not present:
        names = ", ".join(exporter.name for exporter in exporters)
        read.note("missing", f"no series of a known exporter ({names}) is there")
    engines = {board.exporter.engine for board in present} - {None}
    if len(engines) == 1 and read.values:
        read.values["engine"] = engines.pop()
    vendors = {board.exporter.vendor for board in present} - {None}
    if len(vendors) == 1 and read.values:
        read.values["gpu_vendor"] = vendors.pop()
    models = sorted(
        {one.labels[_MODEL] for board in present for one in board.all() if one.labels.get(_MODEL)}
    )
    if len(models) == 1 and read.values:
        read.values["model"] = spelled(models[0])[:_LONGEST]
    if len(models) > 1:
        read.note("mixed", f"the models {', '.join(models)} are read as one; choose with a selector")
    return read.out(tuple(board.exporter.id for board in present))


class _Reading:
    """What was read so far."""

    def __init__(self, notes: list[Note]) -> None:
        self.values: dict[str, Any] = {}
        self.readings: dict[str, Reading] = {}
        self.notes = notes
        self.by: dict[str, Exporter] = {}

    def note(self, kind: NoteKind, text: str, metric: str = "") -> None:
        self.notes.append(Note(kind, text, metric))

    def take(self, board: Board, name: str, rules: Sequence[Rule]) -> None:
        """Read one value by the first rule that gives one."""
        if name in self.by:
            if any(board.has(key) for rule in rules for key in rule.of):
                self.note("mixed", f"read from {self.by[name].name}, not from {board.exporter.name}", name)
            return
        reasons: list[Note] = []
        seen = False
        for rule in rules:
            if not all(board.has(key) for key in rule.to) or not any(board.has(key) for key in rule.of):
                continue
            seen = True
            taking = Taking(board, rule, name)
            if self._keep(taking, TAKES[rule.take](taking)):
                self.by[name] = board.exporter
                self.notes += taking.notes
                return
            reasons += taking.notes
        if not seen and name in _ASKED_FOR:
            wire = " or ".join(dict.fromkeys(board.shown(rule.of[0]) for rule in rules))
            reasons.append(Note("missing", f"no {wire}", name))
        self.notes += reasons

    def _keep(self, taking: Taking, taken: Taken) -> bool:
        """Put a value into the observation, if it can be one."""
        if taken is None:
            return False
        name = taking.name
        value = taken.value if isinstance(taken, Reading) else taken
        if isinstance(value, float) and name.endswith("_ratio") and 1 < value <= 1 + _CLOSE:
            value = 1.0
        try:
            Observation.model_validate({name: value})
        except ValidationError:
            taking.say("mixed", f"{value} cannot be, so it counts as unknown")
            return False
        self.values[name] = value
        if isinstance(taken, Reading):
            self.readings[name] = Reading(
                float(value), min(taken.low, float(value)), max(taken.high, float(value))
            )
        return True

    def out(self, exporters: tuple[str, ...]) -> Readout:
        fields = [name for name in Observation.model_fields if name in self.values]
        observation = Observation.model_validate({name: self.values[name] for name in fields})
        readings = {name: self.readings[name] for name in fields if name in self.readings}
        return Readout(observation, readings, tuple(dict.fromkeys(self.notes)), exporters)
