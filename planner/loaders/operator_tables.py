"""Reads tables of measured operator times: one layout an operator, told apart by their headers."""

from __future__ import annotations

from pathlib import Path

from planner.errors import Fault, InputError, input_error
from planner.loaders.csv_table import Cells, header_faults, read_table
from planner.loaders.measurements import MAX_FAULTS
from planner.schema.operator_times import OperatorKind, OperatorTable

MEASURED = "latency_us"
_COMMON = ("gpu", "engine", "version", "kernel")
_LAYOUTS: dict[OperatorKind, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "gemm": ((*_COMMON, "format"), ("m_tokens", "n_outputs", "k_inputs")),
    "decode_attention": (
        (*_COMMON, "attention_format", "kv_format"),
        ("sequences", "context_tokens", "query_heads", "kv_heads", "head_dim"),
    ),
    "prefill_attention": (
        (*_COMMON, "attention_format", "kv_format"),
        ("sequences", "prompt_tokens", "query_heads", "kv_heads", "head_dim"),
    ),
    "mla_decode": (
        (*_COMMON, "weights_format", "kv_format"),
        ("query_heads", "sequences", "context_tokens"),
    ),
    "mla_prefill": (
        (*_COMMON, "weights_format", "kv_format"),
        ("query_heads", "sequences", "prompt_tokens"),
    ),
    "mla_products": ((*_COMMON, "product", "format"), ("tokens", "query_heads")),
    "moe": (
        (*_COMMON, "format", "distribution"),
        (
            "tokens", "hidden_size", "expert_intermediate_size", "experts_per_token", "experts", "expert_tp",
            "expert_ep",
        ),
    ),
    "collectives": ((*_COMMON, "operation"), ("gpus", "message_bytes")),
    "expert_exchange": (
        ("gpu", "engine", "version", "backend", "phase", "format"),
        ("gpus", "nodes", "hidden_size", "experts_per_token", "experts", "tokens_per_gpu"),
    ),
    "gated_delta_net": (
        (*_COMMON, "phase"),
        (
            "sequences", "tokens_per_sequence", "hidden_size", "num_k_heads", "head_k_dim", "num_v_heads",
            "head_v_dim",
        ),
    ),
}  # fmt: skip
"""Operator -> columns of words, and columns of numbers."""
_OPTIONAL = ("version", "kernel", "backend")
_MAY_BE_EMPTY = {("expert_exchange", "gpus"), ("expert_exchange", "nodes")}
_EXPECTED = "a table of measurements or of operator times (CSV)"


def operator_kind(path: Path) -> OperatorKind | None:
    """The operator whose columns most of a table's are; None for tables of another kind.

    Raises:
        InputError: a file that cannot be read.
    """
    own = set(read_table(path, _EXPECTED)[0][1])
    missing = {kind: len({*words, *numbers} - own) for kind, (words, numbers) in _LAYOUTS.items()}
    nearest = min(missing, key=lambda kind: missing[kind])
    return nearest if 2 * missing[nearest] < sum(map(len, _LAYOUTS[nearest])) else None


def read_operator_table(path: Path) -> OperatorTable:
    """The rows of a table, in its order.

    Raises:
        InputError: unknown or missing columns, bad cells; all at once.
    """
    kind = operator_kind(path)
    lines = read_table(path, _EXPECTED)
    where, header = lines[0]
    if kind is None:
        raise input_error(where, "", "other columns", f"the columns of one of {', '.join(_LAYOUTS)}")
    words, numbers = _LAYOUTS[kind]
    needed = [name for name in (*words, *numbers, MEASURED) if name not in _OPTIONAL]
    faults = header_faults(where, header, (*words, *numbers, MEASURED), needed)
    if faults:
        raise InputError(faults)
    texts: dict[str, list[str]] = {name: [] for name in words}
    sizes: dict[str, list[float]] = {name: [] for name in numbers}
    measured: list[float] = []
    for place, line in lines[1:]:
        cells = Cells(place, header, line, faults)
        for name in words:
            texts[name].append(cells.text(name) if name in _OPTIONAL else cells.needed(name))
        for name in numbers:
            sizes[name].append(_size(cells, name, (kind, name) in _MAY_BE_EMPTY))
        measured.append(_positive(cells, MEASURED, cells.number(MEASURED)))
    if faults:
        raise InputError(faults[:MAX_FAULTS])
    if not measured:
        raise input_error(where, "", "a header without rows", "at least one measured time")
    return OperatorTable(
        kind,
        {name: tuple(values) for name, values in texts.items()},
        {name: tuple(values) for name, values in sizes.items()},
        tuple(measured),
    )


def _size(cells: Cells, name: str, may_be_empty: bool) -> float:
    """A whole number above zero; 0 for an empty cell where the source may not say."""
    value = float(cells.count(name))
    return value if may_be_empty and not cells.text(name) else _positive(cells, name, value)


def _positive(cells: Cells, name: str, value: float) -> float:
    """The value; a fault where the cell is empty or zero and nothing else is wrong with the line."""
    told = bool(cells.faults) and (cells.faults[-1].where, cells.faults[-1].key) == (cells.where, name)
    if value == 0.0 and cells.whole and not told:
        found = f'"{cells.text(name)}"' if cells.text(name) else "nothing"
        cells.faults.append(Fault(cells.where, name, found, "a number above zero"))
    return value
