"""Reads the fleet that runs today: a plan, a list of pools, or GPUs by type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from planner.errors import Fault, input_error, nearest
from planner.loaders.files import read_bytes
from planner.loaders.messages import show
from planner.loaders.places import Key, dotted
from planner.loaders.plan_file import MAX_BYTES, SCHEMA, load_plan
from planner.loaders.validation import validated
from planner.loaders.yaml_source import Document, parse_value
from planner.schema.fleet_answers import RatedPool, Today
from planner.schema.plan import Plan

Known = Callable[[str], bool]


class _ListOfPools(Document):
    """A file that is the list itself, read as if it stood under ``pools``."""

    def where(self, path: Key) -> str:
        """``file:line`` of a value; the file's own places have no ``pools`` in front."""
        return super().where(path[1:])


def load_today(path: Path, known: Known | None = None, names: Sequence[str] = ()) -> Today:
    """The fleet of today in a file.

    One of: a plan that ``planner plan --out`` wrote; a list of pools ``[{workload, gpu, gpus_per_replica,
    replicas, capacity_rps}, …]``; ``{gpus: {h100-sxm: 16}}``; ``{pools: […]}``. YAML or JSON.

    Args:
        path: of the file.
        known: whether a name is that of a GPU; None: every name is.
        names: known names, to suggest the nearest.

    Raises:
        InputError: no such file, or all that is wrong with it.
    """
    data = read_bytes(path, MAX_BYTES)
    if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and f'"{SCHEMA}"'.encode() in data:
        return today_of(_with_fleet(load_plan(path), path))
    document = _document(data, str(path))
    return validated(Today, document, _unknown(document, known, names) if known is not None else ())


def _with_fleet(plan: Plan, path: Path) -> Plan:
    """The plan, refused where it is an answer without a fleet."""
    if plan.status not in ("optimal", "feasible"):
        raise input_error(
            str(path), "status", show(plan.status), "a plan with a fleet, a list of pools, or GPUs by type"
        )
    return plan


def today_of(plan: Plan) -> Today:
    """The fleet of a plan, as if it ran."""
    pools = [
        RatedPool(
            gpu=pool.gpu,
            replicas=pool.replicas,
            gpus_per_replica=pool.gpus_per_replica,
            workload=pool.workload,
            option=pool.option,
            capacity_rps=pool.capacity_rps or None,
            role=pool.role,
        )
        for pool in plan.pools
    ]
    return Today(pools=tuple(pools), gpus=plan.gpus)


def _document(data: bytes, name: str) -> Document:
    text, value, faults = parse_value(data, name, _is_fleet)
    if not _is_fleet(value):
        expected = "a plan, a list of pools, or a mapping with pools or gpus"
        raise input_error(f"{name}:1", "", "no pools and no gpus", expected)
    if isinstance(value, list):
        return _ListOfPools(name, text, {"pools": value}, faults)
    return Document(name, text, value, faults)


def _is_fleet(value: Any) -> bool:
    """Whether a file can be a fleet with slips; if not, it is some other file that nobody wants repeated."""
    if isinstance(value, list):
        return any(isinstance(item, dict) and item.keys() & RatedPool.model_fields for item in value)
    return isinstance(value, dict) and bool(value.keys() & Today.model_fields)


def _unknown(document: Document, known: Known, names: Sequence[str]) -> Iterator[Fault]:
    for path, name in _gpus(document.value):
        if not known(name):
            yield Fault(
                document.where(path),
                dotted(document.value, path),
                show(name),
                "a known GPU",
                nearest(name, names),
            )


def _gpus(value: dict[str, Any]) -> Iterator[tuple[Key, str]]:
    """Names of GPUs with their places."""
    pools, gpus = value.get("pools"), value.get("gpus")
    for number, pool in enumerate(pools if isinstance(pools, list | tuple) else ()):
        if isinstance(pool, dict) and isinstance(pool.get("gpu"), str):
            yield ("pools", number, "gpu"), pool["gpu"]
    for name in gpus if isinstance(gpus, dict) else ():
        if isinstance(name, str):
            yield ("gpus", name), name
