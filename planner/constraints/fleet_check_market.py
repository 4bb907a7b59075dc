"""What a fleet's plan buys, against the supply and the limits of the market."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from planner.schema.fleet import FleetLimits, FleetProblem, PeriodChoice, Site

_NONE = Fraction(0)
Totals = Sequence[tuple[Fraction, Mapping[str, int], Fraction]]
"""Per period: USD, GPUs by type, watts."""


def broken_purchases(problem: FleetProblem, period: PeriodChoice) -> Iterator[str]:
    """Lines of one period over their caps or shares, and hosts without room for their replicas."""
    by_gpu: dict[str, int] = defaultdict(int)
    room: dict[tuple[str, Site], Fraction] = defaultdict(Fraction)
    for line in problem.lines:
        count = period.bought.get(line.id, 0)
        by_gpu[line.gpu] += count
        room[line.host, line.site] += (1 - line.reserve) * count
        if count % line.unit_gpus:
            yield f"bought: {count} GPUs of {line.id}, sold by {line.unit_gpus}"
        if line.max_gpus is not None and count > line.max_gpus:
            yield f"supply:{line.id}: {count} of {line.max_gpus}"
    for line in problem.lines:
        count = period.bought.get(line.id, 0)
        if line.max_share is not None and count > line.max_share * by_gpu[line.gpu]:
            yield f"share:{line.id}: {count} of {by_gpu[line.gpu]} GPUs"
    yield from _crowded(problem, period, room)
    for gpu, stock in problem.limits.stock_gpus.items():
        if by_gpu[gpu] > stock:
            yield f"stock:{gpu}: {by_gpu[gpu]} of {stock}"
    for quota in problem.limits.quotas:
        count = sum(period.bought.get(line, 0) for line in set(quota.lines))
        if count > quota.gpus:
            yield f"{quota.id}: {count} of {quota.gpus}"


def _crowded(
    problem: FleetProblem, period: PeriodChoice, room: Mapping[tuple[str, Site], Fraction]
) -> Iterator[str]:
    """Hosts at sites where fewer GPUs are bought (less their reserve) than replicas take."""
    hosts = {host.id: host for host in problem.hosts}
    options = {option.id: option for option in problem.options}
    taken: dict[tuple[str, Site], Fraction] = defaultdict(Fraction)
    for (name, site), count in period.counts.items():
        option = options[name]
        taken[option.supply, site] += hosts[option.supply].room_gpus(option) * count
    for (host, site), gpus in taken.items():
        if gpus > room.get((host, site), _NONE):
            yield f"balance:{host} at {site}: {float(gpus)} of {float(room.get((host, site), _NONE))} GPUs"


def broken_market(problem: FleetProblem, periods: Sequence[PeriodChoice], totals: Totals) -> Iterator[str]:
    """Limits over everything that is bought, and those that tie periods together."""
    limits = problem.limits
    for t, (usd, gpus, power_w) in enumerate(totals):
        yield from (f"period {t}: {fault}" for fault in _broken_period(limits, usd, gpus, power_w))
    whole = sum((usd for usd, _, _ in totals), _NONE)
    for budget in limits.budgets:
        if not budget.every_period and whole > budget.usd_per_h * problem.periods:
            yield f"{budget.id}: {whole} in {problem.periods} periods of {budget.usd_per_h} each"
    for line in problem.lines:
        if line.term == "reserved" and len({period.bought.get(line.id, 0) for period in periods}) > 1:
            yield f"reserved: {line.id} differs between periods"
    types = {option.id: option.gpu for option in problem.options}
    in_use = {types[option] for period in periods for (option, _), count in period.counts.items() if count}
    yield from (f"must-use:{gpu}: none in use" for gpu in limits.must_use if gpu not in in_use)


def _broken_period(
    limits: FleetLimits, usd: Fraction, gpus: Mapping[str, int], power_w: Fraction
) -> Iterator[str]:
    count = sum(gpus.values())
    if limits.max_gpus is not None and count > limits.max_gpus:
        yield f"max-gpus: {count} of {limits.max_gpus}"
    if limits.power_w is not None and power_w > limits.power_w:
        yield f"power: {power_w} of {limits.power_w}"
    for budget in limits.budgets:
        if budget.every_period and usd > budget.usd_per_h:
            yield f"{budget.id}: {usd} of {budget.usd_per_h}"
    if limits.changes is not None:
        moved = _moved(limits.changes.today_gpus, gpus)
        if moved > limits.changes.most:
            yield f"changes: {moved} of {limits.changes.most}"


def _moved(today: Mapping[str, int], gpus: Mapping[str, int]) -> int:
    """GPUs added or removed, summed over types."""
    return sum(abs(gpus.get(gpu, 0) - today.get(gpu, 0)) for gpu in {*today, *gpus})
