"""The thirteen sizing steps of a plan as a page."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from planner import numbers
from planner.report.parts import pairs
from planner.schema.explanation import Explanation, Figure, Step

_INDENT = (0, 0, 0, 4)


def view(explanation: Explanation) -> RenderableType:
    """All steps, each with what it asks, the plan's numbers and the verdict."""
    plan = explanation.plan
    todo = [str(step.number) for step in explanation.steps if step.open]
    return Group(
        Text(f"{plan.problem}: the thirteen steps of sizing, with the numbers of this plan", style="bold"),
        Text(_source(todo), style="dim"),
        *(_step(step) for step in explanation.steps),
    )


def _source(todo: list[str]) -> str:
    words = "Order and questions: Sizing LLM Inference for Production, section 9.1."
    return f"{words} Something is left to do at {', '.join(todo)} (!)." if todo else words


def _step(step: Step) -> RenderableType:
    mark = " !" if step.open else ""
    heading = Text.assemble(
        (f"{step.number:>2}  {step.title}{mark}", "bold"), (f"  (field guide {step.section})", "dim")
    )
    return Group(
        Text(),
        heading,
        Padding(Text(step.asks, style="dim"), _INDENT),
        *(Padding(part, _INDENT) for part in _figures(step.figures)),
        *(Padding(Text(line, style="yellow" if step.open else ""), _INDENT) for line in step.verdict),
    )


def _figures(figures: Iterable[Figure]) -> list[RenderableType]:
    """Names and values, under the name of the workload or pool where there are several."""
    parts: list[RenderableType] = []
    by_place: dict[str, list[tuple[str, str]]] = {}
    for figure in figures:
        by_place.setdefault(figure.of, []).append((figure.name, _value(figure)))
    for place, rows in by_place.items():
        if place:
            parts.append(Text(place))
        parts.append(Padding(pairs(rows), (0, 0, 0, 2 if place else 0)))
    return parts


def _value(figure: Figure) -> str:
    return numbers.quantity(figure.value, figure.unit)
