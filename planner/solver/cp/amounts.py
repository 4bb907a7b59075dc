"""Exact quantities of the model in integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.solver.cp.integers import priced
from planner.solver.cp_sat import Expr, weighted


@dataclass(frozen=True)
class Amount:
    """An exact quantity in integers: its expression, its grid, and what rounding up added at most."""

    expr: Expr
    grid: Fraction = Fraction(1)
    exact: bool = True
    excess: Fraction = Fraction(0)


def summed(terms: Sequence[tuple[Expr, Fraction, int]]) -> Amount:
    """Terms (expression, exact price, upper bound) as one integer expression."""
    if not terms:
        return Amount(0)
    ints, grid, exact = priced([price for _, price, _ in terms], [bound for _, _, bound in terms])
    expr = weighted((expr, value) for value, (expr, _, _) in zip(ints, terms, strict=True))
    if exact:
        return Amount(expr, grid)
    over = ((value / grid - price) * bound for value, (_, price, bound) in zip(ints, terms, strict=True))
    return Amount(expr, grid, False, sum(over, Fraction(0)))
