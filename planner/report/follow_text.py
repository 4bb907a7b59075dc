"""A diagnostic loop as pages: one for each sample, with what moved since the one before."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from planner.report import diagnosis_brief
from planner.report.diagnosis_text import words
from planner.report.parts import pairs, section
from planner.schema.diagnosis import Move, Step, Steps, Turned
from planner.schema.metrics import METRICS

_KINDS = {
    "healthy": "nothing limits, as before",
    "same": "the bottleneck is where it was",
    "solved": "the bottleneck is gone",
    "expected": "the bottleneck moved to where its rule says it goes next",
    "elsewhere": "the bottleneck moved to where its rule does not point: something else changed too",
    "appeared": "a bottleneck appeared",
}


def view(steps: Steps) -> RenderableType:
    """All samples."""
    return Group(*(page(number, step) for number, step in enumerate(steps.steps, start=1)))


def page(number: int, step: Step) -> RenderableType:
    """One sample: what moved, and the diagnosis."""
    moved = [section("What moved", pairs(_move(step.move)))] if step.move is not None else []
    title = Text(f"Sample {number}: {step.source}", style="bold")
    return Group(title, *moved, Text(), diagnosis_brief.view(step.diagnosis), Text())


def _move(move: Move) -> list[tuple[str, str]]:
    rows = [
        ("before", move.before or "no finding"),
        ("action", "; ".join(_turned(one) for one in move.turned) or "no setting was seen to change"),
        ("now", move.now or "no finding"),
        ("so", _KINDS[move.kind]),
    ]
    for shift in move.evidence:
        unit = METRICS[shift.metric].unit
        now = "not observed" if shift.now is None else words(shift.now, unit)
        rows.append((shift.metric, f"{words(shift.before, unit)} to {now}"))
    return [*rows, ("stop", move.stop)] if move.stop else rows


def _turned(one: Turned) -> str:
    unit = METRICS[one.knob].unit if one.knob in METRICS else ""
    before, now = ("?" if value is None else words(value, unit) for value in (one.from_value, one.to))
    advised = f"advised: {one.action}" if one.action else "not advised"
    return f"{one.knob} from {before} to {now} ({advised})"
