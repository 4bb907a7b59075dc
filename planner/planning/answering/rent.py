"""Own or rent: the volume from which own GPUs cost no more than an outside supplier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planner import numbers
from planner.planning.answering.volume import Volume, break_even_volume
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.fleet_plan import ApiTaken

if TYPE_CHECKING:
    from planner.planning.run import Run

_QUESTIONS = 4
"""Each may take one of so many parts of the time that is left, …"""
_MOST_S = 10.0
"""… and so long at most; so much counted work without a time limit."""


def with_break_even(taken: Sequence[ApiTaken], question: FleetProblem, run: Run) -> tuple[ApiTaken, ...]:
    """What every supplier carries, with the volume of its workload from which owning pays."""
    from planner.solver.solve import solve_fleet

    def solve(asked: FleetProblem) -> FleetChoice:
        if run.over:
            return FleetChoice("unknown")
        limit_s = None if run.left_s is None else min(_MOST_S, run.left_s / _QUESTIONS)
        return solve_fleet(
            asked,
            goal="value",
            time_limit_s=limit_s,
            work_s=_MOST_S,
            seed=run.seed,
            workers=run.workers,
        )

    found: list[ApiTaken] = []
    volumes: dict[str, Volume] = {}
    for item in taken:
        if item.workload not in volumes:
            volumes[item.workload] = break_even_volume(question, item.workload, solve)
        volume = volumes[item.workload]
        factor = None if volume.factor is None else float(volume.factor)
        found.append(
            item.model_copy(update={"break_even_factor": factor, "text": _in_words(item.workload, volume)})
        )
    return tuple(found)


def _in_words(workload: str, volume: Volume) -> str:
    if volume.verdict == "always":
        return f"owning pays for {workload} from a thousandth of this volume on"
    if volume.verdict == "never":
        return f"within the limits owning never costs less for {workload} than the supplier"
    if volume.factor is None or volume.usd_per_h is None:
        least = (
            "" if volume.at_least is None else f"; not below {float(volume.at_least):.3g} times this volume"
        )
        return f"the volume of {workload} from which owning pays was not found in time{least}"
    cost = numbers.usd(float(volume.usd_per_h))
    return f"owning pays for {workload} from {float(volume.factor):.3g} times this volume on ({cost}/h)"
