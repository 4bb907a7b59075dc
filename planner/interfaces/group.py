"""Groups that answer an unknown name in the house's words; commands that keep what they read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from typer import Typer
from typer.core import TyperCommand, TyperGroup

from planner.errors import InputError, input_error
from planner.interfaces.faults import choice_fault

_WRITTEN = ("out", "save", "svg", "docs", "calibration_out")
"""Parameters that name a file to be written, by the name of their argument."""
_TEXTS = ("more", "model", "engine_args", "compare")
"""Those that are texts, and may name a file to be read; other texts are no files."""


class HouseGroup(TyperGroup):
    """Commands in the order in which they were written; an unknown one gets the nearest known name."""

    _asked: tuple[Any, Any] = (None, None)
    """Name and command of this line."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the first argument names.

        Raises:
            InputError: there is none of that name.
        """
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            raise choice_fault(ctx.command_path, "COMMAND", name, self.list_commands(ctx))
        found = super().resolve_command(ctx, args)
        self._asked = found[:2]
        return found

    def invoke(self, ctx: Any) -> Any:
        """Run a command; what is wrong with its line names the command."""
        try:
            return super().invoke(ctx)
        except Exception as problem:
            name, command = self._asked
            if command is not None and getattr(problem, "ctx", self) is None:
                placed: Any = problem
                placed.ctx = command.context_class(command, info_name=name, parent=ctx)
            raise


class HouseCommand(TyperCommand):
    """A command that does not write over a file that its line names to be read."""

    def invoke(self, ctx: Any) -> Any:
        """Run it.

        Raises:
            InputError: one file is to be read and to be written.
        """
        _keep_inputs(ctx.command_path, ctx.params)
        return super().invoke(ctx)


def keeping_inputs(app: Typer) -> None:
    """Make every command of a program, and of its groups, one that keeps what it reads."""
    for command in app.registered_commands:
        command.cls = HouseCommand
    for group in app.registered_groups:
        assert group.typer_instance is not None, "groups are programs"
        keeping_inputs(group.typer_instance)


def _keep_inputs(command: str, named: Mapping[str, object]) -> None:
    read = [
        path
        for name, value in named.items()
        if name not in _WRITTEN
        for path in _files(value, texts=name in _TEXTS)
    ]
    for name in _WRITTEN:
        for target in _files(named.get(name)):
            if any(target.samefile(path) for path in read):
                raise _overwritten(f"{command}: --{name.replace('_', '-')}", target)


def _files(value: object, *, texts: bool = False) -> Iterator[Path]:
    """Ordinary files that a value of the line names: an argument, an option, or one that repeats."""
    for item in value if isinstance(value, list | tuple) else [value]:
        if isinstance(item, Path | str if texts else Path) and os.path.isfile(item):  # noqa: PTH113 - no path raises here
            yield Path(item)


def _overwritten(where: str, target: Path) -> InputError:
    other = target.with_stem(f"{target.stem}-new")
    return input_error(where, "", f"{target}, which the command reads", "another file", f'"{other}"')
