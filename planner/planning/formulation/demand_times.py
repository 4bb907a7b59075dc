"""Demand times a factor, in whatever form it is stated."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from planner.numbers import as_decimal
from planner.schema.demand import Demand

_RATES = ("peak_rps", "mean_rps", "tokens_per_day", "requests_per_day")
Rounded = Callable[[Fraction], Decimal]


def times(demand: Demand, factor: Decimal | Fraction, rounded: Rounded = as_decimal) -> Demand:
    """Every rate of a demand times a factor; a trace and free demand state none.

    Args:
        demand: as the problem states it.
        factor: dimensionless, above zero.
        rounded: products that do not end; default: up at the 15th digit.
    """

    def product(value: Decimal) -> Decimal:
        return rounded(Fraction(value) * Fraction(factor))

    update: dict[str, Any] = {
        key: product(value) for key in _RATES if (value := getattr(demand, key)) is not None
    }
    if demand.hourly_rps is not None:
        update["hourly_rps"] = tuple(product(rate) for rate in demand.hourly_rps)
    if demand.sessions is not None:
        sessions = demand.sessions
        rates = {"per_hour": product(sessions.per_hour)}
        if sessions.mean_per_hour is not None:
            rates["mean_per_hour"] = product(sessions.mean_per_hour)
        update["sessions"] = sessions.model_copy(update=rates)
    return demand.model_copy(update=update)
