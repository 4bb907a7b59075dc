"""Reads plan documents that ``planner plan --json`` or ``--out`` wrote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from planner.errors import Fault, InputError, input_error
from planner.loaders.files import decoded, name_of, read_asked
from planner.loaders.json_source import one_value
from planner.loaders.messages import show
from planner.loaders.validation import validated
from planner.loaders.yaml_source import Document, parse_document
from planner.schema.plan import Plan

SCHEMA = "planner/plan/1"
MAX_BYTES = 16_000_000
_HEAD_BYTES = 200
"""The schema stands at the head of a plan document."""
_COUNTS = ("replicas", "gpus_per_replica", "tp", "pp", "ep", "attention_dp")
_WRITES = '"planner plan PROBLEM --out FILE"'


def load_plan(path: Path) -> Plan:
    """The plan in a JSON file, or on standard input for ``-``.

    Raises:
        InputError: no such file, no JSON, or no plan; all faults at once.
    """
    name = name_of(path)
    return read_plan(name, decoded(name, read_asked(path, MAX_BYTES)))


def read_plan(name: str, text: str) -> Plan:
    """The plan in the text of a document.

    Raises:
        InputError: no JSON, or no plan; all faults at once.
    """
    return _plan(name, one_value(text, name, f"JSON, as {_WRITES} writes it"))


def load_plan_or_problem(path: Path) -> Plan | Document:
    """The plan in a JSON file, or the document of any other file: a problem; ``-`` for standard input.

    Raises:
        InputError: no such file, or a plan with faults.
    """
    name, data = name_of(path), read_asked(path, MAX_BYTES)
    if data.lstrip().startswith(b"{") and SCHEMA.encode() in data[:_HEAD_BYTES]:
        return read_plan(name, decoded(name, data))
    return parse_document(data, name)


def _plan(name: str, value: Any) -> Plan:
    found = value.get("schema") if isinstance(value, dict) else None
    if found != SCHEMA:
        raise input_error(
            name,
            "schema",
            show(found) if isinstance(found, str) else "no such key",
            f'"{SCHEMA}", a plan document',
            f"{_WRITES} writes one",
        )
    plan = validated(Plan, Document(name, b"", value))
    faults = tuple(_strange_numbers(plan, name))
    if faults:
        raise InputError(faults)
    return plan


def _strange_numbers(plan: Plan, where: str) -> Iterator[Fault]:
    """Numbers of pools that no plan has: somebody changed the document."""
    for pool in plan.pools:
        key = f"pools: {pool.id}"
        for name in _COUNTS:
            if (count := getattr(pool, name)) < 1:
                yield Fault(where, key, f"{name} {show(count)}", "a whole number from 1 on")
        if pool.capacity_rps <= 0:
            yield Fault(where, key, f"capacity_rps {show(pool.capacity_rps)}", "a number above 0")
        if pool.load_rps < 0:
            yield Fault(where, key, f"load_rps {show(pool.load_rps)}", "a number from 0 on")
