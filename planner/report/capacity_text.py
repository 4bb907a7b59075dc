"""The largest load that a fleet carries, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.explain.limit_words import limit_in_words
from planner.explain.phrases import fleet, is_answered, listing
from planner.explain.problem_values import problem_value
from planner.report.parts import bullets, section, table
from planner.report.summary import cost
from planner.schema.answers import Sweep
from planner.schema.plan import Plan


def carries_line(plan: Plan) -> str:
    """``Your 16 × h100-sxm carry 12.3 req/s of chat; what stops it: …``: the answer in one sentence."""
    assert plan.capacity is not None
    loads = [f"{numbers.rate(rps)} of {name}" for name, rps in plan.capacity.rps.items() if rps]
    stopped = dict.fromkeys(limit for limit in plan.capacity.stopped_by.values() if limit)
    why = listing([limit_in_words(plan, limit) for limit in stopped])
    verb = "carries" if sum(plan.gpus.values()) == 1 else "carry"
    return f"{_whose(plan)} {verb} {listing(loads)}" + (f"; what stops it: {why}." if why else ".")


def _whose(plan: Plan) -> str:
    """``Your 16 × h100-sxm``, ``14 of your 16 × h100-sxm``: the GPUs that the plan takes."""
    parts = []
    for gpu, count in plan.gpus.items():
        owned = problem_value(plan, "fleet", "owned", gpu)
        mine = isinstance(owned, int) and owned > 0
        some = f"{count:,} of your {owned:,}" if mine and count < owned else f"{count:,}"
        parts.append(f"your {some} × {gpu}" if some == f"{count:,}" and mine else f"{some} × {gpu}")
    words = listing(parts) or "outside suppliers"
    return f"{words[:1].upper()}{words[1:]}"


def capacity_section(plan: Plan) -> RenderableType | None:
    """By workload: what is carried, what is proved to be too much, and what would let more through."""
    found = plan.capacity
    if found is None or not is_answered(plan):
        return None
    rows = [
        (
            name,
            _exactly(rps),
            _exactly(found.breaks_rps[name]) if name in found.breaks_rps else "as stated",
            "\n".join(found.helps.get(name, ())) or "",
        )
        for name, rps in found.rps.items()
    ]
    headings = ("workload", "carried", "too much", "each alone would let more through")
    lines = [
        f"{numbers.significant(found.of_demand)} times the stated demand; requests/s of the busiest hour, "
        "headroom kept free beside it.",
        f"Exact to {numbers.share(found.tolerance)}: what is too much is proved to have no plan."
        if plan.status == "optimal"
        else "Not proved: there may be a larger load that has a plan.",
    ]
    return section("The largest load", table(headings, rows, right=[1, 2]), bullets(lines))


def _exactly(rps: float) -> str:
    """As many digits as the proof is good for."""
    return f"{numbers.significant(rps, 5)} req/s"


def rows(sweep: Sweep) -> RenderableType:
    """What is carried at each combination of values."""
    if not sweep.rows:
        return Text("No values to try.")
    paths = list(sweep.rows[0].set)
    names = list(dict.fromkeys(name for row in sweep.rows for name in _rps(row.plan)))
    headings = (*(path.rpartition(".")[2] for path in paths), *names, "limited by", "fleet", "cost")
    cells = [
        (
            *(_value(row.set.get(path)) for path in paths),
            *(numbers.rate(_rps(row.plan).get(name, 0.0)) for name in names),
            _stopped(row.plan),
            fleet(row.plan) if is_answered(row.plan) else "",
            cost(row.plan),
        )
        for row in sweep.rows
    ]
    first = len(paths)
    parts: list[RenderableType] = [
        Text(f"{sweep.rows[0].plan.problem}: largest load over {listing(paths)}", style="bold"),
        Text(),
        table(headings, cells, right=range(first, first + len(names))),
    ]
    if not sweep.complete:
        parts.append(Text("\nThe time limit left out the combinations after these.", style="dim"))
    return Group(*parts)


def _rps(plan: Plan) -> dict[str, float]:
    return {} if plan.capacity is None else plan.capacity.rps


def _stopped(plan: Plan) -> str:
    if plan.status == "unknown":
        return "no answer yet"
    if plan.capacity is None or not is_answered(plan):
        return "nothing is carried"
    return listing(list(_limits(plan)))


def _limits(plan: Plan) -> Iterator[str]:
    assert plan.capacity is not None
    yield from dict.fromkeys(limit for limit in plan.capacity.stopped_by.values() if limit)


def _value(value: Any) -> str:
    return "none" if value is None else str(value)
