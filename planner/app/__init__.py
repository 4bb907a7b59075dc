"""Use cases: the only place where the order of steps is written."""

from __future__ import annotations

from planner.app.accuracy import error_lines
from planner.app.benchmark_runs import Flags
from planner.app.calibrate import calibrate
from planner.app.choice_loss import choice_losses, fitted_choices, left_out_choices
from planner.app.claims import claims_page
from planner.app.curve import curve
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
from planner.app.fit_reference import fit_reference
from planner.app.fit_summary import chart_points, summarised
from planner.app.plan import plan
from planner.app.reference import reference
from planner.app.validate import validate

__all__ = [
    "Flags",
    "add_model",
    "calibrate",
    "catalog_check",
    "catalog_list",
    "catalog_show",
    "chart_points",
    "choice_losses",
    "claims_page",
    "curve",
    "error_lines",
    "estimate",
    "fit",
    "fit_reference",
    "fitted_choices",
    "left_out_choices",
    "plan",
    "reference",
    "rules_check",
    "rules_list",
    "rules_show",
    "summarised",
    "validate",
]
