"""What each kind of refusal of pydantic means in plain words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from planner.errors import nearest
from planner.loaders.places import short

Context = Mapping[str, Any]

_PATTERNS = {
    r"^[^/\s:][^/:]*$": 'a name without "/" and ":" that does not start with a space',
}


def show(value: object) -> str:
    """A value as the user wrote it, on one line."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{short(value, 60)}"'
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    if isinstance(value, dict):
        return "a mapping" if value else "an empty mapping"
    return short(str(value), 60)


def _items(count: int, least: bool) -> str:
    if least and count == 1:
        return "a list that is not empty"
    return f"{'at least' if least else 'at most'} {count} items"


def _characters(context: Context) -> str:
    least = context["min_length"]
    return "text that is not empty" if least == 1 else f"text of at least {least} characters"


_EXPECTED: dict[str, Callable[[Context], str]] = {
    "missing": lambda _: "a value",
    "greater_than": lambda c: f"a number above {c['gt']}",
    "greater_than_equal": lambda c: f"a number of at least {c['ge']}",
    "less_than": lambda c: f"a number below {c['lt']}",
    "less_than_equal": lambda c: f"a number of at most {c['le']}",
    "multiple_of": lambda c: f"a multiple of {c['multiple_of']}",
    "finite_number": lambda _: "a finite number",
    "string_too_short": _characters,
    "string_too_long": lambda c: f"text of at most {c['max_length']} characters",
    "string_pattern_mismatch": lambda c: _PATTERNS.get(c["pattern"], f"text of the form {c['pattern']}"),
    "too_short": lambda c: _items(c["min_length"], least=True),
    "too_long": lambda c: _items(c["max_length"], least=False),
    "literal_error": lambda c: f"one of {_choices_text(c)}",
    "enum": lambda c: f"one of {_choices_text(c)}",
    "recursion_loop": lambda _: "a value that does not contain itself",
}
_FAMILIES = (
    ("int_", "a whole number"),
    ("float_", "a number"),
    ("decimal_", "a number"),
    ("is_instance", "a number"),
    ("string_", "text"),
    ("bool_", "true or false"),
    ("dict_", "a mapping of keys to values"),
    ("mapping_", "a mapping of keys to values"),
    ("model_", "a mapping of keys to values"),
    ("dataclass_", "a mapping of keys to values"),
    ("tuple_", "a list"),
    ("list_", "a list"),
    ("date", 'a date such as "2025-11-21"'),
)


def expected(kind: str, context: Context, fallback: str) -> str:
    """What a refusal of this kind expected; ``fallback`` is pydantic's own sentence."""
    if "expected" in context and kind not in ("literal_error", "enum"):
        return str(context["expected"])
    exact = _EXPECTED.get(kind)
    if exact is not None:
        return exact(context)
    for prefix, text in _FAMILIES:
        if kind.startswith(prefix):
            return text
    return fallback[:1].lower() + fallback[1:]


def maybe(kind: str, context: Context, value: object) -> str:
    """What the user may have meant, or an empty text."""
    if "maybe" in context:
        return str(context["maybe"])
    if kind in ("literal_error", "enum") and isinstance(value, str):
        return nearest(value, choices(context))
    if kind.startswith(("tuple_", "list_")) and isinstance(value, str | int | Decimal):
        return f"[{short(str(value), 60)}]" if not isinstance(value, bool) else ""
    if kind == "string_type" and isinstance(value, int | Decimal) and not isinstance(value, bool):
        return f'"{value}"'
    if kind.startswith("int_"):
        return _whole(value)
    return _share(value) if kind.startswith("decimal_") else ""


def _share(value: object) -> str:
    """``"50 %"`` as a number."""
    percent = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,20})?)\s*%", value) if isinstance(value, str) else None
    return f"{(Decimal(percent.group(1)) / 100).normalize():f}" if percent else ""


def _whole(value: object) -> str:
    """``"8"``, ``8.0``, ``1_000`` and ``1,000`` as whole numbers."""
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return str(int(value))
    if isinstance(value, str) and re.fullmatch(r"[-+]?[0-9][0-9_,]{0,20}", value):
        return str(int(value.replace("_", "").replace(",", "")))
    return ""


def choices(context: Context) -> tuple[str, ...]:
    """The words of a literal, out of ``"'a', 'b' or 'c'"``."""
    return tuple(re.findall(r"'([^']*)'", str(context.get("expected", ""))))


def _choices_text(context: Context) -> str:
    words = choices(context)
    return ", ".join(words) if words else str(context.get("expected", ""))
