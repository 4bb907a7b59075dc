"""A fleet's question without some of what it may use, or with something in use."""

from __future__ import annotations

from dataclasses import replace

from planner.schema.fleet import FleetLimits, FleetProblem
from planner.schema.limit_rows import LimitRow


def without_kinds(question: FleetProblem, options: frozenset[str], lines: frozenset[str]) -> FleetProblem:
    """The question without some options or outside suppliers, and without some lines of the supply."""
    kept = tuple(line for line in question.lines if line.id not in lines)
    ids = {line.id for line in kept}
    starts = (replace(s, lines=tuple(name for name in s.lines if name in ids)) for s in question.starts)
    return replace(
        question,
        options=tuple(option for option in question.options if option.id not in options),
        apis=tuple(api for api in question.apis if api.id not in options),
        lines=kept,
        starts=tuple(start for start in starts if start.lines),
    )


def without_gpu(question: FleetProblem, gpu: str) -> FleetProblem:
    """The question without a GPU type: no option on it, no line that sells it."""
    options = frozenset(option.id for option in question.options if option.gpu == gpu)
    lines = frozenset(line.id for line in question.lines if line.gpu == gpu)
    return without_kinds(question, options, lines)


def using(question: FleetProblem, gpu: str) -> FleetProblem:
    """The question with a GPU type in use."""
    limits = question.limits
    return replace(question, limits=replace(limits, must_use=(*limits.must_use, gpu)))


def unlimited(question: FleetProblem) -> FleetProblem:
    """The question without limits on money."""
    kept = tuple(row for row in question.limits.rows if not row.of_money)
    return replace(question, limits=replace(question.limits, rows=kept))


def capped(limits: FleetLimits, row: LimitRow) -> FleetLimits:
    """The limits with a row in the place of the one of its id, if any; the tighter of both holds."""
    known = next((one for one in limits.rows if one.id == row.id), row)
    tighter = replace(row, most=min(row.most, known.most))
    return replace(limits, rows=(*(one for one in limits.rows if one.id != row.id), tighter))
