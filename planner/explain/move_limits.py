"""Limits on GPUs that stand at one time while a fleet moves: stock, supply, quotas, number, money, power."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction

from planner.explain.move_parts import Cap
from planner.schema.fleet import FleetChoice, FleetProblem

_NONE = Fraction(0)


def move_limits(problem: FleetProblem, choice: FleetChoice) -> tuple[Cap, ...]:
    """The limits of a problem as limits on GPUs by type.

    A quota counts the types of which every line falls under it. Money counts the price that the plan pays on
    average for a type, or the lowest price of one that it does not buy; power the most that replicas of any
    option take on a GPU of the type.
    """
    limits = problem.limits
    lines = {gpu: [line for line in problem.lines if line.gpu == gpu] for gpu in _types(problem)}
    caps = [
        Cap(f"stock:{gpu}", Fraction(most), {gpu: Fraction(1)}) for gpu, most in limits.stock_gpus.items()
    ]
    for gpu, mine in lines.items():
        held = [line.max_gpus for line in mine if line.max_gpus is not None]
        if mine and len(held) == len(mine):
            caps.append(Cap(f"supply:{gpu}", Fraction(sum(held)), {gpu: Fraction(1)}))
    for quota in limits.quotas:
        under = [gpu for gpu, mine in lines.items() if mine and all(line.id in quota.lines for line in mine)]
        caps.append(Cap(quota.id, Fraction(quota.gpus), dict.fromkeys(under, Fraction(1))))
    if limits.max_gpus is not None:
        caps.append(Cap("max-gpus", Fraction(limits.max_gpus), dict.fromkeys(lines, Fraction(1))))
    prices = usd_per_gpu_h(problem, choice)
    for budget in limits.budgets:
        if budget.every_period:
            caps.append(Cap(budget.id, budget.usd_per_h, prices, "USD/h"))
    if limits.power_w is not None:
        watts = {gpu: _watts(problem, gpu) for gpu in lines}
        caps.append(Cap("power", limits.power_w, watts, "W"))
    return tuple(caps)


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


def _watts(problem: FleetProblem, gpu: str) -> Fraction:
    watts = (option.power_w * option.slices / option.gpus for option in problem.options if option.gpu == gpu)
    return max(watts, default=_NONE)


def unit_gpus(problem: FleetProblem, choice: FleetChoice) -> Mapping[str, int]:
    """By type: GPUs that come and go together, the largest unit of the lines that the plan buys from."""
    used = {line for period in choice.periods for line, count in period.bought.items() if count}
    units: dict[str, int] = defaultdict(lambda: 1)
    for line in problem.lines:
        if line.id in used:
            units[line.gpu] = max(units[line.gpu], line.unit_gpus)
    return dict(units)
