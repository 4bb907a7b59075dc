"""The cheapest purchases for replicas that are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner.schema.fleet import FleetChoice, FleetProblem, Placement


def with_replicas(question: FleetProblem, counts: Sequence[Mapping[Placement, int]]) -> FleetChoice | None:
    """The plan with these replicas in every period, bought for the least; None where that breaks a limit.

    Its bound is left open.

    Args:
        question: what is asked.
        counts: by period, replicas by option and site.
    """
    # Imported here: the large engine takes a while to load.
    from planner.solver.mip.given_replicas import bought_for

    return bought_for(question, counts)
