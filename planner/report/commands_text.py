"""The command lines of a plan's pools, to be copied."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from planner.report.parts import Continued, Unbroken
from planner.schema.plan import Plan


def commands_section(plan: Plan, *, continued: bool = False) -> RenderableType | None:
    """A line a pool, or with ``continued`` some short ones; nothing where no pool states a command."""
    known = [pool for pool in plan.pools if pool.command is not None]
    if not known:
        return None
    parts: list[RenderableType] = [Text(), Text("Commands of one replica", style="bold")]
    for pool in known:
        command = pool.command or ""
        parts += [Text(f"  # {pool.id}", style="dim"), Continued(command) if continued else Unbroken(command)]
    parts.append(Text("  As scripts and manifests: planner export PLAN --to TARGET --out DIR", style="dim"))
    return Group(*parts)
