"""The configuration that another one is held against: what of it was different before."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Option

from planner.errors import nearest
from planner.interfaces.options import Checks

_NUMBERS = ("tp", "pp", "ep", "attention_dp", "max_batch")
_WORDS = ("gpu", "weights", "kv", "engine")
_SHARE = "memory_utilization"
KEYS = tuple(name.replace("_", "-") for name in (*_WORDS, *_NUMBERS, _SHARE))
Before = Annotated[
    str | None,
    Option(
        "--before",
        metavar="KEY=VALUE,…",
        help="Beside it the curve before a change, such as weights=bf16,tp=1.",
    ),
]


def parsed_before(checks: Checks, text: str | None) -> dict[str, Any]:
    """What was different, as arguments of a curve; faults where it cannot be."""
    found: dict[str, Any] = {}
    for part in () if text is None else text.split(","):
        key, mark, value = (word.strip() for word in part.partition("="))
        name = key.replace("-", "_")
        if key not in KEYS or not mark or not value or name in found:
            expected = f"KEY=VALUE pairs, each of {', '.join(KEYS)} once"
            checks.refuse("--before", f'"{part.strip()}"', expected, nearest(key, KEYS) or '"weights=bf16"')
        elif name in _NUMBERS:
            found[name] = checks.whole("--before", value, high=10**9 if name == "max_batch" else 4096)
        else:
            found[name] = checks.fraction("--before", value) if name == _SHARE else value
    return found
