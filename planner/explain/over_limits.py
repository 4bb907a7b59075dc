"""Limits that a purchase put together by hand would break, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from planner import numbers
from planner.constraints.plan.registry import BY_KIND
from planner.schema.choice import Option
from planner.schema.fleet import FleetProblem
from planner.schema.limit_rows import LimitRow

_NONE = Fraction(0)


def over_limits(
    problem: FleetProblem, gpus: Mapping[str, int], replicas: Mapping[str, int], usd_per_h: Fraction
) -> Iterator[str]:
    """What one period breaks for sure, wherever its GPUs and replicas stand.

    Args:
        problem: with the limits.
        gpus: bought, by type.
        replicas: by option id.
        usd_per_h: what all of it costs.
    """
    options = {option.id: option for option in problem.options}
    held = [(options[name], count) for name, count in replicas.items() if count]
    for row in problem.limits.rows:
        amount = least_amount(problem, row, gpus, held, usd_per_h)
        if amount > row.most and row.part_of is None:
            above = f"above {BY_KIND[row.kind].above(row)}"
            yield above if row.of_money else f"{numbers.quantity(float(amount), row.unit)}, {above}"


def least_amount(
    problem: FleetProblem,
    row: LimitRow,
    gpus: Mapping[str, int],
    held: Iterable[tuple[Option, int]],
    usd_per_h: Fraction,
) -> Fraction:
    """What GPUs by type, replicas and money count for a limit in one period, wherever they stand."""
    amount = sum((_gpu_weight(problem, row, gpu) * count for gpu, count in gpus.items()), _NONE)
    amount += sum((_weight(problem, row, option) * count for option, count in held), _NONE)
    return amount + (usd_per_h if row.money else _NONE)


def _gpu_weight(problem: FleetProblem, row: LimitRow, gpu: str) -> Fraction:
    """What a GPU of a type counts on any of its lines at least."""
    if row.gpus is None:
        return _NONE
    return Fraction(min((row.gpus(line) for line in problem.lines if line.gpu == gpu), default=0))


def _weight(problem: FleetProblem, row: LimitRow, option: Option) -> Fraction:
    if row.replicas is None:
        return _NONE
    return Fraction(min((row.replicas(option, site) for site in problem.sites_of(option)), default=0))
