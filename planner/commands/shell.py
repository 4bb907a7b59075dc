"""Command lines as text that a shell reads back as the same arguments."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from planner.schema.launch import Argument, Launch, Placeholder


def words(argv: Iterable[Argument]) -> str:
    """Arguments as one line; values that only the server knows are variables of the shell."""
    return " ".join(_word(item) for item in argv)


def command_line(launch: Launch) -> str:
    """The command of the first server of a replica with its environment, as one line."""
    return " ".join(
        [*(f"{name}={_word(value)}" for name, value in launch.environment.items()), words(launch.argv)]
    )


def json_argument(values: Mapping[str, Any]) -> str:
    """An argument that holds JSON, without spaces."""
    return json.dumps(values, separators=(",", ":"))


def _word(item: Argument) -> str:
    if isinstance(item, Placeholder):
        # Without a value the shell stops here, not the engine somewhere later.
        return f'"${{{item.variable}:?}}{item.ending}"'
    return shlex.quote(item)
