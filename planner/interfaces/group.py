"""A group of commands that answers an unknown name in the house's words."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from planner.interfaces.faults import choice_fault


class HouseGroup(TyperGroup):
    """Commands in the order in which they were written; an unknown one gets the nearest known name."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the first argument names.

        Raises:
            InputError: there is none of that name.
        """
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            raise choice_fault(ctx.command_path, "COMMAND", name, self.list_commands(ctx))
        return super().resolve_command(ctx, args)
