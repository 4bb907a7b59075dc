"""The command lines of a plan's pools, each as one line to be copied."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from planner.report.parts import Unbroken
from planner.schema.plan import Plan


def commands_section(plan: Plan) -> RenderableType | None:
    """A line a pool; nothing where no pool states a command."""
    known = [pool for pool in plan.pools if pool.command is not None]
    if not known:
        return None
    parts: list[RenderableType] = [Text(), Text("Commands of one replica", style="bold")]
    for pool in known:
        parts += [Text(f"  # {pool.id}", style="dim"), Unbroken(pool.command or "")]
    parts.append(Text("  As scripts and manifests: planner export PLAN --to TARGET --out DIR", style="dim"))
    return Group(*parts)
