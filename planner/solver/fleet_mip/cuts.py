"""Rows that every sufficient set of replicas satisfies."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal


@dataclass(frozen=True)
class Cut:
    """A row that every sufficient set of replicas of a pool satisfies.

    ``price``: after every loss ``sum_o max_b(price_b rate_bo) N_o >= sum_b price_b demand_b q_b``, in any
    period. ``count``: ``sum_o weight_o N_o >= least`` in one period, from rounding such a row up.
    """

    kind: Literal["price", "count"]
    pool: tuple[str, str]
    weights: tuple[Fraction, ...]
    """By bucket (``price``) or by option (``count``)."""
    period: int = -1
    least: int = 0
