"""What differs between two plans: the effects, then what caused them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from planner.explain.difference import is_cause
from planner.report.parts import bullets, section
from planner.report.summary import side_by_side
from planner.schema.answers import WhatIf
from planner.schema.plan import Difference


def view(answer: WhatIf) -> RenderableType:
    """Two plans side by side, their differences as sentences, and the inputs that differ."""
    before, after = answer.before.problem, answer.after.problem
    title = f"{before}: two plans" if before == after else f"{before} and {after}"
    causes = [entry.text for entry in answer.difference if is_cause(entry)]
    return Group(
        Text(title, style="bold"),
        section("Side by side", side_by_side(answer.before, answer.after, ("first", "second"))),
        effects(answer.difference),
        section("Why", bullets(causes or [same_inputs(answer)])),
    )


def effects(entries: Sequence[Difference]) -> RenderableType:
    """What differs in the plans themselves, as sentences."""
    sentences = [entry.text for entry in entries if not is_cause(entry)]
    return section("What changes", bullets(sentences or ["The plan stays the same."]))


def same_inputs(answer: WhatIf) -> str:
    """Why two plans of the same inputs may differ."""
    same = "Problem, catalog and calibration are the same"
    if answer.before.status == answer.after.status == "optimal":
        return f"{same}, and both plans are optimal."
    return f"{same}: a search that is not proved may end anywhere."
