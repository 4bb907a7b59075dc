"""From today's fleet to the new one, in an order in which capacity never falls below the demand.

Additions come first wherever limits allow both fleets at once; else GPUs are replaced in portions, or added
for a while so that others can get other work. A replica that starts carries nothing until it is loaded
(field guide 5.3, 7.3: cold start), so GPUs run twice for as long as that takes; a lead time only moves the
schedule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from planner.explain.both_fleets import BothFleets, quietest
from planner.explain.carrying import Carrying
from planner.explain.move_limits import lead_h, move_limits, unit_gpus, usd_per_gpu_h
from planner.explain.move_parts import Cap, Shares, SharesOf, TypeChange, Way, Work, any_work
from planner.explain.move_path import Paths
from planner.explain.move_sizes import most_gpus, works
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
    work = tuple({any_work(gpu): n for gpu, n in fleet.items()} for fleet in (before, after))
    way = _paths(before, after, (work[0], work[1]), Market(caps), _equal_shares(before, after)).best()
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
    work = works(fleet, today)
    both = BothFleets(fleet, today)
    way = _paths(before, after, work, market, both.shares).best()
    period = None
    if (way.shortfall or way.excess) and len(choice.periods) > 1:
        quiet = quietest(fleet)
        other = _paths(before, after, work, market, BothFleets(fleet, today, quiet).shares).best()
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
        every_order=way.every_order,
        excess=_excess(way, market.caps),
        assumed=both.assumed if steps and before else "",
        double_gpu_h=float(double_gpu_h),
        double_usd=None if double_usd is None else float(double_usd),
        hours=float(sum(waits, _NONE)),
    )


def _paths(
    before: Mapping[str, int],
    after: Mapping[str, int],
    work: tuple[Mapping[Work, int], Mapping[Work, int]],
    market: Market,
    shares_of: SharesOf,
) -> Paths:
    changes, still, staying = [], {}, []
    for gpu in sorted({*before, *after}):
        ends = before.get(gpu, 0), after.get(gpu, 0)
        old, new = ({w: n for w, n in side.items() if w[0] == gpu and n} for side in work)
        change = TypeChange.of(gpu, ends, old, new, market.unit_gpus.get(gpu, 1))
        staying += [w for w in {*old, *new} if w not in change.leaves and w not in change.comes]
        if change.leaves or change.comes:
            changes.append(change)
        else:
            still[gpu] = ends[0]
    return Paths(changes, market.caps, shares_of, still, staying)


def _equal_shares(before: Mapping[str, int], after: Mapping[str, int]) -> SharesOf:
    def part(gpus: Mapping[str, int], parts: Mapping[Work, Fraction]) -> Fraction:
        total, none = sum(gpus.values()), _NONE
        return (
            sum((n * parts.get(any_work(g), none) for g, n in gpus.items()), none) / total if total else none
        )

    def shares(kept: Mapping[Work, Fraction], come: Mapping[Work, Fraction]) -> Shares:
        apart = {work: share for work, share in kept.items() if share + come.get(work, _NONE) <= 1}
        return (min(_ALL, max(part(before, kept), part(before, apart) + part(after, come))),)

    return shares


def _steps(way: Way, known: bool) -> tuple[ChangeStep, ...]:
    steps = []
    for place, (gpu, retasked) in enumerate(way.touched):
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
    for place, (gpu, _) in enumerate(way.touched):
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
        gpu = way.touched[place][0]
        count += max(0, way.gpus[place].get(gpu, 0) - way.gpus[place + 1].get(gpu, 0))
    return count
