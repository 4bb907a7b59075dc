"""The weights that a plan loads, in words."""

from __future__ import annotations

from rich.console import RenderableType

from planner.report.parts import bullets, section
from planner.schema.plan import Plan


def checkpoints_section(plan: Plan) -> RenderableType | None:
    """Checkpoints by workload, and what the 16-bit one would cost; None without pools of a model."""
    if not plan.checkpoints:
        return None
    several = len({one.workload for one in plan.checkpoints}) > 1
    lines = [f"{one.workload}: {one.text}" if several else one.text for one in plan.checkpoints]
    revisions = [f"{name} was read at commit {commit}" for name, commit in plan.inputs.revisions.items()]
    return section("Checkpoints to load", bullets([*lines, *revisions]))
