"""What counts as simple: pools, changes and places of a plan, and limits on them and on its cost."""

from __future__ import annotations

from fractions import Fraction

from planner.constraints.plan.day_usage import DayUsage
from planner.constraints.plan.places import counted
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.limit_rows import DayCount, DayRow, EveryGpu, LimitRow, Watts

AIMS: tuple[DayCount, ...] = ("pools", "changes", "places")
"""One after the other: the first counts most."""
_KINDS = {"cost": "budget", "gpus": "max-gpus", "power": "power"}


def counts_of(question: FleetProblem, choice: FleetChoice) -> dict[DayCount, int]:
    """Pools, changes and places of a plan."""
    usage = DayUsage(question, choice.periods)
    return {aim: usage.of(at_most_of(question, aim, 0)) for aim in AIMS}


def at_most_of(question: FleetProblem, aim: DayCount, most: int) -> DayRow:
    """The limit that a plan has at most so many."""
    sites = counted(question.lines) if aim == "places" else ()
    return DayRow(f"simplest:{aim}", f"simplest-{aim}", aim, aim, most, aim, each=False, sites=sites)


def at_most(question: FleetProblem, most: Fraction) -> LimitRow:
    """The objective on average over the periods."""
    name = question.limits.objective
    return LimitRow(
        "simplest", _KINDS[name], "the cost of the optimum and the tolerance", "", most / question.periods,
        gpus=EveryGpu() if name == "gpus" else None,
        replicas=Watts() if name == "power" else None,
        money=name == "cost",
        every_period=False,
    )  # fmt: skip
