"""The flag ``--fail-on``: from which severity on a diagnosis ends with exit code 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from planner.errors import nearest
from planner.interfaces.options import Checks

if TYPE_CHECKING:
    from planner.schema.debugger_words import State


def severities() -> tuple[State, ...]:
    """From healthy to down."""
    from planner.schema.debugger_words import State

    return get_args(State)


def checked_severity(checks: Checks, text: str | None) -> State | None:
    """The severity that was asked for; a fault where it is none."""
    if text is None:
        return None
    known = severities()[1:]
    for state in known:
        if text == state:
            return state
    hint = nearest(text, known)
    checks.refuse(
        "--fail-on", f'"{text}"', f"one of {', '.join(known)}" + (f" (maybe {hint})" if hint else "")
    )
    return None


def at_least(state: State, worst: State) -> bool:
    """Whether a state is this severe or worse."""
    every = severities()
    return every.index(state) >= every.index(worst)
