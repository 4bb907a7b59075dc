"""Limits: what a plan reaches against what was asked, and, when there is no plan, what stands in its way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap

from rich.console import RenderableType
from rich.text import Text

from planner import numbers
from planner.explain.phrases import listing
from planner.report.parts import section, table
from planner.schema.limits_told import ConstraintState, Removal
from planner.schema.slo import METRICS

_TITLE_LETTERS = 24
_AT_LEAST_ONE = ("places", "layouts")
"""What a workload cannot have fewer of than one."""
_SHARES = ("%", "fraction", "share")


def can_be_missed(state: ConstraintState) -> bool:
    """False of one place or one layout at most: no plan has fewer, so to reach that limit tells nothing."""
    return not (state.unit in _AT_LEAST_ONE and state.limit == 1)


def _kind(constraint_id: str) -> str:
    return constraint_id.partition(":")[0]


def _row(state: ConstraintState) -> tuple[str, str, str, str, str]:
    left = "" if state.slack is None else numbers.quantity(state.slack, state.unit)
    if state.slack is not None and state.limit and state.unit not in _SHARES:
        left = f"{left} ({numbers.share(state.slack / state.limit)})"
    return (
        state.id,
        numbers.quantity(state.value, state.unit),
        numbers.quantity(state.limit, state.unit),
        left,
        "sets capacity" if state.binding and can_be_missed(state) else "",
    )


def limits_in_short(states: Iterable[ConstraintState], most: int) -> RenderableType | None:
    """The limits that set capacity, then those with the least left; the rest counted."""
    stated = [state for state in states if state.limit is not None and can_be_missed(state)]
    if not stated:
        return None
    ordered = sorted(stated, key=lambda state: (not state.binding, _left(state)))
    rows = [_row(state) for state in ordered[:most]]
    more = len(ordered) - len(rows)
    notes = [Text(f"… and {more} with more left", "dim")] if more > 0 else []
    return section("Limits", _limits_table(rows), *notes)


def _left(state: ConstraintState) -> float:
    """Share of the limit that is left."""
    return state.slack / state.limit if state.slack is not None and state.limit else float("inf")


def _limits_table(rows: Iterable[tuple[str, ...]]) -> RenderableType:
    return table(("limit", "reached", "allowed", "left", ""), rows, right=[1, 2, 3])


def limits_section(states: Iterable[ConstraintState]) -> RenderableType | None:
    """Latency limits first, then the others, with what is left of each."""
    ordered = sorted(states, key=lambda state: _kind(state.id) not in METRICS)
    rows = [_row(state) for state in ordered if state.limit is not None]
    if not rows:
        return None
    binding = [state for state in ordered if state.binding and can_be_missed(state)]
    body: list[RenderableType] = [_limits_table(rows)]
    if binding:
        words = [f"{state.id} ({state.text.rstrip('.')})" if state.text else state.id for state in binding]
        body.append(Text(f"What holds the plan back: {listing(words)}."))
        body.append(
            Text("Values are at the planned load; capacity is where the first limit is reached.", "dim")
        )
    return section("Limits", *body)


def miss(removal: Removal) -> str:
    """``1.82 s, 21 % over``: by how much the nearest candidate fails."""
    if removal.nearest_value is None:
        return ""
    reached = numbers.quantity(removal.nearest_value, removal.unit)
    if not removal.limit:
        return reached
    off = removal.nearest_value / removal.limit - 1
    if off == 0:
        return reached
    word = "over" if off > 0 else "short"
    return f"{reached}, {numbers.share(abs(off))} {word}"


def removals_section(removals: Iterable[Removal]) -> RenderableType | None:
    """How many candidates each named constraint removes, alone and in all, and how near the nearest came."""
    removals = list(removals)
    if not removals:
        return None
    rows = [
        (
            _named(removal),
            f"{removal.alone:,}" if removal.total else "",
            f"{removal.total:,}",
            "" if removal.limit is None else numbers.quantity(removal.limit, removal.unit),
            "\n".join(part for part in (miss(removal), removal.nearest) if part),
        )
        for removal in removals
    ]
    headings = ("limit", "alone", "in all", "allowed", "nearest candidate")
    return section(
        "What each limit removes",
        Text("Configurations that it removes alone and in all, and the one that came nearest.", "dim"),
        table(headings, rows, right=[1, 2], whole=[0]),
    )


def removals_in_short(removals: Sequence[Removal], most: int) -> RenderableType | None:
    """The same in a line a constraint, without the nearest candidates; the rest counted."""
    if not removals:
        return None
    rows = [
        (
            removal.id,
            f"{removal.alone:,}" if removal.total else "",
            f"{removal.total:,}",
            "" if removal.limit is None else numbers.quantity(removal.limit, removal.unit),
            miss(removal),
        )
        for removal in removals[:most]
    ]
    more = len(removals) - len(rows)
    notes = [Text(f"… and {numbers.count(more, 'more limit')}", "dim")] if more > 0 else []
    grid = table(("limit", "alone", "in all", "allowed", "nearest"), rows, right=[1, 2], whole=[0])
    return section("What each limit removes", grid, *notes)


def _named(removal: Removal) -> str:
    """The id, and below it what it is, hardly wider."""
    width = max(len(removal.id), _TITLE_LETTERS)
    return "\n".join([removal.id, *wrap(removal.title, width)])
