"""From whole numbers to a choice: purchases bought anew, shares exact, every limit checked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction

from planner.constraints.fleet_check import bill, broken
from planner.schema.choice import LossShares, Option, Share
from planner.schema.fleet import FleetChoice, FleetProblem, PeriodChoice, Placement
from planner.solver.mip.exact import Carried, Short, settle
from planner.solver.mip.mip import INF, Floats, Model, solve
from planner.solver.mip.plan import BlockPlan, Plan, uses
from planner.solver.mip.prepared import Prepared
from planner.solver.mip.purchases import PurchaseWriter, balance
from planner.solver.mip.run import PROVED_GAP
from planner.solver.work import Limit

_BUY = Limit(20.0)
"""Purchases of given replicas are a small program; it never took a second in the measurements."""
_MARGIN = 1e-7
"""Part of a budget or power limit left unused where rounding broke it."""


@dataclass(frozen=True)
class Bought:
    """Purchases for given replicas."""

    units: Mapping[tuple[int, int], int]
    value: float
    """Objective of the whole plan, penalties included."""
    beyond: bool
    """More is used than is bought: no plan yet."""


def used_by(prepared: Prepared, blocks: Sequence[BlockPlan]) -> Floats:
    """What blocks use together, by resource."""
    import numpy as np

    total = np.zeros(prepared.resources)
    for block in blocks:
        for resource, amount in uses(prepared, block).items():
            total[resource] += amount
    return total


def buy(
    prepared: Prepared,
    used: Floats,
    *,
    penalties: Floats | None = None,
    start: Mapping[tuple[int, int], int] | None = None,
    margin: float = 0.0,
    limit: Limit = _BUY,
    gap: float = 0.0,
) -> Bought | None:
    """The best purchases for these uses; None where there are none.

    Args:
        prepared: the problem.
        used: by resource.
        penalties: what a unit of use beyond the purchases counts; None: there is none.
        start: units to start from.
        margin: part of money and power left unused.
        limit: after which the best purchases so far are taken.
        gap: that is good enough.
    """
    model = Model()
    found = PurchaseWriter(prepared, margin).write(model, range(prepared.periods))
    own = len(model.cost)
    balance(model, [], found, used, penalties)
    hint = {column: float(start.get(key, 0)) for key, column in found.units.items()} if start else None
    answer = solve(model, limit=limit, gap=gap, hint=hint)
    if answer.columns is None:
        return None
    units = {key: round(float(answer.columns[column])) for key, column in found.units.items()}
    beyond = float(answer.columns[own:].sum()) > 1e-6
    return Bought({key: count for key, count in units.items() if count}, answer.value, beyond)


def finish(
    problem: FleetProblem,
    prepared: Prepared,
    blocks: Sequence[BlockPlan],
    units: Mapping[tuple[int, int], int] | None = None,
) -> FleetChoice | list[Short] | None:
    """The choice with these replicas, what is short in them, or None where they cannot be bought.

    Args:
        problem: what was asked.
        prepared: the same, sorted and without needless options.
        blocks: replicas.
        units: what to buy where that does; it is bought anew else.
    """
    paired = [with_partners(prepared, block) for block in blocks]
    if any(one is not block for one, block in zip(paired, blocks, strict=True)):
        # Hours without demand keep a replica of each role wherever it stands: then it stays as it is.
        found = _finished(problem, prepared, paired, None)
        if isinstance(found, FleetChoice):
            return found
    return _finished(problem, prepared, blocks, units)


def _finished(
    problem: FleetProblem,
    prepared: Prepared,
    blocks: Sequence[BlockPlan],
    units: Mapping[tuple[int, int], int] | None,
) -> FleetChoice | list[Short] | None:
    settled = [settle(prepared, block) for block in blocks]
    short = [one for one in settled if isinstance(one, Short)]
    if short:
        return short
    carried = [one for one in settled if isinstance(one, Carried)]
    if units is not None:
        choice = _choice(problem, prepared, Plan(tuple(blocks), units), carried)
        if not broken(problem, choice):
            return choice
    used = used_by(prepared, blocks)
    for margin in (0.0, _MARGIN):
        bought = buy(prepared, used, margin=margin)
        if bought is None:
            return None
        choice = _choice(problem, prepared, Plan(tuple(blocks), bought.units), carried)
        if not broken(problem, choice):
            return choice
    return None


def with_partners(prepared: Prepared, block: BlockPlan) -> BlockPlan:
    """Without replicas of prefill or decode that meet none of the other at their place in any hour.

    They carry nothing; a search that is cut short may leave some.
    """
    pools = prepared.works[prepared.blocks[block.number][0]].pools

    def option_at(number: int, index: int) -> Option:
        return pools[number].options[pools[number].places[index].option]

    there: dict[int, set[tuple[str, str]]] = defaultdict(set)
    for period, number, index in block.counts:
        option = option_at(number, index)
        there[period].add((option.role, option.place))
    met = {
        (number, index)
        for period, number, index in block.counts
        if _meets(option_at(number, index), there[period])
    }
    left = {key: count for key, count in block.counts.items() if key[1:] in met}
    return block if len(left) == len(block.counts) else replace(block, counts=left)


def _meets(option: Option, there: Set[tuple[str, str]]) -> bool:
    """An option without a place may stand at any."""
    return option.role == "serve" or any(
        role not in ("serve", option.role) and (place == option.place or not place or not option.place)
        for role, place in there
    )


def _choice(problem: FleetProblem, prepared: Prepared, plan: Plan, carried: Sequence[Carried]) -> FleetChoice:
    periods = []
    for t in range(prepared.periods):
        counts: dict[Placement, int] = {}
        shares: list[Share] = []
        losses: list[LossShares] = []
        levels: dict[str, Fraction] = {}
        for block, done in zip(plan.blocks, carried, strict=True):
            work = prepared.works[prepared.blocks[block.number][0]]
            if t not in done.shares:
                continue
            for (period, number, index), count in sorted(block.counts.items()):
                if period == t:
                    place = work.pools[number].places[index]
                    counts[work.pools[number].options[place.option].id, place.site] = count
            shares.extend(done.shares[t])
            losses.extend(done.losses[t])
            if t in done.levels:
                levels[work.name] = done.levels[t]
        bought = {
            line.id: plan.units[t, index] * line.unit_gpus
            for index, line in enumerate(prepared.problem.lines)
            if (t, index) in plan.units
        }
        periods.append(PeriodChoice(counts, bought, tuple(_sort(shares)), tuple(losses), levels))
    total = bill(problem, periods)
    value = total.value(problem.limits.objective)
    return FleetChoice("feasible", tuple(periods), total.usd, value, engine="HiGHS")


def _sort(shares: list[Share]) -> list[Share]:
    return sorted(shares, key=lambda s: (s.workload, s.role, s.bucket, s.option))


def lower_bound(bound: float) -> Fraction:
    """A bound from floats, rounded down; no objective is negative."""
    if bound in (INF, -INF):
        return Fraction(0)
    return max(Fraction(0), Fraction(bound) - abs(Fraction(bound)) / 10**9)


def with_bound(choice: FleetChoice, bound: float, *, near: float = PROVED_GAP) -> FleetChoice:
    """The choice with what is proved; within ``near`` of its bound it is optimal."""
    assert choice.value is not None
    low = choice.value if bound == INF else lower_bound(bound)
    if choice.value - low <= Fraction(near) * abs(choice.value):
        return replace(choice, status="optimal", lower_bound=choice.value, gap=Fraction(0))
    return replace(choice, status="feasible", lower_bound=low, gap=_gap(choice.value, low))


def _gap(value: Fraction, low: Fraction) -> Fraction:
    return (value - low) / value if value else Fraction(0)
