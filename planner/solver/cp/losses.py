"""Cover rows that hold after every loss that the spares of a pool must survive.

Each row is ``sum weights * replicas >= needed`` once the loss is taken off; it is asked only of an active
pool (``active`` is 1, or a literal where the workload may be served in another mode).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from planner.schema.choice import Option
from planner.solver.covers import Cover, Pooled
from planner.solver.cp.integers import LARGEST_SUM, CoverRow, cover_row
from planner.solver.cp_sat import Expr, cp_model, weighted


def post_after_loss(
    cp: cp_model.CpModel,
    pool: Pooled,
    row: CoverRow,
    counts: Sequence[Expr],
    is_used: Callable[[Option], Expr],
    active: Expr,
    at_most: Callable[[int, int], Expr],
) -> None:
    """The row itself, for the kind and number of spares of the pool.

    Of servers that hold several replicas the row knows those that hold one option alone; others come with
    `post_after_this_loss`. ``at_most(place, n)`` is the number of replicas of an option, or n if it is less.
    """
    if pool.spares == 0:
        cp.add(_carried(counts, row.weights) >= row.needed * active)
    elif pool.demand.spares.kind == "per_option":
        used = [is_used(option) for option in pool.options]
        idle = _carried(used, [pool.spares * weight for weight in row.weights])
        cp.add(_carried(counts, row.weights) - idle >= row.needed * active)
    elif pool.shares_servers:
        loss = cp.new_int_var(0, LARGEST_SUM >> 1, "loss")
        for place, weight in enumerate(row.weights):
            if weight:
                cp.add(loss >= weight * at_most(place, pool.lost_alone(place)))
        cp.add(_carried(counts, row.weights) - loss >= row.needed * active)
    elif pool.spares == 1:
        _post_largest_loss(cp, pool, row, counts, is_used, active)
    else:
        _post_worst_loss(cp, pool, row, counts, active)


def post_after_this_loss(
    cp: cp_model.CpModel,
    row: CoverRow,
    counts: Sequence[Expr],
    lost: Sequence[int],
    active: Expr,
    at_most: Callable[[int, int], Expr],
) -> None:
    """The row after the loss of so many replicas of each option, or of all where there are fewer."""
    gone = [
        (at_most(place, n), row.weights[place]) for place, n in enumerate(lost) if n and row.weights[place]
    ]
    cp.add(_carried(counts, row.weights) - weighted(gone) >= row.needed * active)


def post_alone(
    cp: cp_model.CpModel,
    pool: Pooled,
    cover: Cover,
    counts: Sequence[Expr],
    upper: Sequence[int],
    active: Expr,
) -> None:
    """Every mix is at least a convex mix of options that carry the demand alone with their spares.

    ``total - n fastest >= needed`` holds at some level a as ``sum n_k min(w_k, a) >= needed + n a``;
    dividing and taking the largest coefficient over a gives ``sum n_k w_k / (needed + n w_k) >= 1``.
    It is implied, but it is what makes the linear relaxation strong.
    """
    weights = [weight / (cover.needed + pool.spares * weight) for weight in cover.weights]
    row = cover_row(weights, Fraction(1), upper)
    cp.add(_carried(counts, row.weights) >= row.needed * active)


def _carried(counts: Sequence[Expr], weights: Sequence[int]) -> Expr:
    return weighted(zip(counts, weights, strict=True))


def _post_largest_loss(
    cp: cp_model.CpModel,
    pool: Pooled,
    row: CoverRow,
    counts: Sequence[Expr],
    is_used: Callable[[Option], Expr],
    active: Expr,
) -> None:
    """One loss: the fastest replica in use goes."""
    loss = cp.new_int_var(0, max(row.weights, default=0), "loss")
    for weight, option in zip(row.weights, pool.options, strict=True):
        if weight:
            cp.add(loss >= weight * is_used(option))
    cp.add(_carried(counts, row.weights) - loss >= row.needed * active)


def _post_worst_loss(
    cp: cp_model.CpModel, pool: Pooled, row: CoverRow, counts: Sequence[Expr], active: Expr
) -> None:
    """N losses: total - n fastest = max over a of sum(counts * min(weight, a)) - n a, at a weight a."""
    chosen = [] if isinstance(active, int) else [~active]
    for level in sorted(set(row.weights) - {0}):
        literal = cp.new_bool_var("level")
        cut = _carried(counts, [min(weight, level) for weight in row.weights])
        cp.add(cut >= row.needed + pool.spares * level).only_enforce_if(literal)
        chosen.append(literal)
    cp.add_bool_or(chosen)
