"""Measured times of single operators, and predictions beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

OperatorKind = Literal[
    "gemm",
    "decode_attention",
    "prefill_attention",
    "mla_decode",
    "mla_prefill",
    "mla_products",
    "moe",
    "collectives",
    "expert_exchange",
    "gated_delta_net",
]
"""What a table measures: one operator a table."""
OPERATOR_KINDS: tuple[OperatorKind, ...] = get_args(OperatorKind)


@dataclass(frozen=True, slots=True)
class OperatorTable:
    """A table of one operator as columns; every column has one entry a row."""

    kind: OperatorKind
    words: dict[str, tuple[str, ...]]
    """GPU, engine, version, kernel and formats, as written."""
    numbers: dict[str, tuple[float, ...]]
    """Sizes; 0 where the source leaves a cell empty."""
    measured_us: tuple[float, ...]

    def __len__(self) -> int:
        """Rows."""
        return len(self.measured_us)


@dataclass(frozen=True, slots=True)
class PredictedOperator:
    """One row of a table, with what the planner says about it."""

    row: int
    """Line of data in the table, the first is 1."""
    measured_us: float
    predicted_us: float | None
    classes: tuple[str, ...]
    """Operator, architecture, format, engine, kernel, size: whatever errors are told apart by."""
    skipped: str
    """Why there is no prediction; empty where there is one."""


@dataclass(frozen=True, slots=True)
class OperatorValidation:
    """A whole table."""

    kind: OperatorKind
    rows: tuple[PredictedOperator, ...]
    calibration: str
