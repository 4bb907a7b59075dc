"""What would change the decision: prices of limits, other fleets, other modes; and ways out of a conflict."""

from __future__ import annotations

from planner import numbers
from planner.explain.phrases import is_answered
from planner.report.cells import COMPUTED, number, table
from planner.report.headline import UNITS
from planner.report.reasons_text import conflict_lines, relaxation_command, savings
from planner.report.sections.build import bullets, section
from planner.schema.limits_told import Price, Relaxation, Removal
from planner.schema.plan import Plan
from planner.schema.report import Bar, BarChart, Cell, Command, Paragraph, Section, Table

_ASK_PRICES = "What each limit costs was not asked: planner report PLAN --relax asks it."
_ASK_WAYS = "What would have to give was not asked: planner report PLAN --relax asks it."
_MOST_BARS = 14


def changes(plan: Plan) -> Section | None:
    """Sensitivities of a plan: limits, alternatives, modes and tiers."""
    return section(
        "changes",
        "What would change the decision",
        price_chart(plan),
        _prices(plan) or Paragraph(_ASK_PRICES, "note"),
        _relaxations(plan),
        _runners_up(plan),
        bullets(item.text for item in plan.mode_choice),
        _settings(plan),
        _formats(plan),
    )


def price_chart(plan: Plan) -> BarChart | None:
    """What the plan would cost less without each limit; None where no price is known."""
    unit = UNITS[plan.objective.name]
    dear = [(price, savings(price)) for price in plan.prices if any(savings(price))]
    dear.sort(key=lambda item: (-item[1][1], -item[1][0], item[0].id))
    bars = [
        Bar(
            price.id,
            removed,
            f"{numbers.quantity(removed, _unit(price, unit))} without it; {price.step}: "
            f"{numbers.quantity(step, _unit(price, unit)) if step else 'nothing'}",
            strong=place == 0,
        )
        for place, (price, (step, removed)) in enumerate(dear[:_MOST_BARS])
    ]
    if not bars:
        return None
    told = "; ".join(f"{bar.name}: {bar.label}" for bar in bars)
    axis = f"saved without the limit, {_unit(dear[0][0], unit)}"
    return BarChart("prices", "What each limit costs", f"{told}.", axis, tuple(bars))


def _unit(price: Price, unit: str) -> str:
    return "USD/h" if price.saves_objective is None else unit


def _prices(plan: Plan) -> Table | None:
    unit = UNITS[plan.objective.name]
    rows: list[tuple[Cell, ...]] = []
    for price in sorted(plan.prices, key=lambda price: (-savings(price)[1], price.id)):
        step, removed = savings(price)
        mark = "" if price.proved else "≥ "
        of = _unit(price, unit)
        rows.append((price.id, price.step, number(step, of, mark), number(removed, of, mark)))
    headings = ("limit", "one step", "a step saves", "without it saves")
    return table("prices", "What each limit costs", headings, rows)


def _relaxations(plan: Plan) -> Table | None:
    rows: list[tuple[Cell, ...]] = []
    for place, relaxation in enumerate(plan.relaxations, 1):
        for moved in relaxation.changes:
            to = numbers.exact(moved.to, moved.unit)
            now = numbers.exact(moved.from_, moved.unit)
            rows.append(
                (f"{place}", moved.id, now, to, number(relaxation.cost_usd_per_hour, "USD/h"),
                 number(relaxation.relative_change, "share"))
            )  # fmt: skip
    headings = ("way", "limit", "from", "to", "then costs", "relative change")
    note = "Limits with the same number of a way change together. Each way was solved again and has a plan."
    title = "What else would do" if is_answered(plan) else "What would make it possible"
    return table("relaxations", title, headings, rows, note)


def _runners_up(plan: Plan) -> Table | None:
    rows: list[tuple[Cell, ...]] = []
    for other in plan.runners_up:
        dearer = other.cost_usd_per_hour / plan.cost_usd_per_hour - 1 if plan.cost_usd_per_hour else None
        close = "cannot be told apart without a measurement" if other.within_error else None
        rows.append(
            (
                other.gpu,
                number(other.gpus, "GPUs"),
                number(other.replicas),
                number(other.cost_usd_per_hour, "USD/h"),
                number(dearer, "change"),
                number(other.error, "share", "±"),
                close,
                other.option,
                other.why,
            )
        )
    headings = ("next best", "GPUs", "replicas", "cost", ("dearer", COMPUTED), "error of the comparison",
                "remark", "option", "why not")  # fmt: skip
    return table("runners-up", "Next best fleets", headings, rows)


