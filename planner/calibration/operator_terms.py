"""What numbers of the calibration say about rows of operator tables: one function an operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from planner.calibration.collective_rows import all_reduce_rows, exchange_rows
from planner.calibration.operator_rows import OperatorRows, operator_rows
from planner.physics import collectives, moe, operator_times
from planner.physics.arrays import FloatArray, Floats
from planner.physics.weights import expert_matrix_values
from planner.schema.catalog import Calibration
from planner.schema.catalog_index import Catalog
from planner.schema.operator_times import OperatorKind, OperatorTable
from planner.steptime.operators import all_reduce_numbers, head_share

MICRO = 1e-6
MIB = 2.0**20
LATENT_VALUES, ROTARY_VALUES = 512.0, 64.0
NOPE_VALUES, OUTPUT_VALUES = 128.0, 128.0
"""Latent attention of the tables: sizes of one head of DeepSeek-V3."""
EXPERT_HALF_TOKENS = 4.0
"""M0e: rows that an expert's product loses to its start, as in the calibration."""
Numbers = Mapping[str, Floats]


def known_s(table: OperatorTable, catalog: Catalog, calibration: Calibration) -> FloatArray:
    """Seconds of the rows whose operator the calibration has numbers for; NaN elsewhere.

    A format without numbers takes those that a step takes for it.
    """
    result = np.full(len(table), np.nan)
    spread = operator_rows(table, catalog, spread=True) if table.kind == "moe" else {}
    for (architecture, name), rows in (*rows_by_name(table, catalog).items(), *spread.items()):
        operators = calibration.operators.get(architecture, {})
        kind, _, form = name.partition(".")
        if kind == "moe" and name not in operators and f"moe.{form}-block" in operators:
            name = f"moe.{form}-block"
        if name in operators:
            result[rows.place] = predicted_s(rows, operators[name])
    return result


def rows_by_name(table: OperatorTable, catalog: Catalog) -> dict[tuple[str, str], OperatorRows]:
    """Rows of a table that have terms here, by architecture and ``operator.format`` or ``operator.link``."""
    return _ROWS.get(table.kind, operator_rows)(table, catalog)


def predicted_s(rows: OperatorRows, numbers: Numbers) -> FloatArray:
    """Seconds of every row under numbers of the calibration."""
    return np.asarray(_TERMS[rows.kind](rows, numbers, start_s(rows, numbers)))


def start_s(rows: OperatorRows, numbers: Numbers) -> FloatArray:
    """Launch times: an engine's own where the numbers have one."""
    starts = {
        name: numbers.get(f"start_us/{name}", numbers["start_us"]) for name in set(rows.engine.tolist())
    }
    return MICRO * np.array([starts[name] for name in rows.engine.tolist()], dtype=np.float64)


def _rates(rows: OperatorRows, numbers: Numbers, moved_bytes: Floats = 0.0) -> tuple[FloatArray, Floats]:
    flops_per_s = rows.flops_per_s * numbers["compute_fraction"]
    if "ceiling_tflops" in numbers:
        flops_per_s = np.minimum(flops_per_s, 1e12 * numbers["ceiling_tflops"])
    bytes_per_s: Floats = rows.bytes_per_s * numbers["memory_fraction"]
    if "near_mib" in numbers:
        near = MIB * numbers["near_mib"]
        bytes_per_s = bytes_per_s * operator_times.near_factor(moved_bytes, near, numbers["near_ratio"])
    return flops_per_s, bytes_per_s


def _gemm(rows: OperatorRows, numbers: Numbers, launch_s: FloatArray) -> Floats:
    scaled = operator_times.scaling_bytes(
        rows.sizes["m_tokens"], rows.sizes["k_inputs"], rows.activation_bytes
    )
    return operator_times.product_s(
        rows.sizes["m_tokens"],
        rows.sizes["k_inputs"],
        rows.sizes["n_outputs"],
        rows.value_bytes,
        rows.activation_bytes,
        *_rates(rows, numbers),
        numbers["overlap_exponent"],
        numbers.get("scaling_passes", 0.0) * scaled / rows.bytes_per_s,
        launch_s,
    )


def _decode(
    rows: OperatorRows, numbers: Numbers, launch_s: FloatArray, flops: FloatArray, moved: Floats
) -> Floats:
    return operator_times.decode_attention_s(
        rows.sizes["sequences"],
        rows.sizes["context_tokens"],
        flops,
        moved,
        *_rates(rows, numbers, rows.sizes["sequences"] * rows.sizes["context_tokens"] * moved),
        numbers["overlap_exponent"],
        launch_s,
        MICRO * numbers["context_start_us"],
        MICRO * numbers["sequence_us"],
    )


def _decode_attention(rows: OperatorRows, numbers: Numbers, launch_s: FloatArray) -> Floats:
    size = rows.sizes
    flops = 4.0 * size["query_heads"] * size["head_dim"]
    return _decode(
        rows, numbers, launch_s, flops, 2.0 * size["kv_heads"] * size["head_dim"] * rows.value_bytes
    )


