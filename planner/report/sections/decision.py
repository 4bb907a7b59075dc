"""The decision and its money: what to buy, what it costs, and where the money goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import fsum

from planner.explain.hours import has_hours
from planner.explain.phrases import fleet, is_answered
from planner.numbers import HOURS_PER_MONTH, share, usd
from planner.report.cells import COMPUTED, number, table
from planner.report.headline import UNITS
from planner.report.sections.build import headlines, section
from planner.schema.plan import Plan
from planner.schema.report import Bar, BarChart, Block, Cell, Figures, Paragraph, Section, Table
from planner.schema.supply import HOURS_PER_DAY, HOURS_PER_YEAR

_MOST_PARTS = 8
"""Parts of a bar that can be told apart; the smallest share one."""


def decision(plan: Plan) -> Section | None:
    """What to buy, and the money."""
    first, *more = headlines(plan)
    if not is_answered(plan):
        return section("decision", "Decision", Paragraph(first, "lead"), *map(Paragraph, more))
    lead = [Paragraph(line, "lead") for line in more[:1]] + [Paragraph(line) for line in more[1:]]
    blocks: list[Block | None] = [*lead, Paragraph(first, "note")]
    if plan.cost_usd_per_hour is not None:
        blocks += [_figures(plan), money_chart(plan), _numbers(plan), _parts(plan)]
    return section("decision", "Decision", *blocks)


def _figures(plan: Plan) -> Figures | None:
    """The numbers to remember."""
    hourly = plan.cost_usd_per_hour
    if hourly is None:
        return None
    items: list[tuple[str, Cell]] = [
        ("a month", number(hourly * HOURS_PER_MONTH, "USD")),
        ("a year", number(hourly * float(HOURS_PER_YEAR), "USD")),
        ("a million output tokens", number(plan.cost_usd_per_million_output_tokens, "USD")),
        ("GPUs", fleet(plan)),
    ]
    return Figures(tuple(item for item in items if item[1]))


def _numbers(plan: Plan) -> Table | None:
    """The numbers that are asked for first."""
    words = "replicas, the most of each pool" if has_hours(plan) else "replicas"
    rows = [row for row in _money_rows(plan) if row[1] is not None]
    rows += [
        ("GPUs", fleet(plan)),
        (words, number(sum(pool.replicas for pool in plan.pools), "replicas")),
        ("mean utilization", number(plan.mean_utilization, "share")),
    ]
    if plan.objective.name != "cost":
        unit = UNITS[plan.objective.name]
        rows.append(("objective: " + plan.objective.name, number(plan.objective.value, unit)))
    if plan.objective.gap is not None:
        rows.append(("distance from the proved bound", number(plan.objective.gap, "share")))
    return table("decision", "In short", ("", ("value", COMPUTED)), rows)


def _money_rows(plan: Plan) -> Iterator[tuple[Cell, Cell]]:
    hourly = plan.cost_usd_per_hour
    if hourly is None:
        return
    mean = ", on average" if has_hours(plan) else ""
    yield f"cost of a month ({HOURS_PER_MONTH} h)", number(hourly * HOURS_PER_MONTH, "USD")
    yield f"cost of a year ({int(HOURS_PER_YEAR):,} h)", number(hourly * float(HOURS_PER_YEAR), "USD")
    yield f"cost of an hour{mean}", number(hourly, "USD/h")
    if plan.cost_error is not None:
        error = plan.cost_error
        yield "lowest, if replicas are faster by one sigma", number(error.low_usd_per_hour, "USD/h")
        yield "highest, if they are slower by one sigma", number(error.high_usd_per_hour, "USD/h")
    yield "cost of a million output tokens", number(plan.cost_usd_per_million_output_tokens, "USD")
    yield "cost of a million tokens, in and out", number(plan.cost_usd_per_million_tokens, "USD")
    if plan.costs is not None:
        at_peak = plan.costs.usd_per_million_output_tokens_at_peak
        yield "a million output tokens if every hour were the peak", number(at_peak, "USD")


_NO_GPUS = {"start": "(starts of replicas)", "api": "(outside suppliers)"}
"""Terms of payment for something else than GPUs that serve."""


def _ways(plan: Plan) -> Mapping[str, Mapping[str, float]]:
    if plan.costs is None:
        return {}
    ways = {
        "workload": plan.costs.by_workload,
        "place": plan.costs.by_place,
        "term": plan.costs.by_term,
    }
    pools = {
        gpu: fsum(pool.usd_per_hour for pool in plan.pools if pool.gpu == gpu)
        for gpu in dict.fromkeys(pool.gpu for pool in plan.pools)
    }
    pools |= {name: plan.costs.by_term.get(term, 0.0) for term, name in _NO_GPUS.items()}
    return {name: parts for name, parts in ({"GPU type": pools} | ways).items() if any(parts.values())}


def _sorted(parts: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(((name, usd) for name, usd in parts.items() if usd), key=lambda item: (-item[1], item[0]))


def _parts(plan: Plan) -> Table | None:
    """Every way of dividing the money; each sums to the whole."""
    whole = plan.cost_usd_per_hour
    if not whole:
        return None
    rows = [
        (
            name,
            way,
            number(usd_per_h, "USD/h"),
            number(usd_per_h * HOURS_PER_DAY, "USD"),
            number(usd_per_h * HOURS_PER_MONTH, "USD"),
            number(usd_per_h / whole, "share"),
        )
        for way, parts in _ways(plan).items()
        for name, usd_per_h in _sorted(parts)
    ]
    headings = ("what", "divided by", ("an hour", COMPUTED), ("a day", COMPUTED), ("a month", COMPUTED),
                ("share", COMPUTED))  # fmt: skip
    note = (
        "Each way of dividing sums to the whole cost; what GPUs cost that no pool pays for has no GPU type."
    )
    return table("money", "Where the money goes", headings, rows, note)


def money_chart(plan: Plan, always: bool = False) -> BarChart | None:
    """A bar for each part of each way of dividing the money that has several; ``always``: else of any."""
    whole = plan.cost_usd_per_hour
    if not whole:
        return None
    ways = {way: parts for way, parts in _ways(plan).items() if len(_sorted(parts)) > 1}
    bars = tuple(
        Bar(f"{way}: {name}", usd_per_h, f"{usd(usd_per_h)}/h ({share(usd_per_h / whole)})")
        for way, parts in (ways or (_ways(plan) if always else {})).items()
        for name, usd_per_h in _most(_sorted(parts))
    )
    told = "; ".join(f"{bar.name} {bar.label}" for bar in bars)
    text = f"Of {usd(whole)} an hour: {told}."
    return BarChart("money", "Where the money goes", text, "USD an hour", bars) if bars else None


def _most(parts: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """The largest parts; the others as one."""
    if len(parts) <= _MOST_PARTS:
        return parts
    kept = parts[: _MOST_PARTS - 1]
    return [*kept, (f"{len(parts) - len(kept)} others", sum(value for _, value in parts[len(kept) :]))]
