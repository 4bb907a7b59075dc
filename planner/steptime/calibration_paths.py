"""Numbers of a calibration by path, such as ``engines.vllm.step_overhead_s``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.schema.catalog import Calibration, Parameter

NESTED = ("compute_efficiency", "architectures", "engines")
"""Groups with two keys; ``parameters`` and ``sigma_log`` have one."""
FLAT = ("parameters", "sigma_log")


def parameters_of(calibration: Calibration) -> Iterator[tuple[str, Parameter]]:
    """Every number with its path, in the order of the file."""
    yield from ((f"parameters.{key}", found) for key, found in calibration.parameters.items())
    for group in NESTED:
        for first, table in getattr(calibration, group).items():
            # Formats and engines carry dots in no key, so a path splits without doubt.
            yield from ((f"{group}.{first}.{key}", found) for key, found in table.items())
    yield from ((f"sigma_log.{key}", found) for key, found in calibration.sigma_log.items())


def with_values(calibration: Calibration, values: Mapping[str, float]) -> Calibration:
    """The calibration with other values at some paths; numbers tied to them follow.

    Raises:
        KeyError: a path that the calibration does not have.
    """
    changed = dict(values)
    for path, found in parameters_of(calibration):
        if found.tied_to is not None and found.tied_to in values:
            changed[path] = values[found.tied_to]
    groups: dict[str, Any] = {}
    for path, value in changed.items():
        group, first, *rest = path.split(".")
        table = groups.setdefault(group, dict(getattr(calibration, group)))
        if not rest:
            table[first] = table[first].model_copy(update={"value": float(value)})
            continue
        if table[first] is getattr(calibration, group)[first]:
            table[first] = dict(table[first])
        table[first][rest[0]] = table[first][rest[0]].model_copy(update={"value": float(value)})
    return calibration.model_copy(update=groups)
