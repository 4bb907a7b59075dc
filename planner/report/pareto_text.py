"""A front: plans of which none is better than another on every axis, and its knee."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.explain.front import UNITS, axis_value, knee
from planner.explain.phrases import fleet, is_measured, listing, pool_layout
from planner.report.parts import table
from planner.report.summary import without_plans
from planner.schema.answers import Plans
from planner.schema.plan import Plan


def view(answer: Plans) -> RenderableType:
    """One line a plan, its value on every axis, the best of an axis and the knee marked."""
    if not answer.plans:
        return without_plans(answer)
    axes = list(answer.axes) or ["cost"]
    middle = knee(answer.plans, axes)
    best = [_best(answer.plans, axis) for axis in axes]
    cells = []
    for place, plan in enumerate(answer.plans):
        words = [f"best {_name(axis)}" for axis, first in zip(axes, best, strict=True) if first == place]
        words += ["knee"] if place == middle else []
        cells.append((*(_cell(plan, axis) for axis in axes), fleet(plan), _layouts(plan), ", ".join(words)))
    headings = (*(_name(axis) for axis in axes), "fleet", "layout", "")
    count = numbers.count(len(cells), "plan")
    parts: list[RenderableType] = [
        Text(
            f"{answer.plans[0].problem}: {listing([_name(axis) for axis in axes])} traded in {count}", "bold"
        ),
        Text(),
        table(headings, cells, right=range(len(axes))),
    ]
    if middle is not None:
        meaning = "Knee: nearest to the best of every axis at once, each on a logarithmic scale of its range."
        parts.append(Text(f"\n{meaning}", style="dim"))
    if answer.max_cost_ratio is not None:
        left_out = f"Plans at more than {answer.max_cost_ratio:g} times the cheapest cost"
        parts.append(Text(f"{left_out} are left out: --max-cost-ratio all shows them.", style="dim"))
    if not answer.complete:
        parts.append(Text("There may be more: a limit of time or number ended the walk.", style="dim"))
    return Group(*parts)


def _best(plans: Sequence[Plan], axis: str) -> int | None:
    """The first plan with the smallest value, where values differ."""
    known = [
        (value, place) for place, plan in enumerate(plans) if (value := axis_value(plan, axis)) is not None
    ]
    return min(known)[1] if len({value for value, _ in known}) > 1 else None


def _cell(plan: Plan, axis: str) -> str:
    return numbers.quantity(axis_value(plan, axis), UNITS.get(axis, "s"))


def _name(axis: str) -> str:
    """``cost``, ``GPUs``, ``TTFT P95``; ``ITL`` where a table of workers names no statistic."""
    if axis in UNITS:
        return "GPUs" if axis == "gpus" else axis
    metric, _, statistic = axis.partition("_")
    return f"{metric.upper()} {statistic.replace('p', 'P')}".strip()


def _layouts(plan: Plan) -> str:
    """Layouts of the pools, or the measured options."""
    names = (pool.option if is_measured(pool) else pool_layout(pool) for pool in plan.pools)
    return listing(list(dict.fromkeys(names)))
