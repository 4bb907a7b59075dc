"""What to mind, and how sure the numbers are, with where they come from."""

from __future__ import annotations

from planner.report.cells import number, table
from planner.report.sections.build import bullets, section
from planner.report.warnings_text import warnings_of
from planner.schema.plan import Plan
from planner.schema.report import Cell, Paragraph, Section, Table

_EVIDENCE = (
    "measured: rates of a table; calibrated: the model was fitted to runs of this hardware, model and "
    "engine; modelled: it was not. Spreads are one standard deviation."
)


def risks(plan: Plan) -> Section | None:
    """Warnings and error bars."""
    outside = dict.fromkeys(line for pool in plan.pools for line in pool.outside_measured)
    told = warnings_of(plan)
    return section(
        "risks",
        "Risks and error bars",
        bullets(told),
        _sure(plan),
        Paragraph("Outside of what was measured:") if outside else None,
        bullets(outside),
    )


def _sure(plan: Plan) -> Table | None:
    names = list(dict.fromkeys(name for pool in plan.pools for name in pool.uncertainty))
    rows: list[tuple[Cell, ...]] = [
        (
            pool.id,
            pool.evidence,
            *(number(pool.uncertainty.get(name), "share", "±") for name in names),
            pool.limited_by,
        )
        for pool in plan.pools
    ]
    words = [name if name == "throughput" else name.upper().replace("_", " ") for name in names]
    headings = ("pool", "evidence", *words, "what stops a replica")
    return table("sureness", "How sure the numbers are", headings, rows, _EVIDENCE)
