"""A problem that a program states: whole, or in the words of the command line as arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from planner.app.session import Session
from planner.app.stated_problem import Spelling, StatedProblem, stated_problem
from planner.errors import Fault, InputError, nearest
from planner.loaders.catalog import load_catalog
from planner.loaders.rules import load_planning_rules
from planner.schema.problem_words import ProblemWords

Problem = str | Path | Mapping[str, Any] | Session
"""A file, what it would say, or what `planner.load` gave."""
ARGUMENTS = Spelling(lambda name: name, lambda name, value: f"{name}={value!r}")
_COUNTED = ("gpu", "owned")


def session(
    where: str, problem: Problem | None, stated: Mapping[str, Any], overlays: tuple[Path, ...]
) -> Session:
    """The problem that a call states: whole, or in words.

    Args:
        where: what messages call the call.
        problem: a whole one; None: ``stated`` says it.
        stated: arguments by name (see `planner.schema.problem_words.ProblemWords`).
        overlays: catalog folders of the user.

    Raises:
        InputError: neither or both, unknown arguments, and everything wrong with the problem.
    """
    _refuse_unclear(where, problem, stated)
    if isinstance(problem, Session):
        return problem
    if isinstance(problem, str | Path):
        return Session.load(Path(problem), overlays)
    if problem is not None:
        return Session.of_values(problem, overlays)
    source = of_words(where, stated)
    catalog, rules = load_catalog(overlays), load_planning_rules(overlays)
    try:
        return Session.of_document(source.document(), source.folder, catalog, rules)
    except InputError as problems:
        raise source.by_flag(problems) from None


def of_words(where: str, stated: Mapping[str, Any]) -> StatedProblem:
    """The problem file that arguments stand for.

    Raises:
        InputError: every argument whose form is wrong, or that is missing.
    """
    flags = {name: _as_typed(name, value) for name, value in stated.items() if value not in (None, False)}
    return stated_problem(where, flags, spelling=ARGUMENTS)


def _refuse_unclear(where: str, problem: Problem | None, stated: Mapping[str, Any]) -> None:
    faults = [
        Fault(where, name, "an argument that no problem has", "one of its words", nearest(name, known))
        for name in stated
        if name not in (known := tuple(ProblemWords.__annotations__))
    ]
    if problem is not None and stated:
        faults.append(Fault(where, next(iter(stated)), "it beside a whole problem", "one of them"))
    if problem is None and not stated:
        faults.append(Fault(where, "problem", "nothing", "a problem, or model= and what it has to serve"))
    if faults:
        raise InputError(faults)


def _as_typed(name: str, value: object) -> Any:
    """An argument as somebody would type it behind its flag."""
    if name in _COUNTED:
        return _counts(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(str, value))
    return value if isinstance(value, bool) else str(value)


def _counts(value: object) -> list[str]:
    if isinstance(value, Mapping):
        return [name if count is None else f"{name}={count}" for name, count in value.items()]
    return [value] if isinstance(value, str) else [str(word) for word in cast("Sequence[object]", value)]
