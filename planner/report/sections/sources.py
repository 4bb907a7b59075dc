"""Where the numbers come from: prices with their dates, data, program, proof."""

from __future__ import annotations

from planner.report.cells import number, table
from planner.report.sections.build import bullets, section
from planner.schema.plan import Plan
from planner.schema.report import Cell, Section


def sources(plan: Plan) -> Section | None:
    """Prices with their dates, and what the plan was made from."""
    prices: list[tuple[Cell, ...]] = [
        (
            price.line,
            price.provider,
            number(price.usd_per_gpu_hour, "USD/h"),
            price.date,
            None if price.date is None else "of the source" if price.dated else "of reading",
            number(price.age_days, "days"),
            price.source,
        )
        for price in plan.prices_used
    ]
    headings = ("line", "provider", "one GPU", "date", "date is", "age at least", "source")
    made = plan.provenance
    rows: list[tuple[Cell, ...]] = [
        ("program", f"planner {made.planner}"),
        ("solver", made.solver),
        ("seed", number(made.seed)),
        ("candidates judged", number(made.candidates)),
        ("confidence of predictions", number(made.confidence, "share")),
        ("catalog", plan.inputs.catalog),
        ("calibration", plan.inputs.calibration),
        ("prices judged as of", plan.prices_as_of),
        *((f"model {name}", f"commit {commit}") for name, commit in plan.inputs.revisions.items()),
    ]
    known = [row for row in rows if row[1] is not None]
    note = "The same problem, catalog, calibration, program and seed give the same plan."
    interrupted = "The search was interrupted: the plan is the best that it had found."
    return section(
        "sources",
        "Sources",
        table("sources", "Prices", headings, prices),
        table("provenance", "What the plan was made from", ("what", "value"), known, note),
        bullets([interrupted] if made.interrupted else []),
    )
