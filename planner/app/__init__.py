"""Use cases: the only place where the order of steps is written."""

from __future__ import annotations

from planner.app.accuracy import error_lines
from planner.app.data import (
    add_model,
    catalog_check,
    catalog_list,
    catalog_show,
    rules_check,
    rules_list,
    rules_show,
)
from planner.app.estimate import estimate
from planner.app.fit import fit
from planner.app.plan import plan
from planner.app.reference import reference
from planner.app.validate import validate

__all__ = [
    "add_model",
    "catalog_check",
    "catalog_list",
    "catalog_show",
    "error_lines",
    "estimate",
    "fit",
    "plan",
    "reference",
    "rules_check",
    "rules_list",
    "rules_show",
    "validate",
]
