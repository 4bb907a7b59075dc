"""Every table with the formula that predicts its rows, and the classes by which errors are told apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planner.calibration.operator_terms import known_s
from planner.calibration.operator_times import attention, exchanges, experts, linear_attention, products
from planner.calibration.operator_times.ground import MICRO, Ground
from planner.physics.arrays import FloatArray
from planner.schema.catalog import Calibration
from planner.schema.catalog_index import Catalog
from planner.schema.operator_times import OperatorKind, OperatorTable, PredictedOperator

FORMULAS: dict[OperatorKind, Callable[[Ground], FloatArray]] = {
    "gemm": products.gemm_s,
    "decode_attention": attention.decode_attention_s,
    "prefill_attention": attention.prefill_attention_s,
    "mla_decode": attention.mla_decode_s,
    "mla_prefill": attention.mla_prefill_s,
    "mla_products": products.mla_products_s,
    "moe": experts.moe_s,
    "collectives": exchanges.collectives_s,
    "expert_exchange": exchanges.expert_exchange_s,
    "gated_delta_net": linear_attention.gated_delta_net_s,
}
_SIZES: dict[OperatorKind, tuple[str, tuple[int, ...], str]] = {
    "gemm": ("m_tokens", (16, 256, 1024), "tokens"),
    "decode_attention": ("sequences", (1, 16, 64), "sequences"),
    "prefill_attention": ("prompt_tokens", (512, 2048), "prompt tokens"),
    "mla_decode": ("sequences", (1, 16, 64), "sequences"),
    "mla_prefill": ("prompt_tokens", (512, 8192), "prompt tokens"),
    "mla_products": ("tokens", (16, 256), "tokens"),
    "moe": ("tokens", (8, 64, 512), "tokens"),
    "collectives": ("message_bytes", (2**18, 2**22), "bytes"),
    "expert_exchange": ("tokens_per_gpu", (16, 256, 4096), "tokens a rank"),
    "gated_delta_net": ("tokens_per_sequence", (1, 512), "tokens a sequence"),
}
"""Operator -> the size that matters most, where its classes end, and its unit in words."""
_WORDS = (
    "attention_format",
    "weights_format",
    "format",
    "kv_format",
    "product",
    "operation",
    "phase",
    "distribution",
    "kernel",
    "backend",
)
_TITLED = {"kv_format": "cache", "attention_format": "attention", "weights_format": "weights"}


def predict(
    table: OperatorTable, catalog: Catalog, calibration: Calibration
) -> tuple[PredictedOperator, ...]:
    """Every row in the order of the table, predicted or with a reason."""
    ground = Ground(table, catalog, calibration)
    known = known_s(table, catalog, calibration)
    predicted_us = np.where(np.isfinite(known), known, FORMULAS[table.kind](ground)) * MICRO
    sizes = _size_classes(table)
    rows = []
    for row, measured_us in enumerate(table.measured_us):
        skipped = ground.skipped[row]
        value = float(predicted_us[row])
        if not skipped and not np.isfinite(value):
            skipped = "no finite prediction"
        rows.append(
            PredictedOperator(
                row + 1,
                measured_us,
                None if skipped else value,
                (*_words(ground, row), sizes[row]),
                skipped,
            )
        )
    return tuple(rows)


def _words(ground: Ground, row: int) -> tuple[str, ...]:
    """GPU, engine and what else the row names."""
    words = ground.table.words
    found = ground.catalog.accelerator(words["gpu"][row])
    named = [
        f"{words[name][row]} {_TITLED[name]}" if name in _TITLED else words[name][row]
        for name in _WORDS
        if name in words and words[name][row]
    ]
    kinds = (found.architecture, found.id) if found else (words["gpu"][row],)
    return (*kinds, words["engine"][row], *named)


def _size_classes(table: OperatorTable) -> list[str]:
    """The size of each row in words."""
    name, limits, unit = _SIZES[table.kind]
    words = [f"up to {limit:,} {unit}" for limit in limits] + [f"above {limits[-1]:,} {unit}"]
    return [words[int(np.searchsorted(limits, value))] for value in table.numbers[name]]
