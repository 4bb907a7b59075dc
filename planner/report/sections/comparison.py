"""Two plans side by side: the decision, what changes, why, and the numbers of both."""

from __future__ import annotations

from collections.abc import Callable

from planner.explain.difference import is_cause
from planner.explain.phrases import fleet
from planner.numbers import HOURS_PER_MONTH, signed_share, usd
from planner.report.cells import COMPUTED, number, table
from planner.report.difference_text import same_inputs
from planner.report.sections.build import bullets, headlines, section
from planner.report.summary import STATUS
from planner.schema.answers import WhatIf
from planner.schema.plan import Plan
from planner.schema.pool import Pool
from planner.schema.report import Bar, BarChart, Cell, Chapter, Paragraph, Section, Table
from planner.schema.supply import HOURS_PER_YEAR


def comparison(answer: WhatIf) -> Chapter:
    """Everything about the difference."""
    names = _names(answer)
    built = (
        _decision(answer, names),
        _why(answer),
        section("money", "The money of both", _money(answer), _parts(answer, names)),
        section("limits", "Limits of both", _limits(answer, names)),
        section("pools", "What runs in both", _pools(answer, names)),
        section("sources", "What the plans were made from", _made(answer, names)),
    )
    return Chapter(" and ".join(names), tuple(found for found in built if found is not None))


def _names(answer: WhatIf) -> tuple[str, str]:
    before, after = answer.before.problem, answer.after.problem
    return (f"{before}, first", f"{after}, second") if before == after else (before, after)


def _decision(answer: WhatIf, names: tuple[str, str]) -> Section | None:
    old, new = answer.before.cost_usd_per_hour, answer.after.cost_usd_per_hour
    lead = "Only one of them has a plan." if (old is None) != (new is None) else "Neither has a plan."
    if old is not None and new is not None:
        share = f", {signed_share(new / old - 1)}" if old else ""
        month = f"{usd(abs(new - old) * HOURS_PER_MONTH)} a month"
        lead = "Both cost the same." if new == old else (
            f"The second costs {usd(abs(new - old))}/h {'less' if new < old else 'more'} ({month}{share})."
        )  # fmt: skip
    told = [
        f"{name}: {' '.join(headlines(plan)[1:2])}" for name, plan in zip(names, _both(answer), strict=True)
    ]
    rows: list[tuple[Cell, ...]] = [
        (name, *(value(plan) for plan in _both(answer))) for name, value in _ROWS.items()
    ]
    kept = [row for row in rows if row[1] is not None or row[2] is not None]
    return section(
        "decision",
        "What changes",
        Paragraph(lead, "lead"),
        bullets(told),
        _chart(answer, names),
        table("side-by-side", "Side by side", ("", *((name, COMPUTED) for name in names)), kept),
        bullets(entry.text for entry in answer.difference if not is_cause(entry)),
    )


def _both(answer: WhatIf) -> tuple[Plan, Plan]:
    return answer.before, answer.after


def _times(plan: Plan, hours: float) -> Cell:
    return None if plan.cost_usd_per_hour is None else number(plan.cost_usd_per_hour * hours, "USD")


_ROWS: dict[str, Callable[[Plan], Cell]] = {
    "answer": lambda plan: STATUS[plan.status],
    "fleet": lambda plan: fleet(plan) or None,
    "cost of a month": lambda plan: _times(plan, HOURS_PER_MONTH),
    "cost of a year": lambda plan: _times(plan, float(HOURS_PER_YEAR)),
    "cost of an hour": lambda plan: number(plan.cost_usd_per_hour, "USD/h"),
    "cost of a million output tokens": lambda plan: number(plan.cost_usd_per_million_output_tokens, "USD"),
    "mean utilization": lambda plan: number(plan.mean_utilization, "share"),
    "prices judged as of": lambda plan: plan.prices_as_of,
}


def _chart(answer: WhatIf, names: tuple[str, str]) -> BarChart | None:
    bars = [
        Bar(name, plan.cost_usd_per_hour, f"{usd(plan.cost_usd_per_hour)}/h", strong=plan is answer.after)
        for name, plan in zip(names, _both(answer), strict=True)
        if plan.cost_usd_per_hour is not None
    ]
    told = ", ".join(f"{bar.name} {bar.label}" for bar in bars)
    return BarChart("cost", "Cost of both", f"{told}.", "USD an hour", tuple(bars)) if bars else None


def _why(answer: WhatIf) -> Section | None:
    causes = [entry.text for entry in answer.difference if is_cause(entry)]
    return section("why", "Why", bullets(causes or [same_inputs(answer)]))


def _money(answer: WhatIf) -> BarChart | None:
    """What each workload costs in both."""
    costs = [plan.costs.by_workload if plan.costs is not None else {} for plan in _both(answer)]
    workloads = list(dict.fromkeys(name for part in costs for name in part))
    if len(workloads) < 2:
        return None
    bars = tuple(
        Bar(f"{workload}, {place}", part[workload], f"{usd(part[workload])}/h", strong=part is costs[1])
        for workload in workloads
        for place, part in zip(("first", "second"), costs, strict=True)
        if workload in part
    )
    told = ", ".join(f"{bar.name} {bar.label}" for bar in bars)
    return BarChart("by-workload", "Cost by workload", f"{told}.", "USD an hour", bars)


def _parts(answer: WhatIf, names: tuple[str, str]) -> Table | None:
    rows: list[tuple[Cell, ...]] = []
    for way, field in (("workload", "by_workload"), ("place", "by_place"), ("term", "by_term")):
        costs = [getattr(plan.costs, field) if plan.costs is not None else {} for plan in _both(answer)]
        for name in dict.fromkeys(name for part in costs for name in part):
            rows.append((name, way, *(number(part.get(name), "USD/h") for part in costs)))
    return table("money", "Where the money goes", ("what", "divided by", *names), rows)


def _limits(answer: WhatIf, names: tuple[str, str]) -> Table | None:
    states = [{state.id: state for state in plan.constraints} for plan in _both(answer)]
    rows: list[tuple[Cell, ...]] = []
    for name in dict.fromkeys(name for known in states for name in known):
        mine = [known.get(name) for known in states]
        rows.append(
            (
                name,
                *(None if s is None else number(s.limit, s.unit) for s in mine),
                *(None if s is None else number(s.value, s.unit) for s in mine),
            )
        )
    first, second = names
    headings = ("limit", f"allowed, {first}", f"allowed, {second}", f"reached, {first}", f"reached, {second}")
    return table("limits", "Limits", headings, rows)


def _pools(answer: WhatIf, names: tuple[str, str]) -> Table | None:
    rows = [
        (name, *_pool(pool)) for name, plan in zip(names, _both(answer), strict=True) for pool in plan.pools
    ]
    headings = ("plan", "pool", "replicas", "GPU", "GPUs of a replica", "option", "utilization", "cost")
    return table("pools", "Pools", headings, rows)


def _pool(pool: Pool) -> tuple[Cell, ...]:
    return (
        pool.id,
        number(pool.replicas),
        pool.gpu,
        number(pool.gpus_per_replica),
        pool.option,
        number(pool.utilization, "share"),
        number(pool.usd_per_hour, "USD/h"),
    )


def _made(answer: WhatIf, names: tuple[str, str]) -> Table | None:
    rows: list[tuple[Cell, ...]] = [
        ("program", *(f"planner {plan.provenance.planner}" for plan in _both(answer))),
        ("catalog", *(plan.inputs.catalog for plan in _both(answer))),
        ("calibration", *(plan.inputs.calibration for plan in _both(answer))),
    ]
    return table("provenance", "What the plans were made from", ("", *names), rows)