def _settings(plan: Plan) -> Table | None:
    """Other settings of tiers, and other engines."""
    rows: list[tuple[Cell, ...]] = [
        (tier.name, name, number(cost, "USD/h"), "taken" if name == tier.setting else "")
        for tier in plan.tiers
        for name, cost in tier.costs_usd_per_hour.items()
    ]
    rows += [
        (
            "engines",
            ", ".join(f"{name}: {engine}" for name, engine in tried.engines.items()),
            number(tried.cost_usd_per_hour, "USD/h"),
            "taken" if tried.taken else "",
        )
        for tried in plan.engines
    ]
    headings = ("of", "setting", "the whole fleet costs", "")
    return table("settings", "Other settings", headings, rows)


def _formats(plan: Plan) -> Table | None:
    rows = [
        (one.workload, one.weights, one.kv, one.status, number(one.cost_usd_per_hour, "USD/h"), one.why)
        for one in plan.formats
    ]
    return table("formats", "Number formats", ("workload", "weights", "KV", "answer", "cost", "why"), rows)


def no_way(plan: Plan) -> Section | None:
    """Why there is no plan: reasons, minimal conflicts, and who could be served."""
    return section(
        "reasons",
        "Why there is no plan",
        bullets(conflict_lines(plan)),
        None if plan.conflicts_complete or not plan.conflicts else Paragraph("There may be more.", "note"),
        _removed(plan.removed),
        _shortage(plan),
    )


def ways_out(plan: Plan) -> Section | None:
    """What would make a plan possible, the cheapest way first."""
    if plan.status != "infeasible":
        return None
    cheapest = _cheapest(plan)
    if cheapest is None:
        return section("ways-out", "Ways out", _relaxations(plan) or Paragraph(_ASK_WAYS, "note"))
    command = relaxation_command(cheapest)
    return section(
        "ways-out",
        "Ways out",
        Paragraph(_way_words(cheapest), "lead"),
        Command("to see it", command.replace(" \\\n   ", "")) if command else None,
        ways_chart(plan),
        _relaxations(plan),
    )


def _cheapest(plan: Plan) -> Relaxation | None:
    priced = [way for way in plan.relaxations if way.cost_usd_per_hour is not None]
    return min(priced, key=lambda way: way.cost_usd_per_hour or 0.0, default=None)


def _moves(way: Relaxation) -> str:
    return " and ".join(
        f"{moved.id} from {numbers.exact(moved.from_, moved.unit)} to {numbers.exact(moved.to, moved.unit)}"
        for moved in way.changes
    )


def _way_words(way: Relaxation) -> str:
    cost = numbers.usd(way.cost_usd_per_hour or 0.0)
    return f"The cheapest way out: {_moves(way)}; the fleet then costs {cost}/h."


def ways_chart(plan: Plan) -> BarChart | None:
    """What the fleet costs on each way out of a conflict; None where a plan is, or no way is known."""
    cheapest = _cheapest(plan)
    if cheapest is None or is_answered(plan):
        return None
    bars = []
    for place, way in enumerate(plan.relaxations, 1):
        cost = way.cost_usd_per_hour
        if cost is not None:
            label = f"{numbers.usd(cost)}/h" + (" (cheapest)" if way == cheapest else "")
            name = f"{place}: {', '.join(moved.id for moved in way.changes)}"
            bars.append(Bar(name, cost, label, strong=way == cheapest))
    told = "; ".join(f"{bar.name} {bar.label}" for bar in bars)
    return BarChart(
        "ways-out", "What the fleet costs on each way out", f"{told}.", "USD an hour", tuple(bars)
    )


def _removed(removals: tuple[Removal, ...]) -> Table | None:
    rows = [
        (
            item.id,
            item.title,
            number(item.alone),
            number(item.total),
            number(item.limit, item.unit),
            number(item.nearest_value, item.unit),
            item.nearest,
        )
        for item in removals
    ]
    headings = ("limit", "what", "removes alone", "removes in all", "allowed", "nearest reaches",
                "nearest candidate")  # fmt: skip
    note = "Configurations that the limit removes alone and with others, and the one that came nearest."
    return table("removed", "What each limit removes", headings, rows, note)


def _shortage(plan: Plan) -> Table | None:
    rows = [
        (item.workload, f"{item.priority}" if item.priority else "last", number(item.share, "share"))
        for item in plan.shortage
    ]
    return table("shortage", "Who could be served", ("workload", "priority", "share of its demand"), rows)
