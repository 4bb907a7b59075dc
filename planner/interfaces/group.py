"""A group of commands that answers an unknown name in the house's words."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from planner.interfaces.faults import choice_fault


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
