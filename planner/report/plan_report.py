"""Plans as a report: one chapter a plan, or two plans compared."""

from __future__ import annotations

from collections.abc import Sequence

from planner.report.sections.chapter import chapter
from planner.report.sections.comparison import comparison
from planner.schema.answers import WhatIf
from planner.schema.plan import Plan
from planner.schema.report import Report


def report_of(plans: Sequence[Plan]) -> Report:
    """A report of one plan or more, in their order."""
    names = [plan.problem for plan in plans]
    title = f"{names[0]}: fleet plan" if len(names) == 1 else f"Fleet plans: {', '.join(names)}"
    return Report(title, tuple(chapter(plan) for plan in plans), made_by(plans))


def comparison_of(answer: WhatIf) -> Report:
    """A report of what differs between two plans."""
    chapter_ = comparison(answer)
    plans = (answer.before, answer.after)
    return Report(f"{chapter_.title}: two plans compared", (chapter_,), made_by(plans))


def made_by(plans: Sequence[Plan]) -> str:
    """The programs that made the plans."""
    return "planner " + " and ".join(dict.fromkeys(plan.provenance.planner for plan in plans))
