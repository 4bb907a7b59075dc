"""Columns of measured operators: what an engine's kernels reach, and what launching them takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from planner.physics import attention, kernels, operator_times
from planner.schema.catalog import Accelerator, Calibration, Engine, NumberFormat
from planner.schema.facts import ModelFacts
from planner.steptime import rates
from planner.steptime.board_power import board_ratio
from planner.steptime.interning import Interned, by_distinct
from planner.steptime.operators import (
    SIXTEEN_BIT_PRODUCT,
    SMALL_KERNEL,
    UNPACKED,
    Numbers,
    experts_name,
    head_share,
    kernel_format,
    launch_factor,
    measured_operators,
    of_format,
    own_start_us,
    product_name,
    product_start_us,
    uses_operators,
)
from planner.steptime.table import Columns, ConfigurationTable

_MICRO = 1e-6
_PARTS = ("flops_per_s", "memory_efficiency", "overlap_exponent")
_ATTENTION = (
    "decode_attention_efficiency",
    "kv_efficiency",
    "decode_overlap_exponent",
    "decode_start_s",
    "decode_doubling_s",
    "decode_sequence_s",
    "prefill_attention_efficiency",
    "prefill_memory_efficiency",
    "prefill_half_tokens",
    "prefill_start_s",
)
_EXPERTS = (
    "expert_flops_per_s",
    "memory_efficiency",
    "overlap_exponent",
    "expert_routing_share",
    "expert_row_passes",
    "moe_layer_overhead_s",
)
_LAUNCHED = (
    "decode_start_s",
    "decode_doubling_s",
    "decode_sequence_s",
    "prefill_start_s",
    "moe_layer_overhead_s",
    "kernel_overhead_s",
    "layer_overhead_s",
)
"""Times that the factor of an engine multiplies."""
_LAUNCHES = ("kernel_overhead_s", "layer_overhead_s", "scaling_token_bytes")


def operator_columns(table: ConfigurationTable, columns: Columns) -> Columns:
    """Columns of the calibration, those of measured operators in place of the shares and overheads of all."""
    keys: list[Interned[Any]] = [table.calibration, table.accelerator, table.engine]
    measured = by_distinct(keys, lambda *of: (float(uses_operators(*of)),))[0] > 0.0
    changed = {
        "decode_overlap_exponent": columns["overlap_exponent"],
        "prefill_memory_efficiency": np.full(len(measured), np.inf),
        "expert_routing_share": np.ones(len(measured)),
        "scaling_token_bytes": np.zeros(len(measured)),
        **dict.fromkeys(
            ("decode_start_s", "decode_doubling_s", "decode_sequence_s"), np.zeros(len(measured))
        ),
        **dict.fromkeys(("prefill_half_tokens", "prefill_start_s"), np.zeros(len(measured))),
    }
    for part in ("attention", "mlp", "head"):
        for name in ("memory_efficiency", "overlap_exponent"):
            changed[f"{part}_{name}"] = columns[name]
    if not measured.any():
        return changed
    found = dict(_found(table, columns))
    launched = by_distinct([table.calibration, table.engine], launch_factor)[0]
    for name in _LAUNCHED:
        found[name] = launched * found[name]
    for part in ("attention", "mlp"):
        # Formats without rows take shares of the calibration.
        listed, rate = found[f"{part}_flops_per_s"], columns[f"{part}_flops_per_s"]
        found[f"{part}_flops_per_s"] = np.where(np.isfinite(listed), listed, rate)
    merged = columns | changed
    return changed | {name: np.where(measured, values, merged[name]) for name, values in found.items()}


def _found(table: ConfigurationTable, columns: Columns) -> Columns:
    """Measured operators before any factor; fits change only factors, so they are looked up once."""
    if len(table.calibration.items) != 1:
        return _looked_up(table, columns)
    operators = table.calibration.items[0].operators
    if id(operators) not in table.kept:
        table.kept[id(operators)] = (operators, _looked_up(table, columns))
    return table.kept[id(operators)][1]


def _looked_up(table: ConfigurationTable, columns: Columns) -> Columns:
    base: list[Interned[Any]] = [table.calibration, table.accelerator]
    found: Columns = {"gemm_half_tokens": np.zeros(len(table.tp))}
    for part, forms in (("attention", table.attention_weights), ("mlp", table.dense_weights), ("head", None)):
        own = [*base, table.model] if forms is None else [*base, table.model, forms]
        names = [f"{part}_{name}" for name in _PARTS]
        found |= dict(zip(names, by_distinct(own, _product), strict=True))
    keys = [*base, table.engine, table.model]
    found |= dict(zip(_ATTENTION, by_distinct([*keys, table.kv], _attention), strict=True))
    # Layers with a window never read more of the context.
    windowed, doubling_s = columns["windowed_fraction"], found["decode_doubling_s"]
    window_s = attention.decode_start_s(columns["window_tokens"], 0.0, 0.0, doubling_s, 0.0)
    found["decode_start_s"] = found["decode_start_s"] + windowed * window_s
    found["decode_doubling_s"] = (1.0 - windowed) * doubling_s
    found |= dict(zip(_EXPERTS, by_distinct([*keys, table.weights], _experts), strict=True))
    of_layer = [*keys, table.dense_weights, table.attention_weights]
    return found | dict(zip(_LAUNCHES, by_distinct(of_layer, _launches), strict=True))


def _product(
    calibration: Calibration, accelerator: Accelerator, model: ModelFacts, form: NumberFormat | None = None
) -> tuple[float, ...]:
    """In the order of `_PARTS`; the head is 16 bit. NaN for the rate of a format without rows."""
    operators = measured_operators(calibration, accelerator)
    if operators is None:
        return (1.0, 1.0, 1.0)
    sixteen = operators[SIXTEEN_BIT_PRODUCT]
    numbers = sixteen if form is None else operators.get(product_name(operators, form, model), sixteen)
    board = board_ratio(calibration, accelerator)
    if form is None:
        rate = float(accelerator.compute.bf16) * numbers["compute_fraction"] * board
    elif product_name(operators, form, model) in operators:
        reach = float(form.kernel_share if form.sparse is None else form.sparse.reach)
        rate = rates.peak_flops_per_s(accelerator, form) * numbers["compute_fraction"] * reach * board
        rate = min(rate, 1e12 * numbers.get("ceiling_tflops", np.inf))
    else:
        rate = np.nan
    return rate, numbers["memory_fraction"], numbers["overlap_exponent"]


def _experts(
    calibration: Calibration, accelerator: Accelerator, engine: Engine, model: ModelFacts, form: NumberFormat
) -> tuple[float, ...]:
    """In the order of `_EXPERTS`; of models without experts, what adapters reach."""
    operators = measured_operators(calibration, accelerator)
    if operators is None:
        return (1.0,) * len(_EXPERTS)
    sixteen = operators[SIXTEEN_BIT_PRODUCT]
    if not model.experts:
        return (1.0, sixteen["memory_fraction"], sixteen["overlap_exponent"], 1.0, 0.0, 0.0)
    name = experts_name(operators, form, rates.block_scaled(model, form))
    numbers = operators[f"moe.{name}"]
    weights, _, activations = name.partition("-")
    rate = float(accelerator.compute.bf16)
    if activations == rates.FP8:
        rate = float(accelerator.compute.fp8 or rate)
    elif name != UNPACKED and (weights == kernel_format(form) or name != rates.SIXTEEN_BIT):
        rate = rates.peak_flops_per_s(accelerator, form)
    small_us = operators[SMALL_KERNEL]["start_us"]
    product_us = product_start_us(operators, model, form, engine, rates.multiplies_narrow(accelerator, form))
    shared = float(model.shared_params_per_moe_layer > 0)
    # The mean layer counts a dense feed-forward part: two products, an activation and a norm.
    added_us = (
        own_start_us(numbers, engine)
        + sixteen["start_us"]
        + small_us
        + (shared - 1.0) * (kernels.FEED_FORWARD_PRODUCTS * product_us + small_us)
    )
    return (
        rate * numbers["compute_fraction"] * float(form.kernel_share) * board_ratio(calibration, accelerator),
        numbers["memory_fraction"],
        numbers["overlap_exponent"],
        numbers["routing_share"],
        numbers["row_passes"],
        _MICRO * added_us,
    )


def _attention(
    calibration: Calibration, accelerator: Accelerator, engine: Engine, model: ModelFacts, kv: NumberFormat
) -> tuple[float, ...]:
    """In the order of `_ATTENTION`."""
    operators = measured_operators(calibration, accelerator)
    if operators is None:
        return (1.0,) * len(_ATTENTION)
    prefix = "mla_{}" if model.is_mla else "{}_attention"
    decode, prefill = (of_format(operators, prefix.format(phase), kv.id) for phase in ("decode", "prefill"))
    return (
        decode["compute_fraction"],
        decode["memory_fraction"],
        decode["overlap_exponent"],
        _MICRO * own_start_us(decode, engine),
        _MICRO * decode["context_start_us"],
        _MICRO * decode["sequence_us"],
        prefill["compute_fraction"]
        * float(head_share(model.head_dim, prefill))
        * board_ratio(calibration, accelerator),
        prefill["memory_fraction"],
        prefill["half_context_tokens"],
        _MICRO * own_start_us(prefill, engine),
    )


def _launches(
    calibration: Calibration,
    accelerator: Accelerator,
    engine: Engine,
    model: ModelFacts,
    weights: NumberFormat,
    attention_weights: NumberFormat,
) -> tuple[float, ...]:
    """In the order of `_LAUNCHES`, without the attentions, whose launches depend on what a step holds."""
    operators = measured_operators(calibration, accelerator)
    if operators is None:
        return (0.0,) * len(_LAUNCHES)
    small_us = operators[SMALL_KERNEL]["start_us"]
    mixer_us, feed_forward_us = (
        product_start_us(operators, model, form, engine, rates.multiplies_narrow(accelerator, form))
        for form in (attention_weights, weights)
    )
    counts = kernels.LayerKernels.of(
        model.attention_layers * (not model.is_mla),
        model.attention_layers * bool(model.is_mla),
        model.linear_layers,
        model.index_layers,
        model.attention_layers * bool(model.query_key_norm),
        model.layers,
    )
    layer_us = (
        counts.mixer_products * mixer_us
        + counts.feed_forward_products * feed_forward_us
        + counts.small * small_us
    )
    mixer_inputs = model.hidden_size + model.prefill_attention_flops_per_context_token / 4.0
    mixer_bytes = mixer_inputs * _scaling_passes_bytes(
        operators, accelerator, engine, model, attention_weights
    )
    dense_inputs = model.hidden_size + model.dense_mlp_params_per_layer / (3.0 * model.hidden_size)
    shared_inputs = model.hidden_size + model.shared_params_per_moe_layer / (3.0 * model.hidden_size)
    part = model.dense_layers / model.layers
    inputs = part * dense_inputs + (1.0 - part) * (model.shared_params_per_moe_layer > 0) * shared_inputs
    token_bytes = mixer_bytes + inputs * _scaling_passes_bytes(operators, accelerator, engine, model, weights)
    return _MICRO * small_us, _MICRO * layer_us, token_bytes


def _scaling_passes_bytes(
    operators: Mapping[str, Numbers],
    accelerator: Accelerator,
    engine: Engine,
    model: ModelFacts,
    form: NumberFormat,
) -> float:
    """Bytes that scaling moves for one input of a product; 0 where the kernel before writes the format."""
    numbers = operators.get(product_name(operators, form, model), {})
    narrow = rates.multiplies_narrow(accelerator, form)
    if not narrow or (engine.supports.fused_scaling and not rates.block_scaled(model, form)):
        return 0.0
    moved = operator_times.scaling_bytes(1.0, 1.0, float(form.bits) / 8.0)
    return numbers.get("scaling_passes", 0.0) * float(moved)
