"""Start scripts for one server of a replica."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from planner.commands.shell import words
from planner.schema.exported import ExportFile
from planner.schema.launch import Argument, Deployment, Launch, Placeholder

_HEAD = ("#!/usr/bin/env bash", "set -euo pipefail", 'cd "$(dirname "$0")"')


def script(deployment: Deployment) -> ExportFile:
    """A script that becomes the engine; what only the server knows is read from its environment."""
    lines = [*_HEAD, *_needed(deployment.launch), *commands(deployment.launch)]
    text = "\n".join(lines) + "\n"
    return ExportFile(f"{deployment.name}.sh", text.encode(), executable=True)


def commands(launch: Launch) -> Iterator[str]:
    """Lines of a shell that has the variables of all placeholders: it becomes the engine."""
    yield from _exported(launch)
    if launch.other_argv:
        yield 'if [ "$SERVER_RANK" != 0 ]; then'
        yield f"  exec {words(launch.other_argv)}"
        yield "fi"
    yield f"exec {words(launch.argv)}"


def _needed(launch: Launch) -> Iterator[str]:
    """Variables: the own address is found out, the others have to be given."""
    used = _placeholders(launch)
    if "OWN_ADDRESS" in used:
        yield 'OWN_ADDRESS="${OWN_ADDRESS:-$(hostname -I | cut -d " " -f 1)}"'
    for name, meaning in (
        ("LEADER_ADDRESS", "address of the first server of the replica"),
        ("SERVER_RANK", "number of this server in the replica, from 0"),
    ):
        if name in used:
            yield f': "${{{name}:?{meaning}}}"'


def _exported(launch: Launch) -> Iterator[str]:
    for name, value in launch.environment.items():
        yield f"export {shlex.quote(name)}={words([value])}"


def _placeholders(launch: Launch) -> set[str]:
    items: list[Argument] = [*launch.argv, *launch.other_argv, *launch.environment.values()]
    return {item.variable for item in items if isinstance(item, Placeholder)}
