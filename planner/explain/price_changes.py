"""Prices that moved between two plans: the same machine at two dates."""

from __future__ import annotations

from collections.abc import Iterator

from planner import numbers
from planner.explain.phrases import offer
from planner.schema.plan import Difference, Plan


def price_changes(before: Plan, after: Plan) -> Iterator[Difference]:
    """One entry for each machine of a price list that both plans buy, at different prices."""
    old, new = _paid(before), _paid(after)
    for machine, (usd, day) in new.items():
        usd_before, day_before = old.get(machine, (usd, day))
        if usd != usd_before:
            yield Difference(
                what=f"price:{machine}",
                before=usd_before,
                after=usd,
                unit="USD/h",
                text=f"{machine} costs {_told(usd, day)}; before, {_told(usd_before, day_before)}.",
            )


def _paid(plan: Plan) -> dict[str, tuple[float, str]]:
    """By machine in words what an hour of it costs, and of when that price is."""
    days = {(used.gpu, used.provider): f" ({used.date})" for used in plan.prices_used if used.date}
    return {
        f"{pool.gpu}, {offer(pool)}": (
            pool.offer.usd_per_hour,
            days.get((pool.gpu, pool.offer.provider), ""),
        )
        for pool in plan.pools
        if pool.offer is not None
    }


def _told(usd: float, day: str) -> str:
    return f"{numbers.usd(usd)}/h{day}"
