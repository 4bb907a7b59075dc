"""Rows of measured collectives as arrays, by architecture and by what connects its GPUs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from planner.calibration.generations import version_parts
from planner.calibration.operator_rows import MICRO, OperatorRows
from planner.physics.arrays import FloatArray
from planner.schema.catalog import Engine
from planner.schema.catalog_index import Catalog
from planner.schema.operator_times import OperatorTable
from planner.steptime.operators import ALL_REDUCE, EXCHANGE, architecture_names, measured_link

Rows = dict[tuple[str, str], OperatorRows]
Words = np.ndarray[tuple[int], np.dtype[np.str_]]
Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]
LIBRARY = "nccl"
"""Stands in tables as an engine of its own. Engines use their own kernels, and it above sizes of these."""
RACK_KERNEL = "NVLinkOneSided"
"""Exchange in domains of more than 8 GPUs: the quicker of the two kernels there (256 tokens among 16 GPUs in
94 us instead of 112). Its table names formats of the dispatch; what comes back is 16 bit."""
RETURNED_BYTES = 2.0
DISPATCHED_BYTES = {"bfloat16": 2.0, "fp8": 1.0, "nvfp4": 0.5625}
"""Of one hidden value, scales included."""


def all_reduce_rows(table: OperatorTable, catalog: Catalog) -> Rows:
    """Rows by architecture and ``all_reduce.link``, of the kernels that engines use."""
    words = _words(table)
    used = (words["operation"] == "all_reduce") & (words["engine"] != LIBRARY) & _of_version(table, catalog)
    sizes = {name: np.array(values) for name, values in table.numbers.items()}
    return _by_link(table, catalog, ALL_REDUCE, used, words["engine"], sizes)


def exchange_rows(table: OperatorTable, catalog: Catalog) -> Rows:
    """Rows of the exchange of experts in racks, each way in the place of an engine: its launch is its own."""
    words = _words(table)
    formats = np.array([DISPATCHED_BYTES.get(name, np.nan) for name in table.words["format"]])
    element = np.where(words["phase"] == "dispatch", formats, RETURNED_BYTES)
    used = (words["backend"] == RACK_KERNEL) & np.isin(words["phase"], ("dispatch", "combine"))
    sizes = {name: np.array(values) for name, values in table.numbers.items()} | {"element_bytes": element}
    return _by_link(table, catalog, EXCHANGE, used & np.isfinite(element), words["phase"], sizes)


def _words(table: OperatorTable) -> Mapping[str, Words]:
    return {name: np.array(values) for name, values in table.words.items()}


def _by_link(
    table: OperatorTable,
    catalog: Catalog,
    operator: str,
    used: Mask,
    engine: Words,
    sizes: Mapping[str, FloatArray],
) -> Rows:
    gpu = np.array(table.words["gpu"])
    measured = np.array(table.measured_us) * MICRO
    groups: dict[tuple[str, str], list[str]] = {}
    one_way: dict[str, float] = {}
    for name in sorted(set(table.words["gpu"])):
        found = catalog.accelerator(name)
        link = None if found is None else measured_link(found, found.link.domain)
        if found is not None and link is not None:
            one_way[name] = link[1]
            groups.setdefault((architecture_names(found)[0], f"{operator}.{link[0]}"), []).append(name)
    _, shape = np.unique(np.array(list(sizes.values())), axis=1, return_inverse=True)
    rows = {}
    for key, names in groups.items():
        picked = used & np.isin(gpu, names)
        if not picked.any():
            continue
        rates = np.array([one_way[name] for name in gpu[picked].tolist()])
        rows[key] = OperatorRows(
            kind=table.kind,
            sizes={name: values[picked] for name, values in sizes.items()},
            engine=engine[picked],
            gpu=gpu[picked],
            shape=shape.reshape(-1)[picked],
            flops_per_s=np.ones(len(rates)),
            bytes_per_s=rates,
            value_bytes=1.0,
            activation_bytes=1.0,
            expert_multiple=1.0,
            measured_s=measured[picked],
            place=np.flatnonzero(picked),
        )
    return rows


def _of_version(table: OperatorTable, catalog: Catalog) -> Mask:
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