def _mla_decode(rows: OperatorRows, numbers: Numbers, launch_s: FloatArray) -> Floats:
    flops = 2.0 * rows.sizes["query_heads"] * (2.0 * LATENT_VALUES + ROTARY_VALUES)
    return _decode(rows, numbers, launch_s, flops, (LATENT_VALUES + ROTARY_VALUES) * rows.value_bytes)


def _prefill(
    rows: OperatorRows,
    numbers: Numbers,
    launch_s: FloatArray,
    flops: FloatArray,
    values: tuple[Floats, Floats],
) -> Floats:
    flops_per_s, bytes_per_s = _rates(rows, numbers)
    return operator_times.prefill_attention_s(
        rows.sizes["sequences"],
        rows.sizes["prompt_tokens"],
        flops,
        *values,
        flops_per_s * head_share(rows.sizes.get("head_dim", np.full(len(rows), 128.0)), numbers),
        bytes_per_s,
        numbers["half_context_tokens"],
        launch_s,
    )


def _prefill_attention(rows: OperatorRows, numbers: Numbers, launch_s: FloatArray) -> Floats:
    queries, keys = (rows.sizes[name] * rows.sizes["head_dim"] for name in ("query_heads", "kv_heads"))
    return _prefill(rows, numbers, launch_s, 4.0 * queries, (queries, 2.0 * keys))


def _mla_prefill(rows: OperatorRows, numbers: Numbers, launch_s: FloatArray) -> Floats:
    heads = rows.sizes["query_heads"]
    wide = NOPE_VALUES + ROTARY_VALUES
    flops = 2.0 * heads * (wide + OUTPUT_VALUES)
    return _prefill(
        rows, numbers, launch_s, flops, (heads * (wide + OUTPUT_VALUES) / 2.0, heads * (wide + OUTPUT_VALUES))
    )


def _stored_values(rows: OperatorRows) -> FloatArray:
    """Of one expert, padding included."""
    size = rows.sizes
    return expert_matrix_values(
        size["hidden_size"], size["expert_intermediate_size"], 3.0, rows.expert_multiple, size["expert_tp"]
    )


def _touched(size: Mapping[str, FloatArray], routing_share: Floats) -> FloatArray:
    """Experts that are read: as many as there are rows where a table deals them out evenly."""
    drawn = moe.touched_fraction(routing_share * size["tokens"], size["experts"], size["experts_per_token"])
    dealt = np.minimum(size["tokens"] * size["experts_per_token"] / size["experts"], 1.0)
    return np.where(size["even"] > 0.0, dealt, drawn)


def _moe(rows: OperatorRows, numbers: Numbers, launch_s: FloatArray) -> Floats:
    """Of the hottest rank where experts are spread."""
    size = rows.sizes
    flops_per_s, bytes_per_s = _rates(rows, numbers)
    hottest = size["tokens"] * size.get("hot_ratio", 1.0)
    return operator_times.routed_experts_s(
        hottest,
        size["experts"],
        size["experts_per_token"],
        size["hidden_size"],
        3.0 * size["hidden_size"] * size["expert_intermediate_size"],
        rows.value_bytes * _stored_values(rows),
        size["expert_tp"],
        flops_per_s,
        bytes_per_s,
        rows.bytes_per_s,
        numbers["overlap_exponent"],
        _touched({**size, "tokens": hottest}, numbers["routing_share"]),
        EXPERT_HALF_TOKENS,
        numbers["row_passes"],
        launch_s,
        1.0 / size["expert_ep"],
    )


def _all_reduce(rows: OperatorRows, numbers: Numbers, launch_s: FloatArray) -> Floats:
    return collectives.all_reduce_s(
        rows.sizes["message_bytes"],
        rows.sizes["gpus"],
        *all_reduce_numbers(numbers, rows.sizes["gpus"], rows.bytes_per_s, launch_s),
    )


def _exchange(rows: OperatorRows, numbers: Numbers, launch_s: FloatArray) -> Floats:
    """One way."""
    size = rows.sizes
    ranks = size["gpus"]
    further_s = MICRO * numbers["doubling_us"] * np.log2(ranks / 2.0)
    sent = collectives.all_to_all_bytes(
        size["tokens_per_gpu"] * ranks,
        size["hidden_size"],
        size["element_bytes"],
        collectives.spread_copies(size["experts_per_token"], ranks),
        1.0 - 1.0 / ranks,
        ranks,
    )
    return collectives.transfer_s(sent, rows.bytes_per_s, numbers["link_fraction"], launch_s + further_s)


_ROWS: Mapping[OperatorKind, Callable[[OperatorTable, Catalog], dict[tuple[str, str], OperatorRows]]] = {
    "collectives": all_reduce_rows,
    "expert_exchange": exchange_rows,
}
"""Tables of collectives; all others are told apart by format."""
_TERMS: Mapping[OperatorKind, Callable[[OperatorRows, Numbers, FloatArray], Floats]] = {
    "gemm": _gemm,
    "decode_attention": _decode_attention,
    "prefill_attention": _prefill_attention,
    "mla_decode": _mla_decode,
    "mla_prefill": _mla_prefill,
    "moe": _moe,
    "collectives": _all_reduce,
    "expert_exchange": _exchange,
}
