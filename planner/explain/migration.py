"""From today's fleet to the new one, in an order in which capacity never falls below the demand.

Additions come first wherever limits allow both fleets at once; else GPUs are replaced in portions. A
replica that starts carries nothing until it is loaded (field guide 5.3, 7.3: cold start), so GPUs run twice
for as long as that takes; a lead time only moves the schedule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from planner.explain.both_fleets import BothFleets, quietest
from planner.explain.carrying import Carrying
from planner.explain.move_limits import lead_h, move_limits, unit_gpus, usd_per_gpu_h
from planner.explain.move_parts import Cap, Shares, SharesOf, TypeChange, Way
from planner.explain.move_path import Paths
from planner.explain.move_sizes import most_gpus, other_work
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.fleet_answers import ChangeStep, Excess, Move, Today

_NONE, _ALL = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class Market:
    """What changes cost and take."""

    caps: Sequence[Cap] = ()
    unit_gpus: Mapping[str, int] = field(default_factory=dict)
    usd_per_gpu_h: Mapping[str, Fraction] = field(default_factory=dict)
    lead_h: Mapping[str, Fraction] = field(default_factory=dict)
    cold_start_h: Mapping[str, Fraction] = field(default_factory=dict)


def migration(
    before: Mapping[str, int], after: Mapping[str, int], caps: Sequence[Cap] = ()
) -> tuple[ChangeStep, ...]:
    """Steps between two numbers of GPUs by type, when nothing else is known.

    Either fleet is taken to carry the demand as a whole, and each GPU an equal part.
    """
    way = _paths(before, after, {}, Market(caps), _equal_shares(before, after)).best()
    return _steps(way, known=False)


def move(
    problem: FleetProblem,
    choice: FleetChoice,
    today: Today,
    cold_start_h: Mapping[str, Fraction] | None = None,
) -> Move:
    """The whole way, with the limits that must give for a while and what runs twice.

    The new fleet has of each type the most GPUs of any period. The demand is that of each workload's busiest
    period; where that leaves a shortfall or breaks a limit, the quietest period is tried too.

    Args:
        problem: the question that was answered.
        choice: its answer, with at least one period.
        today: the fleet that runs now.
        cold_start_h: by GPU type, from a paid GPU to a replica that carries; absent = 0.
    """
    fleet = Carrying(problem, choice)
    market = Market(
        move_limits(problem, choice),
        unit_gpus(problem, choice),
        usd_per_gpu_h(problem, choice),
        lead_h(problem, choice),
        cold_start_h or {},
    )
    before, after = today.gpu_counts, most_gpus(problem, choice)
    busy = other_work(fleet, today)
    both = BothFleets(fleet, today)
    way = _paths(before, after, busy, market, both.shares).best()
    period = None
    if (way.shortfall or way.excess) and len(choice.periods) > 1:
        quiet = quietest(fleet)
        other = _paths(before, after, busy, market, BothFleets(fleet, today, quiet).shares).best()
        if (other.shortfall, other.excess) < (way.shortfall, way.excess):
            way, period = other, quiet
    steps = _steps(way, known=not both.assumed)
    double_gpu_h, double_usd = _twice(way, market)
    waits = (
        market.cold_start_h.get(step.gpu, _NONE)
        + (market.lead_h.get(step.gpu, _NONE) if step.to > step.from_ else _NONE)
        for step in steps
        if step.to > step.from_ or step.retasked
    )
    return Move(
        steps=steps,
        period=period,
        keeps_demand=not way.shortfall,
        excess=_excess(way, market.caps),
        assumed=both.assumed if steps and before else "",
        double_gpu_h=float(double_gpu_h),
        double_usd=None if double_usd is None else float(double_usd),
        hours=float(sum(waits, _NONE)),
    )


def _paths(
    before: Mapping[str, int],
    after: Mapping[str, int],
    retasked: Mapping[str, int],
    market: Market,
    shares_of: SharesOf,
) -> Paths:
    changes, still = [], {}
    for gpu in sorted({*before, *after}):
        old, new, other = before.get(gpu, 0), after.get(gpu, 0), retasked.get(gpu, 0)
        if old == new and not other:
            still[gpu] = old
        else:
            changes.append(TypeChange(gpu, old, new, other, market.unit_gpus.get(gpu, 1)))
    return Paths(changes, market.caps, shares_of, still)


def _equal_shares(before: Mapping[str, int], after: Mapping[str, int]) -> SharesOf:
    def part(gpus: Mapping[str, int], parts: Mapping[str, Fraction]) -> Fraction:
        total = sum(gpus.values())
        return sum((n * parts.get(g, _NONE) for g, n in gpus.items()), _NONE) / total if total else _NONE

    def shares(kept: Mapping[str, Fraction], come: Mapping[str, Fraction]) -> Shares:
        apart = {gpu: share for gpu, share in kept.items() if share + come.get(gpu, _NONE) <= 1}
        return (min(_ALL, max(part(before, kept), part(before, apart) + part(after, come))),)

    return shares


def _steps(way: Way, known: bool) -> tuple[ChangeStep, ...]:
    steps = []
    for place, (kind, retasked) in enumerate(way.touched):
        gpu = way.changes[kind].gpu
        counts = (way.gpus[place].get(gpu, 0), way.gpus[place + 1].get(gpu, 0))
        steps.append(
            ChangeStep.model_validate(
                {
                    "step": place + 1,
                    "gpu": gpu,
                    "from": counts[0],
                    "to": counts[1],
                    "retasked": retasked,
                    "share": float(way.least[place]) if known else None,
                }
            )
        )
    return tuple(steps)


def _excess(way: Way, caps: Sequence[Cap]) -> tuple[Excess, ...]:
    """Limits that hold at both ends (or are broken less there) and must give on the way."""
    found = []
    for cap in caps:
        used = [cap.used(gpus) for gpus in way.gpus]
        if max(used) > max(cap.most, used[0], used[-1]):
            found.append(Excess(id=cap.id, most=float(cap.most), needed=float(max(used)), unit=cap.unit))
    return tuple(found)


def _twice(way: Way, market: Market) -> tuple[Fraction, Fraction | None]:
    """GPU-hours, and their price: in each cold start, what was added so far and has its predecessor still."""
    added, hours, usd = 0, _NONE, _NONE
    paid = _NONE
    for place, (kind, _) in enumerate(way.touched):
        gpu = way.changes[kind].gpu
        more = way.gpus[place + 1].get(gpu, 0) - way.gpus[place].get(gpu, 0)
        if more <= 0:
            gone = min(added, -more)
            paid -= paid * gone / added if added else _NONE
            added -= gone
            continue
        added += more
        paid += more * market.usd_per_gpu_h.get(gpu, _NONE)
        to_go = _removals(way, place + 1)
        cold_h = market.cold_start_h.get(gpu, _NONE)
        twice = min(added, to_go)
        hours += cold_h * twice
        usd += cold_h * paid * twice / added
    return hours, usd if market.usd_per_gpu_h else None


def _removals(way: Way, start: int) -> int:
    """GPUs that are still to be removed."""
    count = 0
    for place in range(start, len(way.touched)):
        gpu = way.changes[way.touched[place][0]].gpu
        count += max(0, way.gpus[place].get(gpu, 0) - way.gpus[place + 1].get(gpu, 0))
    return count
