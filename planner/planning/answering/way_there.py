"""From today's fleet to the new one, as the plan states it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from planner.explain.migration import move
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.fleet_answers import Today
from planner.schema.plan import Plan
from planner.schema.pool import Pool

_HOUR_S = 3600


def way_there(question: FleetProblem, choice: FleetChoice, today: Today, plan: Plan) -> dict[str, object]:
    """``changes`` and ``move`` of the plan.

    Args:
        question: that was answered.
        choice: the answer.
        today: the fleet that runs now.
        plan: with the cold starts of its pools.
    """
    taken = move(question, choice, today, _cold_starts(plan.pools))
    return {"changes": taken.steps, "move": taken}


def _cold_starts(pools: Sequence[Pool]) -> dict[str, Fraction]:
    """Hours from a paid GPU to a replica that carries, by GPU type: the slowest pool."""
    found: dict[str, Fraction] = {}
    for pool in pools:
        if pool.cold_start_s is not None:
            hours = Fraction(round(pool.cold_start_s), _HOUR_S)
            found[pool.gpu] = max(found.get(pool.gpu, Fraction(0)), hours)
    return found
