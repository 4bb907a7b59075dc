"""What a change of the problem does to the plan."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from planner.errors import StoppedError, input_error
from planner.explain.difference import difference
from planner.schema.answers import Sweep, SweepRow, WhatIf

if TYPE_CHECKING:
    from planner.app.loaded_problem import LoadedProblem
    from planner.planning.run import Run
    from planner.schema.plan import Plan

MOST_ROWS = 1000
"""Combinations of one sweep."""


def what_if(session: LoadedProblem, changes: Mapping[str, Any], run: Run) -> WhatIf:
    """The plan before and after changes by path.

    Raises:
        InputError: paths that lead nowhere, and everything wrong with the changed problem.
    """
    changed = session.changed(changes)
    before = session.plan(run.part(2))
    after = changed.plan(run.part(1))
    return WhatIf(before=before, after=after, difference=difference(before, after))


def sweep(session: LoadedProblem, axes: Mapping[str, Sequence[Any]], run: Run) -> Sweep:
    """The plan at every combination of values.

    Raises:
        InputError: more than `MOST_ROWS` combinations, and as for `what_if`.
        StoppedError: the time ended before the first of them was planned.
    """
    return sweep_of(session, axes, run, lambda changed, part: changed.plan(part))


def sweep_of(
    session: LoadedProblem,
    axes: Mapping[str, Sequence[Any]],
    run: Run,
    planned: Callable[[LoadedProblem, Run], Plan],
) -> Sweep:
    """A plan at every combination of values; every combination is checked before the first is planned.

    Each takes its part of the time that is left. Those that the time does not suffice for are left out.

    Raises:
        InputError: more than `MOST_ROWS` combinations, and as for `what_if`.
        StoppedError: the time ended before the first of them was planned.
    """
    points = combinations(session, axes)
    number = len(points)
    rows: list[SweepRow] = []
    try:
        for point, changed in points:
            plan = planned(changed, run.part(number - len(rows)))
            rows.append(SweepRow(set=point, plan=plan))
    except StoppedError:
        if not rows:
            raise
    return Sweep(rows=tuple(rows), complete=len(rows) == number)


def combinations(
    session: LoadedProblem, axes: Mapping[str, Sequence[Any]]
) -> list[tuple[dict[str, Any], LoadedProblem]]:
    """Every combination of values with its problem, all of them checked.

    Raises:
        InputError: more than `MOST_ROWS` combinations, and as for `what_if`.
    """
    number = 1
    for values in axes.values():
        number *= len(values)
    if number > MOST_ROWS:
        raise input_error("--sweep", "", f"{number} combinations", f"at most {MOST_ROWS}")
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    plain = [{path: _plain(value) for path, value in point.items()} for point in points]
    return list(zip(plain, (session.changed(point, "--sweep") for point in points), strict=True))


def _plain(value: Any) -> Any:
    """A value as JSON knows it."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and abs(value) < 2**53 else float(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
