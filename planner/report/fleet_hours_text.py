"""The hours of a fleet as a picture that fits a log, and what to order when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from planner import numbers
from planner.explain.hours import clock, has_hours, mean, replicas_by_hour
from planner.explain.phrases import listing
from planner.report.parts import section, table
from planner.schema.fleet_plan import Order
from planner.schema.plan import Plan
from planner.schema.supply import HOURS_PER_DAY

_SHADES = "·░▒▓█"
"""Nothing, and up to a quarter, a half, three quarters and all of the row's largest value."""
_WIDEST = 48
"""Marks of a strip; more hours than this share marks."""
_DIGITS = 9
_TICK_H = 6
_MOST_ORDERS = 16
_HOUR_S = 3600


def hours_section(plan: Plan) -> RenderableType | None:
    """One row per pool, one per work that waits, and what the hours cost; nothing for a single hour."""
    if not has_hours(plan):
        return None
    hours = len(plan.periods)
    per_mark = -(-hours // _WIDEST)
    rows: list[tuple[str, ...]] = [
        (pool.id, strip(counts, per_mark, exact=True), *_three(counts), "replicas")
        for pool in plan.pools
        for counts in [replicas_by_hour(plan, pool)]
    ]
    for name in sorted({name for period in plan.periods for name in period.work}):
        work = [period.work.get(name, 0.0) for period in plan.periods]
        rows.append((f"{name} (may wait)", strip(work, per_mark), *_three(work), "req/s done"))
    rows += _load_and_cost(plan, per_mark)
    words = "Digits are replicas; shades are quarters of the row's largest value. Load counts headroom."
    if per_mark > 1:
        words += f" One mark is {per_mark} hours, the most of them."
    words += " Every hour: planner schedule PLAN."
    return section("The hours", _hours_table(plan, rows), Text(words, "dim"))


def hours_in_short(plan: Plan) -> RenderableType | None:
    """Load and cost of the hours in two rows; nothing for a single hour."""
    if not has_hours(plan):
        return None
    per_mark = -(-len(plan.periods) // _WIDEST)
    rows = _load_and_cost(plan, per_mark)
    words = Text("Replicas and purchases by hour: planner schedule PLAN", "dim")
    return section("The hours", _hours_table(plan, rows), words)


def _load_and_cost(plan: Plan, per_mark: int) -> Iterator[tuple[str, ...]]:
    used = [100 * (period.utilization or 0.0) for period in plan.periods]
    if any(used):
        yield "load", strip(used, per_mark), *_three(used), "% of capacity"
    usd = [period.usd for period in plan.periods]
    yield "cost", strip(usd, per_mark), *_three(usd), "USD/h"


def _hours_table(plan: Plan, rows: Iterable[tuple[str, ...]]) -> RenderableType:
    hours = len(plan.periods)
    headings = ("", ticks(hours, -(-hours // _WIDEST)), "least", "mean", "most", "")
    return table(headings, rows, right=[2, 3, 4])


def strip(values: Sequence[float], per_mark: int = 1, exact: bool = False) -> str:
    """One mark per hour, or the largest of several; ``exact`` draws counts up to 9 as digits."""
    most = max(values, default=0.0)
    marks = [max(values[at : at + per_mark]) for at in range(0, len(values), per_mark)]
    if exact and most <= _DIGITS:
        return "".join(f"{value:.0f}" if value else _SHADES[0] for value in marks)
    return "".join(_shade(value, most) for value in marks)


def _shade(value: float, most: float) -> str:
    if value <= 0 or most <= 0:
        return _SHADES[0]
    steps = len(_SHADES) - 1
    return _SHADES[min(steps, max(1, int(-(-value * steps // most))))]


def ticks(hours: int, per_mark: int = 1) -> str:
    """Hours of the day above their marks; of more than a day the days: ``d1      d2``."""
    marks = -(-hours // per_mark)
    every = _TICK_H if hours <= HOURS_PER_DAY else HOURS_PER_DAY
    line = [" "] * marks
    for hour in range(0, hours, every):
        text = f"{hour}" if hours <= HOURS_PER_DAY else f"d{hour // HOURS_PER_DAY + 1}"
        at = hour // per_mark
        if at + len(text) <= marks:
            line[at : at + len(text)] = text
    return "".join(line).rstrip()


def _three(values: Sequence[float]) -> tuple[str, str, str]:
    """Least, mean and most."""
    return tuple(_number(value) for value in (min(values), mean(values), max(values)))  # type: ignore[return-value]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else numbers.significant(value)


def orders_section(plan: Plan) -> RenderableType | None:
    """When to order and give back, in the order of the clock; long lists are cut."""
    if not plan.orders:
        return None
    rows = list(order_rows(plan.orders, max(len(plan.periods), 1)))
    more = len(rows) - _MOST_ORDERS
    body: list[RenderableType] = [table(("at", "do", "for"), rows[:_MOST_ORDERS])]
    if more > 0:
        body.append(Text(f"… and {numbers.count(more, 'more moment')}: planner schedule PLAN", "dim"))
    if any(order.lead_s for order in plan.orders):
        body.append(Text("What takes time to come is ordered that much earlier.", "dim"))
    return section("Orders", *body)


def order_rows(orders: Sequence[Order], periods: int) -> Iterator[tuple[str, str, str]]:
    """Time of the day, what to do, and the hour it is for."""
    moments: dict[tuple[float, int, str], list[str]] = defaultdict(list)
    for order in orders:
        at_s = (order.period * _HOUR_S - order.lead_s) % (periods * _HOUR_S)
        moments[at_s, order.period, _verb(order)].append(f"{abs(order.gpus):,} × {order.line}")
    for (at_s, period, verb), things in sorted(moments.items()):
        at, needed = clock(at_s, periods), clock(period * _HOUR_S, periods)
        yield at, f"{verb} {listing(things)}", "" if at == needed else needed


def _verb(order: Order) -> str:
    owned = order.line.rpartition("/")[2].startswith("owned")
    if owned:
        return "switch on" if order.gpus > 0 else "switch off"
    return "order" if order.gpus > 0 else "give back"
