"""The generated reference page."""

from __future__ import annotations

from planner.app.rules import rules_list, rules_show
from planner.constraints.plan.registry import PLAN_LIMITS
from planner.constraints.registry import CANDIDATE_CONSTRAINTS
from planner.loaders.catalog import load_catalog
from planner.report.reference import markdown
from planner.schema.problem import Problem


def reference() -> str:
    """Keys of the problem file, constraints, limits, rules and judgment, as Markdown."""
    catalog = load_catalog()
    entries = (catalog.find("judgment", name) for name in ("planning", "serving-options"))
    judgment = {name: value for entry in entries for name, value in entry.parameters.items()}
    return markdown(
        Problem.model_json_schema(),
        [(f"`{item.id}:W`", item.title, item.unit, item.source) for item in CANDIDATE_CONSTRAINTS],
        [(f"`{item.form}`", item.meaning, item.unit, item.source) for item in PLAN_LIMITS],
        [rules_show(str(rule["id"])) for rule in rules_list() if rule["kind"] == "planning"],
        [
            (
                f"`{name}`",
                f"{entry.value:g}",
                entry.unit,
                f"{entry.meaning} ({entry.low:g} to {entry.high:g})",
            )
            for name, entry in judgment.items()
        ],
    )
