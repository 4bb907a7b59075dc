"""What pictures of answers show, as charts: of plans, fronts, sweeps, limits and scenarios."""

from __future__ import annotations

from collections.abc import Sequence

from planner import numbers
from planner.explain.front import UNITS, axis_value, knee
from planner.explain.phrases import fleet
from planner.report.sections.changes import price_chart, ways_chart
from planner.report.sections.decision import money_chart
from planner.report.sections.hours import day_chart
from planner.report.sections.limits import latency_chart
from planner.report.sections.losses import scenario_chart
from planner.schema.answers import Plans, Sweep
from planner.schema.plan import Plan
from planner.schema.report import Bar, BarChart, Chart, Dot, LineChart, LinePanel, Track


def of_plan(plan: Plan) -> list[Chart]:
    """Where the money goes, latency against its limits, and the day."""
    return _known(money_chart(plan, always=True), latency_chart(plan), day_chart(plan))


def of_relaxed(plan: Plan) -> list[Chart]:
    """What each limit costs; without a plan what each way out costs."""
    return _known(price_chart(plan), ways_chart(plan))


def of_scenarios(plan: Plan) -> list[Chart]:
    """What the best fleet costs if things change."""
    return _known(scenario_chart(plan))


def of_front(answer: Plans) -> list[Chart]:
    """Every other axis over the first, a step a plan, the knee marked."""
    if not answer.plans:
        return []
    first, *others = list(answer.axes) or ["cost"]
    middle = knee(answer.plans, answer.axes)
    panels = [_front_panel(answer.plans, first, axis, middle) for axis in others]
    title = f"{answer.plans[0].problem}: plans of which none is worse on every axis"
    ends = [f"{_words(answer.plans[0], axis)}" for axis in (first, *others)]
    text = f"{numbers.count(len(answer.plans), 'plan')}; the first: {', '.join(ends)}."
    return [LineChart("front", title, text, _axis(first), tuple(panels))]


def _front_panel(plans: Sequence[Plan], first: str, axis: str, middle: int | None) -> LinePanel:
    found = [(plan, axis_value(plan, first), axis_value(plan, axis)) for plan in plans]
    known = [(plan, x, y) for plan, x, y in found if x is not None and y is not None]
    points = tuple(sorted((x, y) for _, x, y in known))
    knees = [item for item in known if middle is not None and item[0] is plans[middle]]
    marked = tuple(Dot(f"knee: {fleet(plan)}", x, y) for plan, x, y in knees)
    others = tuple(Dot("", x, y) for plan, x, y in known if not knees or plan is not knees[0][0])
    track = Track(axis, points, in_steps=True)
    return LinePanel(_axis(axis), (track,), (*others, *marked), seconds=axis not in UNITS)


def _axis(name: str) -> str:
    unit = UNITS.get(name, "")
    words = name.replace("_", " ")
    if words.lower() == unit.lower():
        return unit
    return f"{words}, {unit}" if unit else words


def _words(plan: Plan, axis: str) -> str:
    return f"{axis} {numbers.quantity(axis_value(plan, axis), UNITS.get(axis, 's'))}"


def of_sweep(sweep: Sweep) -> list[Chart]:
    """What the plan costs at each combination of values."""
    bars = []
    for row in sweep.rows:
        name = ", ".join(f"{path.rpartition('.')[2]} {value}" for path, value in row.set.items())
        cost = row.plan.cost_usd_per_hour
        label = "no plan" if cost is None else f"{numbers.usd(cost)}/h, {fleet(row.plan)}"
        bars.append(Bar(name, cost or 0.0, label))
    if not any(bar.value for bar in bars):
        return []
    told = "; ".join(f"{bar.name}: {bar.label}" for bar in bars)
    title = f"{sweep.rows[0].plan.problem}: cost by {', '.join(sweep.rows[0].set)}"
    return [BarChart("sweep", title, f"{told}.", "USD an hour", tuple(bars))]


def _known(*charts: Chart | None) -> list[Chart]:
    return [chart for chart in charts if chart is not None]
