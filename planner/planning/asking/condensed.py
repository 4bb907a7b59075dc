"""A fleet's answer as the explanations see it: all periods in one choice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from planner.constraints.fleet_check import FleetBill, bill
from planner.constraints.plan.changes import changed_gpus
from planner.constraints.plan.day_usage import day_usage
from planner.constraints.plan.registry import BY_POWER, CHANGES, plan_rows
from planner.constraints.plan.usage import Usage
from planner.schema.choice import Choice
from planner.schema.fleet import FleetChoice, FleetProblem
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
        taken=dict(_taken(question, limits, answer, total)),
    )


def _largest(rows: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The largest count of every name in any period."""
    found: dict[str, int] = defaultdict(int)
    for row in rows:
        for name, count in row.items():
            found[name] = max(found[name], count)
    return dict(sorted(found.items()))


def _taken(
    question: FleetProblem, limits: Iterable[NamedLimit], answer: FleetChoice, total: FleetBill
) -> Iterator[tuple[str, Fraction]]:
    """The least that each limit of the plan has to allow for what was chosen; moved limits as they were."""
    usage = Usage(question, answer.periods, (period.usd for period in total.periods))
    own = {row.id: row for row in plan_rows(question)}
    changes, day = question.limits.changes, day_usage(question, answer.periods)
    for limit in limits:
        # Without a limit on power other accelerators serve too, of which nobody knows what they count.
        row = own.get(limit.id, None if limit.kind in BY_POWER else limit.row)
        if row is not None:
            yield limit.id, usage.of(row)
        elif limit.id in day and limit.value is not None:
            yield limit.id, Fraction(day[limit.id])
        elif limit.kind == CHANGES.kind and changes is not None:
            moved = (changed_gpus(changes.today_gpus, period.gpus) for period in total.periods)
            yield limit.id, Fraction(max(moved))
