"""Which series to look at: matchers of labels, as PromQL writes them between braces."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from planner.errors import input_error

_MATCHER = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*(=~|!~|!=|=)\s*"((?:[^"\\\n]|\\.)*)"\s*(?:,|$)')
_ESCAPED = re.compile(r"\\(.)")
_MEANT = {"n": "\n"}
MAX_CHARACTERS = 1000
EXPECTED = 'matchers such as model_name="llama", namespace=~"prod.*"'


@dataclass(frozen=True)
class Selector:
    """Matchers of labels; all must hold. An absent label is empty."""

    text: str = ""
    """As PromQL, without braces."""
    matchers: tuple[tuple[str, str, str], ...] = ()
    """Label, operator, value."""

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether a series is to be looked at."""
        return all(_holds(op, labels.get(name, ""), value) for name, op, value in self.matchers)


def parse_selector(text: str, where: str = "--selector") -> Selector:
    """The matchers in ``name="value",name=~"pattern"``, with or without braces around them.

    Raises:
        InputError: anything else, and patterns that are no regular expression.
    """
    inner = text.strip()
    if inner.startswith("{") and inner.endswith("}"):
        inner = inner[1:-1].strip()
    matchers: list[tuple[str, str, str]] = []
    at = 0
    while at < len(inner):
        match = _MATCHER.match(inner, at) if len(inner) <= MAX_CHARACTERS else None
        if match is None:
            raise input_error(where, "", f'"{inner[at:][:60]}"', EXPECTED)
        name, op, raw = match.groups()
        value = _ESCAPED.sub(lambda escaped: _MEANT.get(escaped[1], escaped[1]), raw)
        if op.endswith("~"):
            _check_pattern(value, where)
        matchers.append((name, op, value))
        at = match.end()
    return Selector(inner.rstrip(","), tuple(matchers))


def _check_pattern(pattern: str, where: str) -> None:
    try:
        re.compile(pattern)
    except re.error as problem:
        raise input_error(where, "", f'"{pattern[:60]}"', "a regular expression", str(problem)) from problem


def _holds(op: str, found: str, value: str) -> bool:
    same = re.fullmatch(value, found) is not None if op.endswith("~") else found == value
    return same != op.startswith("!")
