"""What each combination of engines costs, where a problem names several."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from planner.planning.answering.answer import FleetAnswer
from planner.schema.fleet_plan import EnginesTried


def engines_tried(answers: Sequence[FleetAnswer], best: FleetAnswer) -> tuple[EnginesTried, ...]:
    """Every combination under the tiers of the plan; the cheapest first, those without a plan last."""
    tiers = [item.name for item in best.setting.tiers]
    mine = [
        answer
        for answer in answers
        if answer.setting.engines and [item.name for item in answer.setting.tiers] == tiers
    ]
    mine.sort(key=lambda answer: (answer.choice.value is None, answer.choice.value or Fraction(0)))
    return tuple(
        EnginesTried(
            engines=dict(answer.setting.engines),
            status=answer.choice.status,
            cost_usd_per_hour=answer.cost_usd_per_hour,
            taken=answer.setting.engines == best.setting.engines,
        )
        for answer in mine
    )
