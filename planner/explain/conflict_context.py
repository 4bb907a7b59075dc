"""The given facts beside a conflict, such as demand or what is owned, without which it would not be one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.explain.axis import Axis
from planner.explain.conflicts import Conflicts
from planner.explain.oracle import Oracle
from planner.explain.regions import away
from planner.schema.reasons import NamedLimit

_MOST_ASKS = 200
_TOLD_FIRST = ("demand", "supply")
"""Kinds of given facts that people look for first; the others follow in the order of the limits."""


def conflict_context(
    oracle: Oracle, conflicts: Conflicts, most_asks: int = _MOST_ASKS
) -> tuple[tuple[NamedLimit, ...], ...]:
    """For each minimal conflict the given limits without which its members could hold together.

    Each given limit is taken away alone (demand: down to a thousandth), beside every limit that is not in the
    conflict: what then has a plan needs this fact to be a conflict. One question each at most; what earlier
    answers tell is not asked, and what a limit of time left open is left out.

    Args:
        oracle: the problem, with what the search for conflicts showed.
        conflicts: its minimal conflicts.
        most_asks: questions at most; conflicts beyond have no context.
    """
    last_ask = oracle.asks + most_asks
    return tuple(tuple(_of(oracle, conflict, last_ask)) for conflict in conflicts.sets)


def _of(oracle: Oracle, conflict: Sequence[str], last_ask: int) -> Iterator[NamedLimit]:
    grantable = [limit.id for limit in oracle.limits if limit.grantable]
    lifted = {name: None for name in grantable if name not in conflict}
    for limit in sorted(_given(oracle), key=_rank):
        changes = {**lifted, **away([Axis(limit)])}
        if oracle.known(changes) is None and oracle.asks >= last_ask:
            continue
        if oracle.feasible(changes):
            yield limit


def _given(oracle: Oracle) -> list[NamedLimit]:
    return [limit for limit in oracle.limits if not limit.grantable]


def _rank(limit: NamedLimit) -> int:
    return _TOLD_FIRST.index(limit.kind) if limit.kind in _TOLD_FIRST else len(_TOLD_FIRST)
