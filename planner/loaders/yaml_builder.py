"""Builds plain Python values from the events of the YAML parser, on a stack of its own.

No recursion, so that deep nesting cannot hurt; anchors and aliases count with all they stand for,
so that a small text cannot grow into a large value.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import yaml

from planner.errors import Fault, InputError
from planner.loaders.places import Key, dotted, short
from planner.loaders.yaml_syntax import syntax_fault

MAX_VALUES = 100_000
MAX_DEPTH = 50
MAX_DIGITS = 40
MAX_EXPONENT = 30
MAX_FAULTS = 100

_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF|nan|NaN|NAN)\Z")
_WORDS = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_NUMBER_START = frozenset("0123456789+-.")


class Builder:
    """One pass over one text: its value, and the line of every part of it where asked for."""

    def __init__(self, name: str, lines: dict[Key, int] | None) -> None:
        """Name the text for messages; fill ``lines`` if given."""
        self.name = name
        self.lines = lines
        self._found: list[tuple[int, Key, str, str]] = []
        self.stack: list[_Frame] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.values = 0
        self.root: Any = None

    def build(self, data: bytes) -> Any:
        """The value of the only document; None for an empty text.

        What is wrong with single values is gathered in ``faults``.

        Raises:
            InputError: text that cannot be read to its end.
        """
        parser = yaml.CSafeLoader(data)
        try:
            self._run(parser)
        except yaml.YAMLError as problem:
            raise InputError([*self.faults(), syntax_fault(self.name, data, problem)]) from problem
        finally:
            parser.dispose()
        return self.root

    def faults(self) -> tuple[Fault, ...]:
        """Duplicate keys, numbers that are none, and whatever else concerns one value."""
        return tuple(
            Fault(f"{self.name}:{line}", dotted(self.root, path), found, expected)
            for line, path, found, expected in self._found
        )

    def _run(self, parser: Any) -> None:
        documents = 0
        while True:
            event = parser.get_event()
            kind = type(event)
            if kind is yaml.ScalarEvent:
                self._scalar(event)
            elif kind is yaml.MappingStartEvent:
                self._open(event, {})
            elif kind is yaml.SequenceStartEvent:
                self._open(event, [])
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                self._close()
            elif kind is yaml.AliasEvent:
                self._alias(event)
            elif kind is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    raise self._stop(event, "a second document", "one document in a file")
            elif kind is yaml.StreamEndEvent:
                return

    def _fault(self, event: Any, found: str, expected: str) -> None:
        self._found.append((event.start_mark.line + 1, self._path(), found, expected))
        if len(self._found) >= MAX_FAULTS:
            raise InputError(self.faults())

    def _stop(self, event: Any, found: str, expected: str) -> InputError:
        self._fault(event, found, expected)
        return InputError(self.faults())

    def _path(self) -> Key:
        return tuple(frame.step for frame in self.stack if frame.step is not None)

    def _scalar(self, event: Any) -> None:
        if event.tag is not None and event.tag != "!":
            self._fault(event, f"the tag {event.tag}", "a value without a tag")
        frame = self.stack[-1] if self.stack else None
        if frame is not None and frame.wants_key:
            self._key(event, frame)
            return
        value: Any = event.value
        plain = event.style is None or event.style == ""
        self._begin(event)
        if plain and event.tag is None:
            value = self._resolve(event, value)
        self._add(event, value, 1)

    def _resolve(self, event: Any, text: str) -> Any:
        if text in _WORDS:
            return _WORDS[text]
        if text[0] not in _NUMBER_START:
            return text
        if _INT.match(text):
            if len(text) <= MAX_DIGITS:
                return int(text)
            self._fault(event, f"a number of {len(text)} digits", f"at most {MAX_DIGITS} digits")
        elif _FLOAT.match(text):
            return self._decimal(event, text)
        elif _NOT_FINITE.match(text):
            self._fault(event, text, "a finite number")
        return text

    def _decimal(self, event: Any, text: str) -> Decimal | str:
        # Long exponents are refused before Decimal sees them: exact arithmetic on them never ends.
        mantissa, _, exponent = text.lower().partition("e")
        if len(mantissa) <= MAX_DIGITS and len(exponent) <= 4 and abs(int(exponent or 0)) <= MAX_EXPONENT:
            return Decimal(text)
        self._fault(event, short(text), f"a number between 1e-{MAX_EXPONENT} and 1e{MAX_EXPONENT}")
        return text

    def _key(self, event: Any, frame: _Frame) -> None:
        key = event.value
        frame.wants_key = False
        if key in frame.value:
            first = frame.key_lines[key]
            frame.step = key
            self._fault(event, f"this key a second time (first in line {first})", "each key once")
        elif key == "<<" and event.style in (None, ""):
            self._fault(event, 'the merge key "<<"', "keys written out")
        frame.step = key
        frame.key_lines[key] = event.start_mark.line + 1

    def _begin(self, event: Any) -> None:
        """A value starts: say which list item it is and where it stands."""
        frame = self.stack[-1] if self.stack else None
        if frame is not None and isinstance(frame.value, list):
            frame.step = len(frame.value)
        if self.lines is not None and frame is not None:
            line = event.start_mark.line + 1
            self.lines[self._path()] = frame.key_lines.get(frame.step, line) if frame.keyed else line

    def _open(self, event: Any, value: dict[str, Any] | list[Any]) -> None:
        frame = self.stack[-1] if self.stack else None
        if event.tag is not None and event.tag != "!":
            self._fault(event, f"the tag {event.tag}", "a value without a tag")
        if frame is not None and frame.wants_key:
            raise self._stop(event, "a list or mapping as key", "a name")
        if len(self.stack) >= MAX_DEPTH:
            raise self._stop(event, f"more than {MAX_DEPTH} levels of nesting", f"at most {MAX_DEPTH}")
        self._begin(event)
        if not self.stack:
            self.root = value
        self.stack.append(_Frame(value, event, self.values))

    def _close(self) -> None:
        frame = self.stack.pop()
        self._add(frame.event, frame.value, self.values - frame.values_before + 1)

    def _alias(self, event: Any) -> None:
        frame = self.stack[-1] if self.stack else None
        if frame is not None and frame.wants_key:
            raise self._stop(event, "an alias as key", "a name")
        self._begin(event)
        if event.anchor not in self.anchors:
            self._fault(
                event, f"the alias *{event.anchor}", "an anchor of that name before it, and not around it"
            )
            self._add(event, None, 1, named=False)
            return
        value, size = self.anchors[event.anchor]
        self._add(event, value, size, named=False)

    def _add(self, event: Any, value: Any, size: int, named: bool = True) -> None:
        """Put a finished value into what surrounds it; ``size`` values count against the limit."""
        nested = named and isinstance(value, dict | list)
        self.values += 1 if nested else size
        if self.values > MAX_VALUES:
            raise self._stop(event, f"more than {MAX_VALUES} values", f"at most {MAX_VALUES}")
        if named and event.anchor is not None:
            self.anchors[event.anchor] = (value, size)
        if not self.stack:
            self.root = value
            return
        frame = self.stack[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
        else:
            frame.value[frame.step] = value
            frame.wants_key = True
        frame.step = None


class _Frame:
    """A mapping or list under construction."""

    __slots__ = ("event", "key_lines", "keyed", "step", "value", "values_before", "wants_key")

    def __init__(self, value: dict[str, Any] | list[Any], event: Any, values_before: int) -> None:
        self.value: Any = value
        self.event = event
        self.values_before = values_before
        self.keyed = isinstance(value, dict)
        self.wants_key = self.keyed
        self.step: str | int | None = None
        self.key_lines: dict[str | int | None, int] = {}
