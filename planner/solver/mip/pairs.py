"""Rows that make prefill and decode options in use fit each other, pair by pair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction

from planner.schema.choice import Coupling, Option
from planner.solver.mip.mip import Model
from planner.solver.mip.pools import Work

_Kind = tuple[str, str | None, Fraction | None, Fraction | None, str]


def write_pairs(
    model: Model, work: Work, counts: Mapping[tuple[int, int, int], int], coupling: Coupling
) -> None:
    """Options that a pair cannot tell apart share one binary; binaries of kinds that do not fit exclude.

    Args:
        model: where the rows go.
        work: the workload.
        counts: columns of one period by (period, pool, place).
        coupling: what a pair must keep.
    """
    kinds: dict[_Kind, list[int]] = defaultdict(list)
    for (_, number, index), column in counts.items():
        pool = work.pools[number]
        option = pool.options[pool.places[index].option]
        if option.role != "serve":
            kinds[_kind(option)].append(column)
    first = [kind for kind in kinds if kind[0] == "prefill"]
    second = [kind for kind in kinds if kind[0] == "decode"]
    unfit = {(a, b) for a in first for b in second if not _fits(a, b, coupling.ttft_limit_s)}
    taken: dict[_Kind, int] = {}
    for kind in sorted({kind for pair in unfit for kind in pair}, key=str):
        taken[kind] = model.column(0, 1, whole=True)
        for column in kinds[kind]:
            model.row([(column, 1.0), (taken[kind], -model.upper[column])], upper=0)
    for a, b in sorted(unfit, key=str):
        model.row([(taken[a], 1.0), (taken[b], 1.0)], upper=1)


def _kind(option: Option) -> _Kind:
    ttft = option.ttft_s if option.role == "prefill" else None
    return (option.role, option.kv, ttft, option.transfer_s, option.place)


def _fits(prefill: _Kind, decode: _Kind, limit_s: Fraction | None) -> bool:
    """At one place KV formats agree where both state one, and TTFT with the slower KV transfer is kept."""
    if prefill[4] != decode[4]:
        return True
    if prefill[1] is not None and decode[1] is not None and prefill[1] != decode[1]:
        return False
    if limit_s is None or prefill[2] is None:
        return True
    return prefill[2] + max(prefill[3] or Fraction(0), decode[3] or Fraction(0)) <= limit_s
