"""Reads plan documents that ``planner plan --json`` or ``--out`` wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from planner.errors import input_error
from planner.loaders.validation import validated
from planner.loaders.yaml_source import Document, name_of, read_asked
from planner.schema.plan import Plan

SCHEMA = "planner/plan/1"


def load_plan(path: Path) -> Plan:
    """The plan in a JSON file, or on standard input for ``-``.

    Raises:
        InputError: no such file, no JSON, or no plan; all faults at once.
    """
    name = name_of(path)
    data = read_asked(path)
    try:
        value = json.loads(data.decode("utf-8-sig"), parse_constant=_no_constant)
    except json.JSONDecodeError as problem:
        raise input_error(
            f"{name}:{problem.lineno}", "", problem.msg.lower(), "JSON", '"planner plan PROBLEM --out FILE"'
        ) from problem
    except (ValueError, RecursionError) as problem:
        raise input_error(name, "", str(problem).split(":")[0], "a plan as JSON in UTF-8") from problem
    return _plan(name, value)


def _plan(name: str, value: Any) -> Plan:
    found = value.get("schema") if isinstance(value, dict) else None
    if found != SCHEMA:
        raise input_error(
            name,
            "schema",
            f'"{found}"' if isinstance(found, str) else "no such key",
            f'"{SCHEMA}", a plan document',
            '"planner plan PROBLEM --out FILE" writes one',
        )
    return validated(Plan, Document(name, b"", value))


def _no_constant(word: str) -> Any:
    raise ValueError(f"the number {word}")
