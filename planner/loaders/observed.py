"""Reads a file of observed values: YAML or JSON, the unit in each key, all faults at once."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from planner import units
from planner.errors import Fault, InputError, input_error
from planner.loaders.files import decoded, read_bytes
from planner.loaders.json_source import read_json
from planner.loaders.validation import faults_of, merged
from planner.loaders.yaml_source import MAX_BYTES, Document, parse_document
from planner.schema.observation import Observation
from planner.schema.readings import Reading, Readout

_DIMENSIONS = (("_ratio", units.FRACTION), ("_per_s", None), ("_s", units.SECONDS))


def load_observed(path: Path) -> Readout:
    """The observation in a file; every number of it is taken as exact.

    An absent key was not observed. ``max_input_tokens`` and ``max_output_tokens`` of null are observed to be
    unlimited; any other null counts as absent.

    Raises:
        InputError: everything wrong with the file.
    """
    data = read_bytes(path, MAX_BYTES)
    document = (
        _json_document(data, str(path)) if data.lstrip()[:1] == b"{" else parse_document(data, str(path))
    )
    return observed_values(document)


def observed_values(document: Document) -> Readout:
    """The observation in plain values.

    Raises:
        InputError: everything wrong with them.
    """
    text = json.dumps(document.value, default=_float)
    try:
        # As JSON and strictly, so that "0.9" is no number, 1 is not true, and 8.0 no whole number.
        observation = Observation.model_validate_json(text, strict=True)
    except ValidationError as problem:
        faults = [_with_hint(fault) for fault in faults_of(problem, Observation, document)]
        raise InputError(merged([*document.faults, *faults])) from problem
    if document.faults:
        raise InputError(merged(document.faults))
    return Readout(observation, readings_of(observation))


def readings_of(observation: Observation) -> dict[str, Reading]:
    """Every number of an observation as exact; limits of ``slo`` under ``slo.``."""
    above = {"": observation} | ({"slo.": observation.slo} if observation.slo is not None else {})
    return {
        prefix + name: Reading.exactly(float(value))
        for prefix, noun in above.items()
        for name in type(noun).model_fields
        if isinstance(value := getattr(noun, name), int | float) and not isinstance(value, bool)
    }


def _float(value: Any) -> float:
    return float(value) if isinstance(value, Decimal) else float("nan")


def _with_hint(fault: Fault) -> Fault:
    """What a number with a unit was meant to be: the key carries the unit."""
    name = fault.key.rpartition(".")[2]
    written = fault.found.strip('"')
    dimension = next((known for end, known in _DIMENSIONS if name.endswith(end)), None)
    if fault.maybe or written == fault.found:
        return fault
    try:
        number = units.parse(written, dimension) if dimension is not None else Decimal(written)
        meant = f"{float(number):g}"
    except (units.UnitError, ArithmeticError, ValueError):
        try:
            meant = f"{float(written):g}"
        except ValueError:
            return fault
    return Fault(fault.where, fault.key, fault.found, f"{fault.expected} without a unit", meant)


def _json_document(data: bytes, name: str) -> Document:
    """JSON keeps its own rules; where it is none, YAML's flow style may still read it."""
    try:
        found = read_json(decoded(name, data), name, exact=True)
    except InputError:
        return parse_document(data, name)
    if not isinstance(found.value, dict):
        raise input_error(name, "", "no mapping", "keys with values")
    return _with_lines(data, name, found.value, found.faults)


def _with_lines(data: bytes, name: str, value: dict[str, Any], faults: tuple[Fault, ...]) -> Document:
    """Lines come from YAML's reading of the same text, which fails for little but tabs."""
    try:
        parse_document(data, name)
    except InputError:
        return Document(name, b"", value, faults)
    return Document(name, data, value, faults)
