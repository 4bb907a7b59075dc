"""Command lines against the options that a version of an engine takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.schema.engine_options import EngineOptions
from planner.schema.launch import Argument, Launch


def unknown_to(options: EngineOptions, launch: Launch, engine: str) -> Iterator[str]:
    """What of the command lines of a replica this version does not take, a sentence each."""
    version = f"{engine} {options.version}"
    for argv in (launch.argv, launch.other_argv):
        yield from _argv(options, argv, version)
    for key in _keys(launch.config):
        if key not in options.config:
            yield f"{version} has no key {key} in its configuration file."


def _argv(options: EngineOptions, argv: tuple[Argument, ...], version: str) -> Iterator[str]:
    for place, item in enumerate(argv):
        if not isinstance(item, str) or not item.startswith("--"):
            continue
        option = options.by_name.get(item)
        if option is None:
            yield f"{version} has no option {item}."
            continue
        value = argv[place + 1] if place + 1 < len(argv) else None
        bare = value is None or (isinstance(value, str) and value.startswith("--"))
        if (option.takes == "nothing") != bare:
            yield f"{version} takes {'no' if option.takes == 'nothing' else 'a'} value with {item}."
        elif not bare and option.choices and value not in option.choices:
            yield f"{version} takes {', '.join(option.choices)} for {item}, not {value}."


def _keys(values: Mapping[str, Any], before: str = "") -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _keys(value, f"{before}{key}.")
        else:
            yield f"{before}{key}"
