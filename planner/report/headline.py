"""The first two lines of every page about a plan: what to buy and how sure; or an honest no."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from planner import numbers
from planner.explain.alone import alone
from planner.explain.hours import has_hours
from planner.explain.phrases import distance
from planner.report.capacity_text import carries_line
from planner.report.fleet_text import buy_over_hours, costs_more, named_suppliers
from planner.report.taken_text import taken_words
from planner.schema.plan import Objective, Plan, Simplicity

OBJECTIVES = {
    "cost": "the cheapest fleet",
    "cost_per_token": "the fleet with the cheapest tokens",
    "gpus": "the smallest fleet",
    "power": "the fleet with the least power",
    "throughput": "the cheapest fleet at the largest load",
}
UNITS = {
    "cost": "USD/h",
    "cost_per_token": "USD per million tokens",
    "gpus": "GPUs",
    "power": "W",
    "throughput": "requests/s",
}


def proof(objective: Objective, proved: bool, hours: int = 1) -> str:
    """How well the answer is proved; the cost of a day is told by the hour."""
    if proved:
        return "proved: nothing better exists among the candidates"
    if objective.gap is None or objective.lower_bound is None:
        return "no bound is known yet"
    share = hours if objective.name == "cost" else 1
    bound = numbers.quantity(objective.lower_bound / share, UNITS[objective.name])
    return f"{distance(objective.gap)} (nothing is below {bound})"


def _open(simplicity: Simplicity) -> str:
    """What is not known of simpler plans."""
    if simplicity.pools == simplicity.pools_at_least:
        return "; fewer pools are too dear, whether fewer changes do is not proved"
    if simplicity.pools_at_least <= 1:
        return "; whether fewer pools do is not proved"
    least = numbers.count(simplicity.pools_at_least, "pool")
    return f"; fewer than {least} are too dear, what lies between is not proved"


def headline(plan: Plan) -> list[RenderableType]:
    """What to buy and how well it is proved, in two lines; or the honest no."""
    if plan.status == "infeasible":
        judged = numbers.count(plan.provenance.candidates, "candidate")
        words = "no plan keeps every limit"
        if plan.capacity is not None:
            words = "this fleet carries nothing: no plan keeps every limit, however small the load"
        return [
            Text(f"{plan.problem}: {words}", style="bold red"),
            Text(f"Judged {judged}: with these limits and prices none of them will do, and no mix of them."),
        ]
    if plan.status == "unknown":
        return [
            Text(f"{plan.problem}: stopped before there was an answer", style="bold yellow"),
            Text("Neither a plan nor a proof that none exists. Maybe more time: --time-limit S."),
        ]
    proved = plan.status == "optimal"
    title = f"{plan.problem}: {plan.status}, {proof(plan.objective, proved, len(plan.periods) or 1)}"
    if proved and costs_more(plan):
        title = f"{plan.problem}: {plan.status}, proved: nothing simpler exists this near the proved optimum"
    if plan.capacity is not None:
        known = "proved: no larger load has a plan" if proved else "whether a larger load has a plan is open"
        title = f"{plan.problem}: {plan.status}, {known}"
    style = "bold green" if proved else "bold yellow"
    lines: list[RenderableType] = [Text(title, style=style)]
    lines += [Text(carries_line(plan))] if plan.capacity is not None else []
    lines.append(Text(_buy(plan)))
    if plan.simplicity is not None:
        open_ = "" if plan.simplicity.proved else _open(plan.simplicity)
        lines.append(Text(f"{plan.simplicity.text}{open_}."))
    return lines


def lone_replicas(plan: Plan) -> list[RenderableType]:
    """Workloads that stop with one replica."""
    return [Text(line, style="bold yellow") for line in alone(plan)]


def _buy(plan: Plan) -> str:
    if has_hours(plan):
        return buy_over_hours(plan)
    idle = dict(plan.gpus)
    for pool in plan.pools:
        idle[pool.gpu] = idle.get(pool.gpu, 0) - pool.replicas * pool.gpus_per_replica

    def told(gpu: str, owned: str, counts: Sequence[int]) -> str:
        unused = min(max(idle.pop(gpu, 0), 0), counts[0])
        return f"{counts[0]:,}{owned} × {gpu}" + (f" ({unused:,} of them idle)" if unused else "")

    replicas = numbers.count(sum(pool.replicas for pool in plan.pools), "replica")
    found = "" if plan.status == "optimal" else " found so far"
    cost = "" if plan.cost_usd_per_hour is None else f" for {numbers.usd(plan.cost_usd_per_hour)}/h"
    if plan.api and not plan.pools:
        return f"Rent no GPUs; {named_suppliers(plan)}{cost}: {OBJECTIVES[plan.objective.name]}{found}."
    taken = taken_words(plan, told) or "Rent nothing"
    return f"{taken} as {replicas}{cost}: {OBJECTIVES[plan.objective.name]}{found}."
