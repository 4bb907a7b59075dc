"""What a fleet buys, from whom and for how much: headline, supply, tiers, outside suppliers, shortages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from planner import numbers
from planner.explain.hours import bought_lines, has_hours, mean
from planner.explain.phrases import api_sentence, listing
from planner.report.parts import bullets, section, table
from planner.report.taken_text import taken_words
from planner.schema.fleet_plan import TierTaken
from planner.schema.plan import Plan
from planner.schema.supply import HOURS_PER_DAY

OBJECTIVES_OF_HOURS = {
    "cost": "the cheapest fleet",
    "cost_per_token": "the fleet with the cheapest tokens",
    "gpus": "the fewest GPU-hours",
    "power": "the least energy",
    "throughput": "the cheapest fleet at the largest load",
}


def buy_over_hours(plan: Plan) -> str:
    """The second line of a page about several hours: the most of any hour, the mean, and the money."""
    hours = len(plan.periods)

    def told(gpu: str, owned: str, counts: Sequence[int]) -> str:
        most, average = max(counts), mean(counts)
        words = f"{most:,}{owned} × {gpu}"
        return words if average == most else f"up to {words} ({numbers.significant(average)} on average)"

    taken = taken_words(plan, told)
    found = "" if plan.status == "optimal" else " found so far"
    aim = f"{OBJECTIVES_OF_HOURS[plan.objective.name]}{found}"
    if costs_more(plan):
        aim = f"the simplest fleet near {OBJECTIVES_OF_HOURS[plan.objective.name]}"
    cost = ""
    if plan.cost_usd_per_hour is not None:
        day = numbers.usd(plan.cost_usd_per_hour * HOURS_PER_DAY)
        cost = f"{numbers.usd(plan.cost_usd_per_hour)}/h on average, {day} a day, "
    if not taken:
        return f"Rent no GPUs; {named_suppliers(plan)} for {cost}{aim}."
    return f"{taken} over {numbers.count(hours, 'hour')}: {cost}{aim}."


def costs_more(plan: Plan) -> bool:
    """The plan is simpler than the optimum, and dearer."""
    return plan.simplicity is not None and plan.simplicity.costs_usd_per_hour > 0


def named_suppliers(plan: Plan) -> str:
    """Who takes requests where nothing is bought."""
    names = [api.id for api in plan.api if api.share > 0]
    verb = "takes" if len(names) == 1 else "take"
    return f"{listing(names)} {verb} every request" if names else "there is nothing to serve"


def supply_section(plan: Plan) -> RenderableType | None:
    """Purchases by line; nothing where one on-demand line is all and the headline has told it."""
    lines = bought_lines(plan)
    several = has_hours(plan)
    if not lines or (len(lines) == 1 and not several and not lines[0].place and lines[0].term == "on_demand"):
        return None
    hours = max(len(plan.periods), 1)
    places = any(line.place for line in lines)
    rows = []
    for line in lines:
        cells = [line.line, *([line.place] if places else []), f"{numbers.usd(line.usd_per_gpu_h)}/h"]
        cells += _counts(line.gpus) if several else [f"{line.gpus[0]:,}"]
        rows.append((*cells, numbers.usd(line.usd / hours * HOURS_PER_DAY)))
    rows += [
        (name, *[""] * (len(rows[0]) - 2), numbers.usd(usd_per_h * HOURS_PER_DAY))
        for name, usd_per_h in _beside(plan)
        if usd_per_h > 0
    ]
    columns = ["least", "mean", "most"] if several else ["GPUs"]
    headings = ["line", *(["place"] if places else []), "one GPU", *columns, "a day"]
    return section("Purchases", table(headings, rows, right=range(1 + places, len(headings))))


def _counts(gpus: Sequence[int]) -> list[str]:
    """Least, mean and most; once where they are the same."""
    if min(gpus) == max(gpus):
        return ["", "", f"{gpus[0]:,}"]
    return [f"{min(gpus):,}", numbers.significant(mean(gpus)), f"{max(gpus):,}"]


def _beside(plan: Plan) -> Iterator[tuple[str, float]]:
    """What is paid beside GPUs, USD an hour."""
    yield "starting GPUs", mean([period.start_usd for period in plan.periods])
    yield "outside suppliers", mean([period.api_usd for period in plan.periods])


def trap_rows(plan: Plan) -> list[tuple[str, str]]:
    """The utilization trap in money, as rows of the costs; none where every hour is as busy."""
    trap = plan.utilization_trap
    if trap is None or not has_hours(plan):
        return []
    rows = [("utilization of the busiest hour", numbers.share(trap.peak_utilization))]
    at_peak, now = trap.usd_per_million_output_tokens_at_peak, trap.usd_per_million_output_tokens
    if at_peak is not None and now is not None and at_peak < now:
        more = numbers.signed_share(at_peak / now - 1)
        rows.append(
            ("output tokens if every hour were so busy", f"{numbers.usd(at_peak)} a million ({more})")
        )
    if trap.flat_usd_per_hour is not None and plan.cost_usd_per_hour:
        more = numbers.signed_share(trap.flat_usd_per_hour / plan.cost_usd_per_hour - 1)
        rows.append(("dearest hour's fleet all day", f"{numbers.usd(trap.flat_usd_per_hour)}/h ({more})"))
    return rows


def api_section(plan: Plan) -> RenderableType | None:
    """What each outside supplier carries, and from which volume own GPUs pay."""
    return section("Outside suppliers", bullets(map(api_sentence, plan.api))) if plan.api else None


def engines_section(plan: Plan) -> RenderableType | None:
    """What each combination of engines costs, where the problem names several."""
    if not plan.engines:
        return None
    names = list(plan.engines[0].engines)
    costs = [tried.cost_usd_per_hour for tried in plan.engines]
    taken = next((tried.cost_usd_per_hour for tried in plan.engines if tried.taken), None)
    rows = [
        (
            *(tried.engines[name] for name in names),
            _setting_cost(cost),
            "taken" if tried.taken and cost is not None else _against(cost, taken),
        )
        for tried, cost in zip(plan.engines, costs, strict=True)
    ]
    headings = (*names, "the whole fleet costs", "")
    return section("Engines", table(headings, rows, right=[len(names), len(names) + 1]))


def tiers_section(plan: Plan) -> RenderableType | None:
    """Every tier with what each of its settings costs."""
    if not plan.tiers:
        return None
    parts: list[RenderableType] = []
    for tier in plan.tiers:
        parts += _tier(tier)
    return section("Tiers", *parts)


def _tier(tier: TierTaken) -> Iterator[RenderableType]:
    shares = [f"{numbers.share(stage.share)} to {stage.workload}" for stage in tier.stages if stage.share > 0]
    yield Text(f"{tier.name} ({tier.kind}), {tier.setting}: {listing(shares)} of its requests")
    taken = tier.costs_usd_per_hour.get(tier.setting)
    if len(tier.costs_usd_per_hour) > 1:
        rows = [
            (name, _setting_cost(cost), _against(cost, taken) if name != tier.setting else "taken")
            for name, cost in tier.costs_usd_per_hour.items()
        ]
        yield table(("setting", "the whole fleet costs", ""), rows, right=[1, 2])
    if tier.advice:
        yield bullets(_sentence(line) for line in tier.advice)


def _setting_cost(cost: float | None) -> str:
    return "no plan" if cost is None else f"{numbers.usd(cost)}/h"


def _against(cost: float | None, taken: float | None) -> str:
    return "" if cost is None or not taken else numbers.signed_share(cost / taken - 1)


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:].rstrip('.')}."


def shortage_section(plan: Plan) -> RenderableType | None:
    """Who would be served how far, by priority."""
    if not plan.shortage:
        return None
    rows = [
        (item.workload, f"{item.priority}" if item.priority else "last", numbers.share(item.share))
        for item in plan.shortage
    ]
    words = (
        "Share of each demand, headroom included, that can be served after the workloads above it and "
        "before any below; known to a thousandth."
    )
    return section(
        "Who could be served",
        table(("workload", "priority", "served"), rows, right=[1, 2]),
        Text(words, "dim"),
    )


def cost_rows(plan: Plan) -> list[tuple[str, str]]:
    """Money over several hours: the dearest and the cheapest hour beside the mean."""
    usd = [period.usd for period in plan.periods]
    return [
        ("per hour, on average", numbers.usd(plan.cost_usd_per_hour or 0.0)),
        ("in the cheapest and the dearest hour", f"{numbers.usd(min(usd))} and {numbers.usd(max(usd))}"),
    ]
