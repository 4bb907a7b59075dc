"""Demand by period: how many periods there are, and what arrives in each."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from planner.errors import input_error
from planner.numbers import as_decimal
from planner.schema.fleet import Deferrable
from planner.schema.problem import Problem
from planner.schema.workload import Workload

SECONDS_PER_DAY = 86_400
_HOUR_S = 3600


def periods_of(problem: Problem) -> int:
    """Hours of the day or week; 1 where demand is one rate."""
    numbers = [len(hours) for w in problem.workloads if (hours := w.demand.hourly_rps) is not None]
    return max(numbers, default=1)


def with_rates(problem: Problem, output_tokens: Callable[[Workload], float | None]) -> Problem:
    """The problem with work that may wait stated as the rate at which it arrives on average.

    Args:
        problem: as the user states it.
        output_tokens: mean tokens of an answer; None where nobody states lengths.

    Raises:
        InputError: tokens by the day, and no lengths that say how many requests they are.
    """
    workloads = tuple(_with_rate(workload, output_tokens) for workload in problem.workloads)
    return problem.model_copy(update={"workloads": workloads})


def _with_rate(workload: Workload, output_tokens: Callable[[Workload], float | None]) -> Workload:
    rate = arriving_rps(workload, output_tokens)
    if rate is None:
        return workload
    demand = workload.demand
    steady = {
        "peak_rps": max(as_decimal(rate), Decimal("1e-9")),
        "tokens_per_day": None,
        "requests_per_day": None,
    }
    return workload.model_copy(
        update={"demand": demand.model_copy(update={**steady, "hourly_rps": None, "mean_rps": None})}
    )


def arriving_rps(workload: Workload, output_tokens: Callable[[Workload], float | None]) -> Fraction | None:
    """Mean rate at which work that may wait arrives, exactly; None where `with_rates` leaves the demand.

    Args:
        workload: as the user states it.
        output_tokens: mean tokens of an answer; None where nobody states lengths.

    Raises:
        InputError: tokens by the day, and no lengths that say how many requests they are.
    """
    demand = workload.demand
    if not workload.may_wait:
        return None
    if demand.tokens_per_day is not None:
        tokens = output_tokens(workload)
        if not tokens:
            raise input_error(
                f"workload {workload.name}", "demand.tokens_per_day", "no lengths",
                "lengths of the answers, or requests_per_day",
            )  # fmt: skip
        return Fraction(demand.tokens_per_day) / Fraction(tokens) / SECONDS_PER_DAY
    if demand.requests_per_day is not None:
        return Fraction(demand.requests_per_day) / SECONDS_PER_DAY
    if demand.hourly_rps is not None:
        return sum(map(Fraction, demand.hourly_rps), Fraction(0)) / len(demand.hourly_rps)
    return None


def factors(workload: Workload, periods: int, peak_rps: Fraction) -> tuple[Fraction, ...]:
    """Demand of each period over the peak."""
    hours = workload.demand.hourly_rps
    # One hour is the peak itself, or a rate that the file of workers overrides.
    if hours is None or workload.may_wait or len(hours) == 1:
        return (Fraction(1),) * periods
    return tuple(Fraction(rate) / peak_rps for rate in hours)


def deferrable(workload: Workload, periods: int, level: Fraction) -> Deferrable | None:
    """Work that may wait: arrivals over the rate at level 1, and the hours that it may take.

    Args:
        workload: as the user states it (`with_rates` takes its hours away).
        periods: of the problem.
        level: mean rate at which work arrives over the rate at level 1. Not always 1: `with_rates` rounds a
            mean that never ends (5/3) up, and three replicas that do all the work would be called too few.
    """
    if not workload.may_wait:
        return None
    demand = workload.demand
    whole_hours = int(demand.deadline // _HOUR_S) if demand.deadline is not None else 24
    deadline = max(1, min(whole_hours, periods))
    hours = demand.hourly_rps
    if hours is None or len(hours) == 1:
        return Deferrable((level,) * periods, deadline)
    mean = sum(map(Fraction, hours), Fraction(0)) / len(hours)
    return Deferrable(tuple(level * Fraction(rate) / mean for rate in hours), deadline)
