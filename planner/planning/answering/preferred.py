"""Options in use exchanged for preferred or other used ones of the same room, where the plan still holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import replace
from fractions import Fraction

from planner.constraints.fleet_check import broken
from planner.schema.choice import LossShares, Option, Role, Share
from planner.schema.fleet import FleetChoice, FleetProblem, PeriodChoice, Placement
from planner.solver.promising import uses_of


def with_preferred(question: FleetProblem, choice: FleetChoice) -> FleetChoice:
    """The same purchases with the preferred options, and fewer of them, where every limit is still kept.

    A larger share of memory carries more for the same money, so a search takes it always. Where the plan
    needs no more than the smaller one carries, that one stays. And searches that settle no ties mix options
    that cost the same. The check is exact and needs no solver.
    """
    if choice.value is None:
        return choice
    alike: dict[Hashable, list[Option]] = defaultdict(list)
    for option in question.options:
        alike[_room(option)].append(option)
    return _with_fewer(question, _without_departures(question, choice, alike))


def _without_departures(
    question: FleetProblem, choice: FleetChoice, alike: Mapping[Hashable, list[Option]]
) -> FleetChoice:
    used = uses_of(choice)
    for option in [option for option in question.options if option.id in used and option.slack < 0.0]:
        better = [other for other in alike[_room(option)] if other.slack > option.slack]
        for other in sorted(better, key=lambda other: (-other.slack, *(-rate for rate in other.rates_rps))):
            other_plan = exchanged(choice, option.id, other.id)
            if not broken(question, other_plan):
                choice = other_plan
                break
    return choice


def _with_fewer(question: FleetProblem, choice: FleetChoice) -> FleetChoice:
    """Each option, from the least used on, exchanged for another that is in use."""
    used = uses_of(choice)
    mine = sorted(
        (one for one in question.options if used[one.id]),
        key=lambda one: (used[one.id], one.rates_rps, one.id),
    )
    for option in mine:
        others = [one for one in mine if one is not option and used[one.id] and _taken(one) == _taken(option)]
        for other in reversed(others):
            other_plan = exchanged(choice, option.id, other.id)
            if not broken(question, other_plan):
                choice, used = other_plan, uses_of(other_plan)
                break
    return choice


def _room(option: Option) -> Hashable:
    """What options take, and what they must fit."""
    return (_taken(option), option.ttft_s, option.transfer_s, option.kv)


def _taken(option: Option) -> Hashable:
    """What options take."""
    return (
        *(option.pool, option.supply, option.gpus, option.units_per_replica, option.slices, option.place),
        option.power_w,
    )


def exchanged(choice: FleetChoice, before: str, after: str, times: int = 1) -> FleetChoice:
    """The plan with one option in place of another; ``times``: so many replicas for each."""
    names = {before: after}
    return replace(choice, periods=tuple(_in_period(period, names, times) for period in choice.periods))


def _in_period(period: PeriodChoice, names: Mapping[str, str], times: int) -> PeriodChoice:
    counts: dict[Placement, int] = defaultdict(int)
    for (option, site), count in period.counts.items():
        counts[names.get(option, option), site] += count * (times if option in names else 1)
    losses = tuple(
        LossShares(loss.workload, loss.role, _lost(loss, names), _shares(loss.shares, names))
        for loss in period.loss_shares
        if times == 1
    )
    return replace(period, counts=dict(counts), shares=_shares(period.shares, names), loss_shares=losses)


def _lost(loss: LossShares, names: Mapping[str, str]) -> tuple[tuple[str, int], ...]:
    found: dict[str, int] = defaultdict(int)
    for option, count in loss.lost:
        found[names.get(option, option)] += count
    return tuple(sorted(found.items()))


def _shares(shares: tuple[Share, ...], names: Mapping[str, str]) -> tuple[Share, ...]:
    found: dict[tuple[str, Role, str, str], Fraction] = defaultdict(Fraction)
    for share in shares:
        name = names.get(share.option, share.option)
        found[share.workload, share.role, share.bucket, name] += share.share
    return tuple(Share(*at, part) for at, part in found.items())
