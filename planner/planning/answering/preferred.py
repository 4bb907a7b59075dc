"""Options in use exchanged for equals that depart from fewer preferences, where the plan still holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import replace
from fractions import Fraction

from planner.constraints.fleet_check import broken
from planner.schema.choice import LossShares, Option, Role, Share
from planner.schema.fleet import FleetChoice, FleetProblem, PeriodChoice, Placement


def with_preferred(question: FleetProblem, choice: FleetChoice) -> FleetChoice:
    """The same purchases with the preferred options, each exchanged where every limit is still kept.

    A larger share of memory carries more for the same money, so a search takes it always. Where the plan
    needs no more than the smaller one carries, that one stays. The check is exact and needs no solver.
    """
    if not any(option.slack < 0.0 for option in question.options) or choice.value is None:
        return choice
    used = {option for period in choice.periods for (option, _), count in period.counts.items() if count}
    alike: dict[Hashable, list[Option]] = defaultdict(list)
    for option in question.options:
        alike[_room(option)].append(option)
    for option in [option for option in question.options if option.id in used and option.slack < 0.0]:
        better = [other for other in alike[_room(option)] if other.slack > option.slack]
        for other in sorted(better, key=lambda other: (-other.slack, *(-rate for rate in other.rates_rps))):
            exchanged = _exchanged(choice, option.id, other.id)
            if not broken(question, exchanged):
                choice = exchanged
                break
    return choice


def _room(option: Option) -> Hashable:
    """What options take, and what they must fit."""
    return (
        *(option.pool, option.supply, option.gpus, option.units_per_replica, option.slices, option.place),
        *(option.ttft_s, option.transfer_s, option.kv, option.power_w),
    )


def _exchanged(choice: FleetChoice, before: str, after: str) -> FleetChoice:
    names = {before: after}
    return replace(choice, periods=tuple(_in_period(period, names) for period in choice.periods))


def _in_period(period: PeriodChoice, names: Mapping[str, str]) -> PeriodChoice:
    counts: dict[Placement, int] = defaultdict(int)
    for (option, site), count in period.counts.items():
        counts[names.get(option, option), site] += count
    losses = tuple(
        LossShares(loss.workload, loss.role, _lost(loss, names), _shares(loss.shares, names))
        for loss in period.loss_shares
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
