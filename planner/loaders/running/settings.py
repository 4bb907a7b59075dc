"""Command lines of engines as observed settings: the flags that are there, and what their absence means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from planner.characters import spelled
from planner.errors import input_error
from planner.loaders.messages import show
from planner.loaders.running.files import EXPECTED, read_running
from planner.loaders.running.layouts import configuration, engine_of, json_object, layout_of
from planner.loaders.running.options import Parsed, parsed
from planner.loaders.running.shell import commands
from planner.schema.engine_options import EngineOptions, EngineSetting
from planner.schema.observation import Observation
from planner.schema.readings import Note, Reading, Readout
from planner.schema.running import Started

WHERE = "--engine-args"
_LONGEST = 200
_LAYOUT = {
    "tp": "tp",
    "pp": "pp",
    "ep": "ep",
    "attention_dp": "attention_dp",
    "servers": "servers_per_replica",
}
"""Part of a layout -> field of the observation: degrees are counted as `planner today` counts them."""


def read_settings(given: str, tables: Mapping[str, EngineOptions], gpu_keys: Sequence[str]) -> Readout:
    """The settings that a command line, or a file of command lines or manifests, gives an engine.

    Of several servers a setting counts where all that state it agree.

    Args:
        given: a command line, or the name of a file, ``-`` for standard input.
        tables: what engines take, by engine.
        gpu_keys: names under which platforms count accelerators.

    Raises:
        InputError: a file that cannot be read; text that starts no engine.
    """
    servers, unread = _started(given, gpu_keys)
    found = _Found()
    engines: dict[str, None] = {}
    for server in servers:
        engine, words = engine_of(server.words, server.image) or ("vllm", server.words)
        engines[f"{engine}-command"] = None
        found.take({"engine": engine}, server.source)
        found.take(_of(server, engine, words, tables, unread), server.source)
    notes = [*found.notes, *(Note("missing", f"not read: {text}") for text in dict.fromkeys(unread))]
    names = [name for name in Observation.model_fields if name in found.values]
    observation = Observation.model_validate({name: found.values[name] for name in names})
    readings = {
        name: Reading.exactly(float(value))
        for name in names
        if isinstance(value := getattr(observation, name), int | float) and not isinstance(value, bool)
    }
    return Readout(observation, readings, tuple(notes), tuple(engines))


def _started(given: str, gpu_keys: Sequence[str]) -> tuple[list[Started], list[str]]:
    """Servers of a file where there is one by this name, else of the text itself."""
    found = [
        Started(name="", source=WHERE, words=one.words)
        for one in commands(given)
        if engine_of(one.words) is not None
    ]
    if found:
        return found, []
    if given == "-" or _is_file(given):
        return read_running([Path(given)], gpu_keys)
    expected = f"a command line such as vllm serve MODEL --max-num-seqs 256, or a file of {EXPECTED}"
    raise input_error(WHERE, "", show(given), expected)


def _is_file(name: str) -> bool:
    try:
        return bool(name.strip()) and Path(name).exists()
    except (OSError, ValueError):
        return False


def _of(
    server: Started, engine: str, words: Sequence[str], tables: Mapping[str, EngineOptions], unread: list[str]
) -> dict[str, Any]:
    """The settings of one server."""
    table = tables[engine]
    layout = layout_of(server, engine, words, tables)
    unread += [f"{server.source}: {note}" for note in layout.unread]
    options = parsed(words, table, table.earlier)
    config = configuration(server, options) or {}
    values: dict[str, Any] = {}
    for name, places in table.settings.items():
        for place in places:
            value = _setting(place, options, table, config)
            if value is not None:
                values[name] = value
                break
    for part, name in _LAYOUT.items():
        if (degree := getattr(layout, part)) is not None and (name in values or degree != 1):
            values[name] = degree
    if layout.model is not None:
        values["model"] = spelled(layout.model)[:_LONGEST]
    if layout.role is not None:
        values["mode"] = "disaggregated"
    return values


def _setting(place: EngineSetting, options: Parsed, table: EngineOptions, config: Mapping[str, Any]) -> Any:
    """What one place says; None: nothing."""
    if place.config:
        text = _inside(config, place.config)
    else:
        every = {name: one for one in (*table.options, *table.earlier) for name in one.names}
        option = every[place.option]
        text = options.values.get(option.names[0])
        if text is None:
            return place.absent
        if option.takes == "nothing":
            is_on = options.is_on(option.names[0])
            return (not place.on if isinstance(place.on, bool) else None) if not is_on else place.on
        if place.key:
            text = _inside(json_object(text), place.key)
    if text is None:
        return place.absent
    if place.words:
        return place.words.get(str(text).strip("'\""), None)
    if place.present is not None:
        return place.present
    return _number(text, place.scale)


def _number(text: Any, scale: float) -> Any:
    """A number in the unit of the observation, with k and m as engines take them; other text as it is."""
    if isinstance(text, bool):
        return text
    word = str(text).strip()
    if word.lower() in ("", "auto", "none", "null"):
        return None
    if word.lower() in ("true", "false"):
        return word.lower() == "true"
    factor = {"k": 1e3, "K": 1024.0, "m": 1e6, "M": 1024.0**2, "g": 1e9, "G": 1024.0**3}.get(word[-1:], 1.0)
    try:
        return float(word[:-1] if factor != 1 else word) * factor * scale
    except ValueError:
        return word[:80]


def _inside(value: Any, path: str) -> Any:
    for key in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


@dataclass
class _Found:
    """Settings of all servers."""

    values: dict[str, Any] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    differ: set[str] = field(default_factory=set)

    def take(self, values: Mapping[str, Any], source: str) -> None:
        """Those of one more server; where two differ nothing is known."""
        for name, value in values.items():
            if name in self.differ:
                continue
            try:
                Observation.model_validate({name: value})
            except ValidationError:
                self.notes.append(Note("mixed", f"{show(str(value))} in {source} cannot be", name))
                continue
            if name in self.values and self.values[name] != value:
                said = (
                    f"servers differ: {show(str(self.values.pop(name)))} and {show(str(value))} in {source}"
                )
                self.notes.append(Note("mixed", said, name))
                self.differ.add(name)
            else:
                self.values[name] = value
