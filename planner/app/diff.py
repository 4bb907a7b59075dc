"""What changed between two plan documents."""

from __future__ import annotations

from pathlib import Path

from planner.explain.difference import difference
from planner.loaders.plan_file import load_plan
from planner.schema.answers import WhatIf


def diff(before: Path, after: Path) -> WhatIf:
    """The two plans with their differences.

    Raises:
        InputError: a file that holds no plan.
    """
    first, second = load_plan(before), load_plan(after)
    return WhatIf(before=first, after=second, difference=difference(first, second))
