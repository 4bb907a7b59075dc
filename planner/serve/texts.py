"""Answers in the words of the command line. Runs in a worker, which has the modules for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from planner.errors import input_error
from planner.loaders.validation import validated
from planner.loaders.yaml_source import Document
from planner.schema.answers import Sweep, WhatIf
from planner.schema.diagnosis import Diagnosis
from planner.schema.estimate import Curve, Estimate, Fit
from planner.schema.plan import Plan
from planner.schema.replay import Replay

if TYPE_CHECKING:
    from rich.console import RenderableType

_KINDS = ("plan", "relax", "capacity", "whatif", "diff", "diagnose", "replay", "fit", "estimate", "curve")


def view(kind: str, document: Mapping[str, Any]) -> RenderableType:
    """The page of an answer, as its command shows it.

    Raises:
        InputError: an unknown kind, or a document of another.
    """
    if kind not in _KINDS:
        raise input_error("request", "kind", f'"{kind}"', f"one of {', '.join(_KINDS)}")
    read = Document("document", b"", dict(document))
    if kind == "replay":
        from planner.report import replay_text

        return replay_text.view(validated(Replay, read))
    if kind == "diagnose":
        from planner.report import diagnosis_brief

        return diagnosis_brief.page(validated(Diagnosis, read))
    return _one(kind, read) if kind in ("fit", "estimate", "curve") else _plans(kind, read)


def _one(kind: str, read: Document) -> RenderableType:
    from planner.report import curve_text, estimate_text, fit_text

    if kind == "fit":
        return fit_text.view(validated(Fit, read))
    if kind == "estimate":
        return estimate_text.view(validated(Estimate, read))
    return curve_text.view(validated(Curve, read))


def _plans(kind: str, read: Document) -> RenderableType:
    from planner.report import capacity_text, difference_text, plan_brief, relax_text, whatif_text

    if "rows" in read.value:
        rows = validated(Sweep, read)
        return capacity_text.rows(rows) if kind == "capacity" else whatif_text.rows(rows)
    if kind == "whatif":
        return whatif_text.view(validated(WhatIf, read))
    if kind == "diff":
        return difference_text.view(validated(WhatIf, read))
    plan = validated(Plan, read)
    return relax_text.view(plan) if kind == "relax" else plan_brief.view(plan)
