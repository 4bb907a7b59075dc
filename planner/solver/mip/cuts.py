"""Rows that every sufficient set of replicas satisfies."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal


@dataclass(frozen=True)
class Cut:
    """A row that every sufficient set of replicas of a pool satisfies.

    ``price``: after every loss ``sum_o max_b(price_b rate_bo) N_o >= sum_b price_b demand_b q_b``, in any
    period. ``alone``: of that only ``sum_o w_o / (1 + n w_o) N_o >= 1`` with n lost replicas, where w_o is
    the part of the right side that one replica is worth: no binaries, and most of what the row gives a
    linear relaxation. ``count``: ``sum_o weight_o N_o >= least`` in one period, from rounding such a row up.
    """

    kind: Literal["price", "alone", "count"]
    pool: tuple[str, str]
    weights: tuple[Fraction, ...]
    """By bucket (``price``, ``alone``) or by option (``count``)."""
    period: int = -1
    least: int = 0

    @cached_property
    def weights_f(self) -> tuple[float, ...]:
        """The weights as programs have them: each row is written into many."""
        return tuple(map(float, self.weights))
