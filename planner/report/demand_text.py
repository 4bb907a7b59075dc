"""Demand in the words of the problem, and the rate that it was planned for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType

from planner import numbers
from planner.explain.problem_values import problem_value, workload_names
from planner.report.parts import bullets, section
from planner.schema.demand_taken import DemandTaken
from planner.schema.plan import Plan


def demand_section(plan: Plan) -> RenderableType | None:
    """A line for every demand that is not stated as a rate, and for lengths not stated in tokens; or None."""
    lines = [*map(_line, plan.demand), *said_lengths(plan)]
    return section("Demand", bullets(lines)) if lines else None


def said_lengths(plan: Plan) -> Iterator[str]:
    """Lengths that the problem states in words or characters, with the tokens that they were taken for."""
    for name in workload_names(plan):
        lengths = problem_value(plan, "workloads", name, "lengths")
        said = lengths.get("said") if isinstance(lengths, Mapping) else None
        words = [
            f"{one['side']} {one.get('text')} = {one['tokens']:,} tokens, at {one.get('tokens_each')} each"
            for one in (said if isinstance(said, list | tuple) else ())
            if isinstance(one, Mapping) and _still_holds(plan, name, one)
        ]
        if words:
            yield f"{name}: {'; '.join(words)} (a rule of thumb: tokenizers differ)"


def _still_holds(plan: Plan, workload: str, one: Mapping[str, Any]) -> bool:
    """Whether the length is still what was said: people change plans."""
    side, key, tokens = (one.get(name) for name in ("side", "key", "tokens"))
    return isinstance(tokens, int) and tokens == problem_value(
        plan, "workloads", workload, "lengths", str(side), str(key)
    )


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
