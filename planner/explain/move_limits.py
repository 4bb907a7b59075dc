"""Limits on GPUs that stand at one time while a fleet moves: stock, supply, quotas, number, money, power."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

from planner.explain.move_parts import Cap
from planner.schema.fleet import FleetChoice, FleetProblem, Line
from planner.schema.limit_rows import LimitRow, ReplicaWeight

_NONE = Fraction(0)


def move_limits(problem: FleetProblem, choice: FleetChoice) -> tuple[Cap, ...]:
    """The limits of a problem as limits on GPUs by type.

    A quota counts the types of which every line falls under it. Money counts the price that the plan pays on
    average for a type, or the lowest price of one that it does not buy; what counts replicas, the most that
    those of any option count on a GPU of the type.
    """
    lines = {gpu: [line for line in problem.lines if line.gpu == gpu] for gpu in _types(problem)}
    caps = [_cap(problem, choice, row, lines) for row in problem.limits.rows if row.every_period]
    for gpu, mine in lines.items():
        held = [line.max_gpus for line in mine if line.max_gpus is not None]
        if mine and len(held) == len(mine):
            caps.append(Cap(f"supply:{gpu}", Fraction(sum(held)), {gpu: Fraction(1)}))
    return tuple(cap for cap in caps if cap.per_gpu)


def _cap(
    problem: FleetProblem, choice: FleetChoice, row: LimitRow, lines: Mapping[str, Sequence[Line]]
) -> Cap:
    prices = usd_per_gpu_h(problem, choice) if row.money else {}
    found = {}
    for gpu, mine in lines.items():
        each = prices.get(gpu, _NONE)
        if row.gpus is not None:
            each += min((Fraction(row.gpus(line)) for line in mine), default=_NONE)
        if row.replicas is not None:
            each += _of_replicas(problem, row.replicas, gpu)
        if each:
            found[gpu] = each
    return Cap(row.id, row.most, found, row.unit)


def usd_per_gpu_h(problem: FleetProblem, choice: FleetChoice) -> dict[str, Fraction]:
    """By type: what the plan pays for one GPU on average, or the lowest price where it buys none."""
    usd: dict[str, Fraction] = defaultdict(Fraction)
    gpus: dict[str, int] = defaultdict(int)
    lowest: dict[str, Fraction] = {}
    for line in problem.lines:
        lowest[line.gpu] = min(lowest.get(line.gpu, line.usd_per_gpu_h), line.usd_per_gpu_h)
        bought = sum(period.bought.get(line.id, 0) for period in choice.periods)
        usd[line.gpu] += bought * line.usd_per_gpu_h
        gpus[line.gpu] += bought
    return {gpu: usd[gpu] / gpus[gpu] if gpus[gpu] else price for gpu, price in sorted(lowest.items())}


def lead_h(problem: FleetProblem, choice: FleetChoice) -> dict[str, Fraction]:
    """By type: the longest lead time of the lines that the plan buys from."""
    used = {line for period in choice.periods for line, count in period.bought.items() if count}
    found: dict[str, Fraction] = defaultdict(Fraction)
    for line in problem.lines:
        if line.id in used:
            found[line.gpu] = max(found[line.gpu], line.lead_h)
    return dict(found)


def _types(problem: FleetProblem) -> list[str]:
    return sorted({line.gpu for line in problem.lines} | {option.gpu for option in problem.options})


def _of_replicas(problem: FleetProblem, weight: ReplicaWeight, gpu: str) -> Fraction:
    """The most that replicas of any option count on a GPU of a type."""
    each = (
        Fraction(weight(option, site)) * option.slices / option.gpus
        for option in problem.options
        if option.gpu == gpu
        for site in problem.sites_of(option)
    )
    return max(each, default=_NONE)


def unit_gpus(problem: FleetProblem, choice: FleetChoice) -> Mapping[str, int]:
    """By type: GPUs that come and go together, the largest unit of the lines that the plan buys from."""
    used = {line for period in choice.periods for line, count in period.bought.items() if count}
    units: dict[str, int] = defaultdict(lambda: 1)
    for line in problem.lines:
        if line.id in used:
            units[line.gpu] = max(units[line.gpu], line.unit_gpus)
    return dict(units)
