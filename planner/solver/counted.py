"""Rows for options whose rates hold only while their pool has certain numbers of replicas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from planner.schema.choice import Option
from planner.solver.cp_sat import cp_model


def post_numbers(
    cp: cp_model.CpModel,
    options: Sequence[Option],
    counts: Mapping[str, cp_model.IntVar],
    upper: Mapping[str, int],
) -> None:
    """Keep every option to the numbers of replicas of the pool for which its rates hold.

    The numbers are cut where any option begins or ceases to hold. One piece is taken; the replicas of
    all options together lie in it, and options that do not hold there have none. A pool without replicas
    takes the empty piece. Pools whose options hold for every number get no rows.

    Args:
        cp: the model to post to.
        options: all options of one pool.
        counts: replicas by option id.
        upper: their upper bounds.
    """
    if not any(option.counted for option in options):
        return
    most = sum(upper[option.id] for option in options)
    parts = [(first, last) for first, last in pieces(options, most) if first <= most]
    taken = [cp.new_bool_var(f"replicas[{first}-{last}]") for first, last in parts]
    cp.add_exactly_one([*taken, cp.new_bool_var("replicas[0]")])
    total = sum(counts[option.id] for option in options)
    cp.add(total >= sum(first * piece for (first, _), piece in zip(parts, taken, strict=True)))
    cp.add(total <= sum(last * piece for (_, last), piece in zip(parts, taken, strict=True)))
    groups: dict[tuple[int, int | None], list[Option]] = {}
    for option in options:
        groups.setdefault((option.replicas_from, option.replicas_to), []).append(option)
    for alike in groups.values():
        room = sum(upper[option.id] for option in alike)
        held = sum(
            min(last, room) * piece
            for (first, last), piece in zip(parts, taken, strict=True)
            if alike[0].holds_for(first)
        )
        cp.add(sum(counts[option.id] for option in alike) <= held)


def pieces(options: Sequence[Option], most: int) -> list[tuple[int, int]]:
    """Numbers of replicas between which nothing changes: first and last of each, ascending from 1."""
    starts = {1} | {option.replicas_from for option in options}
    starts |= {option.replicas_to + 1 for option in options if option.replicas_to is not None}
    bounds = [*sorted(starts), max(most, max(starts)) + 1]
    return [(first, after - 1) for first, after in pairwise(bounds)]
