"""A plan as a chapter: the decision first, then what it rests on, then everything that is asked next."""

from __future__ import annotations

from collections.abc import Callable

from planner.explain.phrases import is_answered
from planner.report.sections.assumed import assumed
from planner.report.sections.changes import changes, no_way, ways_out
from planner.report.sections.decision import decision
from planner.report.sections.fleet import gpu_types, memory, pools
from planner.report.sections.hours import day, purchases
from planner.report.sections.limits import limits
from planner.report.sections.losses import losses, scenarios
from planner.report.sections.risks import risks
from planner.report.sections.run import run
from planner.report.sections.safety import safety
from planner.report.sections.sources import sources
from planner.schema.plan import Plan
from planner.schema.report import Chapter, Section

_Build = Callable[[Plan], Section | None]
_OF_A_PLAN: tuple[_Build, ...] = (
    decision, assumed, pools, safety, gpu_types, limits, memory, day, purchases, losses, scenarios, risks,
    changes, run, sources,
)  # fmt: skip
_WITHOUT_A_PLAN: tuple[_Build, ...] = (decision, no_way, ways_out, assumed, gpu_types, risks, sources)


def chapter(plan: Plan) -> Chapter:
    """All sections that a plan has something to say in."""
    built = (build(plan) for build in (_OF_A_PLAN if is_answered(plan) else _WITHOUT_A_PLAN))
    return Chapter(plan.problem, tuple(found for found in built if found is not None))
