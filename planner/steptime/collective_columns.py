"""Columns of all-reduce and of the exchange of experts: as measured, or one share of the link for all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from planner.schema.candidates import BoolArray
from planner.schema.catalog import Accelerator, Calibration, Engine
from planner.steptime.interning import Interned, Numbers, by_distinct
from planner.steptime.operators import (
    ALL_REDUCE,
    EXCHANGE,
    all_reduce_numbers,
    collective_numbers,
    exchange_numbers,
    launch_factor,
    measured_link,
    own_start_us,
    uses_operators,
)
from planner.steptime.table import Columns, ConfigurationTable

_MICRO = 1e-6
_ALL_REDUCE = ("tp_bytes_per_s", "tp_direct_bytes_per_s", "tp_latency_s", "tp_second_s")
_LAUNCHED = ("tp_latency_s", "tp_second_s", "exchange_latency_s")
"""Times that the factor of an engine multiplies."""
_EXCHANGE = ("exchange_bytes_per_s", "exchange_latency_s")


def collective_columns(table: ConfigurationTable, columns: Columns) -> Columns:
    """Rates and times of the collectives of a stage; without measured numbers those of ``columns``.

    Groups that leave their server talk over the network, which was not measured; and up to eight
    ranks gather all tokens, for which the calibration has numbers of its own.
    """
    found = dict(_found(table))
    launched = by_distinct([table.calibration, table.engine], launch_factor)[0]
    for name in _LAUNCHED:
        found[name] = launched * found[name]
    plain = (
        columns["tp_bytes_per_s"],
        columns["tp_bytes_per_s"],
        columns["tp_latency_s"],
        np.zeros(len(table.tp)),
    )
    reduced = ~(table.spans_servers & (table.tp > table.node_gpus))
    exchanged = table.all_to_all & ~table.leaves_server
    changed = _where(reduced, found, dict(zip(_ALL_REDUCE, plain, strict=True)))
    return changed | _where(exchanged, found, {name: columns[name] for name in _EXCHANGE})


def _where(rows: BoolArray, found: Columns, plain: Columns) -> Columns:
    return {
        name: np.where(rows & np.isfinite(found[name]), found[name], value) for name, value in plain.items()
    }


def _found(table: ConfigurationTable) -> Columns:
    """Fits change no measured operator, so they are looked up once."""
    if len(table.calibration.items) != 1:
        return _looked_up(table)
    operators = table.calibration.items[0].operators
    key = ("collectives", id(operators))
    if key not in table.kept:
        table.kept[key] = (operators, _looked_up(table))
    return table.kept[key][1]


def _looked_up(table: ConfigurationTable) -> Columns:
    keys: list[Interned[Any]] = [table.calibration, table.accelerator, table.engine, Numbers(table.fast_link)]
    found = dict(zip(_ALL_REDUCE, by_distinct([*keys, Numbers(table.tp)], _all_reduce), strict=True))
    return found | dict(
        zip(_EXCHANGE, by_distinct([*keys, Numbers(table.stage_gpus)], _exchange), strict=True)
    )


def _all_reduce(
    calibration: Calibration, accelerator: Accelerator, engine: Engine, fast_link: int, ranks: int
) -> tuple[float, ...]:
    """In the order of `_ALL_REDUCE`; NaN where nothing was measured, and for one rank."""
    numbers, one_way = _measured(calibration, accelerator, engine, fast_link, ALL_REDUCE)
    if ranks == 1 or numbers is None:
        return (np.nan,) * len(_ALL_REDUCE)
    start_s = _MICRO * own_start_us(numbers, engine)
    rate, direct, latency_s, second_s = all_reduce_numbers(numbers, ranks, one_way, start_s)
    return float(rate), float(direct), float(latency_s), float(second_s)


def _exchange(
    calibration: Calibration, accelerator: Accelerator, engine: Engine, fast_link: int, ranks: int
) -> tuple[float, ...]:
    """In the order of `_EXCHANGE`."""
    numbers, one_way = _measured(calibration, accelerator, engine, fast_link, EXCHANGE)
    if ranks == 1 or numbers is None:
        return (np.nan,) * len(_EXCHANGE)
    rate, latency_s = exchange_numbers(numbers, ranks, one_way)
    return float(rate), float(latency_s)


def _measured(
    calibration: Calibration, accelerator: Accelerator, engine: Engine, fast_link: int, collective: str
) -> tuple[Mapping[str, float] | None, float]:
    """Numbers of a collective over what connects the GPUs, and its rate one way."""
    link = measured_link(accelerator, accelerator.link.domain if fast_link else 1)
    if link is None or not uses_operators(calibration, accelerator, engine):
        return None, np.nan
    return collective_numbers(calibration, accelerator, collective, *link), link[1]
