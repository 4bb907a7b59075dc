"""Columns of the all-reduce of tensor-parallel groups: as measured, or one share of the link for all."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.schema.catalog import Accelerator, Calibration, Engine
from planner.steptime.interning import Interned, Numbers, by_distinct
from planner.steptime.operators import (
    all_reduce_link,
    all_reduce_numbers,
    measured_operators,
    own_start_us,
    uses_operators,
)
from planner.steptime.table import Columns, ConfigurationTable

_MICRO = 1e-6
_NAMES = ("tp_bytes_per_s", "tp_direct_bytes_per_s", "tp_latency_s", "tp_second_s")
_UNKNOWN = (np.nan,) * len(_NAMES)


def all_reduce_columns(table: ConfigurationTable, columns: Columns) -> Columns:
    """Rates and times of the tensor-parallel group; without measured numbers those of ``columns``.

    Groups that leave their server talk over the network, which was not measured.
    """
    plain = (
        columns["tp_bytes_per_s"],
        columns["tp_bytes_per_s"],
        columns["tp_latency_s"],
        np.zeros(len(table.tp)),
    )
    found = _found(table)
    known = np.isfinite(found[_NAMES[0]]) & ~(table.spans_servers & (table.tp > table.node_gpus))
    return {name: np.where(known, found[name], value) for name, value in zip(_NAMES, plain, strict=True)}


def _found(table: ConfigurationTable) -> Columns:
    """Fits change no measured operator, so they are looked up once."""
    if len(table.calibration.items) != 1:
        return _looked_up(table)
    operators = table.calibration.items[0].operators
    key = ("all_reduce", id(operators))
    if key not in table.kept:
        table.kept[key] = (operators, _looked_up(table))
    return table.kept[key][1]


def _looked_up(table: ConfigurationTable) -> Columns:
    keys: list[Interned[Any]] = [table.calibration, table.accelerator, table.engine]
    keys += [Numbers(table.tp), Numbers(table.fast_link)]
    return dict(zip(_NAMES, by_distinct(keys, _measured), strict=True))


def _measured(
    calibration: Calibration, accelerator: Accelerator, engine: Engine, ranks: int, fast_link: int
) -> tuple[float, ...]:
    """In the order of `_NAMES`; NaN where nothing was measured, and for one rank."""
    operators = measured_operators(calibration, accelerator)
    link = all_reduce_link(accelerator, accelerator.link.domain if fast_link else 1)
    if (
        ranks == 1
        or operators is None
        or link is None
        or not uses_operators(calibration, accelerator, engine)
    ):
        return _UNKNOWN
    name, one_way = link
    if name not in operators:
        return _UNKNOWN
    numbers = operators[name]
    start_s = _MICRO * own_start_us(numbers, engine)
    rate, direct, latency_s, second_s = all_reduce_numbers(numbers, ranks, one_way, start_s)
    return float(rate), float(direct), float(latency_s), float(second_s)
