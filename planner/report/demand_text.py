"""Demand in the words of the problem, and the rate that it was planned for."""

from __future__ import annotations

from rich.console import RenderableType

from planner import numbers
from planner.report.parts import bullets, section
from planner.schema.demand_taken import DemandTaken
from planner.schema.plan import Plan


def demand_section(plan: Plan) -> RenderableType | None:
    """A line for every workload whose demand is not stated as a rate; None without such."""
    if not plan.demand:
        return None
    return section("Demand", bullets(_line(taken) for taken in plan.demand))


def _line(taken: DemandTaken) -> str:
    rate = numbers.rate(taken.peak_rps)
    if taken.mean_rps < taken.peak_rps:
        rate += f" in the busiest hour, {numbers.rate(taken.mean_rps)} on average"
    line = f"{taken.workload}: {taken.stated} = {rate}"
    if taken.e2e_s is None:
        return line
    whose = "at their limits" if taken.e2e_is_limit else "on average in this plan"
    line += f"; whole answers take {numbers.seconds(taken.e2e_s)} {whose}"
    if taken.requests_in_flight is not None:
        line += f", so {numbers.significant(taken.requests_in_flight)} requests are in flight"
    return line
