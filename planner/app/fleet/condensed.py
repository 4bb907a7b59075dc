"""A fleet's answer as the explanations see it: all periods in one choice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from planner.constraints.fleet_check import FleetBill, PeriodBill, bill
from planner.schema.choice import Choice
from planner.schema.fleet import FleetChoice, FleetProblem, PeriodChoice
from planner.schema.reasons import NamedLimit


def condensed(question: FleetProblem, limits: Iterable[NamedLimit], answer: FleetChoice) -> Choice:
    """All periods in one choice: most replicas, GPUs and power of any period, mean cost, what limits take."""
    if not answer.periods:
        return Choice(answer.status, in_the_way=answer.in_the_way)
    total = bill(question, answer.periods)
    counts = _largest(dict(period.replicas()) for period in answer.periods)
    return Choice(
        status=answer.status,
        counts=counts,
        gpus=_largest(period.gpus for period in total.periods),
        cost_usd_per_h=answer.cost_usd / question.periods,
        power_w=max(period.power_w for period in total.periods),
        value=answer.value,
        lower_bound=answer.lower_bound,
        gap=answer.gap,
        # Shares of buckets are floats to HiGHS: its optimum is one but for the last digits.
        exact=answer.engine != "HiGHS",
        taken=dict(_taken(question, limits, answer.periods, total)),
    )


def _largest(rows: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The largest count of every name in any period."""
    found: dict[str, int] = defaultdict(int)
    for row in rows:
        for name, count in row.items():
            found[name] = max(found[name], count)
    return dict(sorted(found.items()))


def _taken(
    question: FleetProblem,
    limits: Iterable[NamedLimit],
    periods: Sequence[PeriodChoice],
    total: FleetBill,
) -> Iterator[tuple[str, Fraction]]:
    """The least that each limit of market and money has to allow for what was chosen."""
    for limit in limits:
        if limit.kind == "budget" and not limit.per_period:
            yield limit.id, total.usd / question.periods
            continue
        rows = zip(periods, total.periods, strict=True)
        used = [amount for row in rows if (amount := _used(question, limit, *row)) is not None]
        if used:
            yield limit.id, Fraction(max(used))


def _used(
    question: FleetProblem, limit: NamedLimit, period: PeriodChoice, paid: PeriodBill
) -> Fraction | int | None:
    """What one period takes of a limit; None where it does not tell."""
    kind, name = limit.kind, limit.id.partition(":")[2]
    if kind == "budget":
        return paid.usd
    if kind == "power":
        return paid.power_w
    if kind == "stock":
        return paid.gpus.get(name, 0)
    if kind == "max-gpus":
        return sum(paid.gpus.values())
    if kind == "supply":
        return period.bought.get(name, 0)
    if kind == "quota":
        lines = next((quota.lines for quota in question.limits.quotas if quota.id == limit.id), None)
        return None if lines is None else sum(period.bought.get(line, 0) for line in set(lines))
    if kind == "changes" and question.limits.changes is not None:
        today = question.limits.changes.today_gpus
        return sum(abs(paid.gpus.get(gpu, 0) - today.get(gpu, 0)) for gpu in {*today, *paid.gpus})
    return None
