"""Rows of measured all-reduce as arrays, by architecture and by what connects its GPUs."""

from __future__ import annotations

import numpy as np

from planner.calibration.generations import version_parts
from planner.calibration.operator_rows import MICRO, OperatorRows
from planner.schema.catalog import Engine
from planner.schema.catalog_index import Catalog
from planner.schema.operator_times import OperatorTable
from planner.steptime.operators import all_reduce_link, architecture_names

LIBRARY = "nccl"
"""Stands in tables as an engine of its own. Engines use their own kernels, and it above sizes of these."""


def all_reduce_rows(table: OperatorTable, catalog: Catalog) -> dict[tuple[str, str], OperatorRows]:
    """Rows by architecture and ``all_reduce.link``, of the kernels that engines use.

    Raises:
        InputError: the catalog knows no link of an accelerator.
    """
    words = {name: np.array(values) for name, values in table.words.items()}
    sizes = {name: np.array(values) for name, values in table.numbers.items()}
    measured = np.array(table.measured_us) * MICRO
    used = (words["operation"] == "all_reduce") & (words["engine"] != LIBRARY) & _of_version(table, catalog)
    groups: dict[tuple[str, str], list[str]] = {}
    one_way: dict[str, float] = {}
    for name in sorted(set(table.words["gpu"])):
        gpu = catalog.accelerator(name)
        link = None if gpu is None else all_reduce_link(gpu, gpu.link.domain)
        if gpu is not None and link is not None:
            operator, one_way[name] = link
            groups.setdefault((architecture_names(gpu)[0], operator), []).append(name)
    _, shape = np.unique(np.array(list(sizes.values())), axis=1, return_inverse=True)
    found = {}
    for key, names in groups.items():
        picked = used & np.isin(words["gpu"], names)
        if not picked.any():
            continue
        rates = np.array([one_way[name] for name in words["gpu"][picked].tolist()])
        found[key] = OperatorRows(
            kind="collectives",
            sizes={name: values[picked] for name, values in sizes.items()},
            engine=words["engine"][picked],
            gpu=words["gpu"][picked],
            shape=shape.reshape(-1)[picked],
            flops_per_s=np.ones(len(rates)),
            bytes_per_s=rates,
            value_bytes=1.0,
            activation_bytes=1.0,
            expert_multiple=1.0,
            measured_s=measured[picked],
            place=np.flatnonzero(picked),
        )
    return found


def _of_version(table: OperatorTable, catalog: Catalog) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Rows of the version of each engine that the catalog describes; else of the next before, else after it.

    Kernels change with the version: small messages took SGLang twice as long five versions ago.
    """
    words = table.words
    found = [version_parts(version) for version in words["version"]]
    keys = list(zip(words["gpu"], words["engine"], table.numbers["gpus"], strict=True))
    there: dict[tuple[str, str, float], set[tuple[int, ...]]] = {}
    for key, version in zip(keys, found, strict=True):
        there.setdefault(key, set()).add(version)
    wanted = {key: _nearest(versions, catalog.engine(key[1])) for key, versions in there.items()}
    return np.array(
        [version == wanted[key] for key, version in zip(keys, found, strict=True)], dtype=np.bool_
    )


def _nearest(versions: set[tuple[int, ...]], engine: Engine | None) -> tuple[int, ...]:
    if engine is None:
        return max(versions)
    described = version_parts(engine.version)
    return max((version for version in versions if version <= described), default=min(versions))
