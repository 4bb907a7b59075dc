"""What a fleet's plan buys, against the supply and the limits of the plan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from planner.constraints.packing import Held, packed
from planner.constraints.plan.changes import changed_gpus
from planner.constraints.plan.day_usage import broken_day
from planner.constraints.plan.registry import CHANGES, plan_rows
from planner.constraints.plan.usage import Usage
from planner.schema.fleet import FleetProblem, PeriodChoice, Site

_NONE = Fraction(0)


def broken_purchases(problem: FleetProblem, period: PeriodChoice) -> Iterator[str]:
    """Lines of one period that are not bought in their units, and hosts without room for their replicas."""
    room: dict[tuple[str, Site], Fraction] = defaultdict(Fraction)
    for line in problem.lines:
        count = period.bought.get(line.id, 0)
        room[line.host, line.site] += (1 - line.reserve) * count
        if count % line.unit_gpus:
            yield f"bought: {count} GPUs of {line.id}, sold by {line.unit_gpus}"
    yield from _crowded(problem, period, room)


def _crowded(
    problem: FleetProblem, period: PeriodChoice, room: Mapping[tuple[str, Site], Fraction]
) -> Iterator[str]:
    """Hosts at sites with fewer GPUs (less their reserve) than replicas take, or with too few servers."""
    hosts = {host.id: host for host in problem.hosts}
    options = problem.options_by_id
    held: dict[tuple[str, Site], list[Held]] = defaultdict(list)
    for (name, site), count in period.counts.items():
        held[options[name].supply, site].append((options[name], count))
    bought: dict[tuple[str, Site], int] = defaultdict(int)
    for line in problem.lines:
        bought[line.host, line.site] += period.bought.get(line.id, 0)
    for (host, site), here in held.items():
        gpus = sum((hosts[host].room_gpus(option) * count for option, count in here), _NONE)
        if gpus > room.get((host, site), _NONE):
            yield f"balance:{host} at {site}: {float(gpus)} of {float(room.get((host, site), _NONE))} GPUs"
        elif not packed(hosts[host], here, bought[host, site]):
            yield f"packing:{host} at {site}: servers of {bought[host, site]} GPUs do not hold the replicas"


def broken_limits(
    problem: FleetProblem,
    periods: Sequence[PeriodChoice],
    usd: Sequence[Fraction],
    gpus: Sequence[Mapping[str, int]],
) -> Iterator[str]:
    """Limits of the plan that it breaks, and what ties periods together.

    Args:
        problem: what is asked.
        periods: the plan.
        usd: what every period costs.
        gpus: bought in every period, by type.
    """
    usage = Usage(problem, periods, usd)
    for row in plan_rows(problem):
        amounts = usage.by_period(row)
        if not row.every_period and usage.of(row) > row.most:
            yield f"{row.id}: {float(usage.of(row)):g} of {float(row.most):g} on average"
        for t, amount in enumerate(amounts if row.every_period else ()):
            if amount > row.most:
                yield f"period {t}: {row.id}: {float(amount):g} of {float(row.most):g}"
    if problem.limits.changes is not None:
        today, most = problem.limits.changes.today_gpus, problem.limits.changes.most
        for t, bought in enumerate(gpus):
            moved = changed_gpus(today, bought)
            if moved > most:
                yield f"period {t}: {CHANGES.kind}: {moved} of {most}"
    yield from broken_day(problem, periods)
    for line in problem.lines:
        if line.term == "reserved" and len({period.bought.get(line.id, 0) for period in periods}) > 1:
            yield f"reserved: {line.id} differs between periods"
    used = {option for period in periods for (option, _), count in period.counts.items() if count}
    in_use = {problem.options_by_id[option].gpu for option in used}
    yield from (f"must-use:{gpu}: none in use" for gpu in problem.limits.must_use if gpu not in in_use)
