"""Columns of rates, latencies and fitted numbers: how fast the hardware does the work."""

from __future__ import annotations

import numpy as np

from planner.physics import kernels
from planner.physics.arrays import FloatArray
from planner.schema.catalog import Accelerator, Calibration, Engine, NumberFormat
from planner.schema.facts import ModelFacts
from planner.steptime import rates
from planner.steptime.board_power import board_ratio
from planner.steptime.interning import Interned, Numbers, by_distinct
from planner.steptime.option_columns import load_columns
from planner.steptime.table import Columns, ConfigurationTable

PLAIN = (
    "overlap_exponent",
    "kv_efficiency",
    "gemm_half_tokens",
    "expert_half_tokens",
    "expert_row_passes",
    "decode_attention_efficiency",
    "prefill_attention_efficiency",
    "elementwise_passes",
    "logit_passes",
)
"""Parameters of the calibration that are columns of the same name."""
HOST_TIMES = ("step_overhead_s", "sequence_overhead_s", "layer_dispatch_s")
"""What the host does: longer where its processors are slower."""


def calibration_columns(table: ConfigurationTable) -> Columns:
    """Parameters of the model and of the engine."""
    columns = {name: table.calibrated(rates.parameter, name) for name in PLAIN}
    launch, host = table.architecture_factor("launch"), table.architecture_factor("host")
    columns["memory_efficiency"] = table.calibrated(
        rates.parameter, "memory_efficiency"
    ) * table.architecture_factor("memory_efficiency")
    columns["kv_efficiency"] *= table.architecture_factor("memory_efficiency")
    columns |= load_columns(
        table,
        table.calibrated(rates.parameter, "expert_imbalance"),
        table.calibrated(rates.parameter, "expert_chance"),
    )
    columns["kernel_overhead_s"] = (
        launch * table.calibrated(rates.parameter, "layer_overhead_s") / kernels.REFERENCE
    )
    columns["layer_overhead_s"] = (
        launch * table.calibrated(rates.parameter, "layer_overhead_s") * _layer_kernels(table)
    )
    columns["moe_layer_overhead_s"] = (
        launch * table.calibrated(rates.parameter, "moe_layer_overhead_s") * _moe_kernels(table)
    )
    columns["exchange_element_bytes"] = table.calibrated(rates.parameter, "exchange_bytes")
    host_times = by_distinct([table.calibration, table.engine], _host_times) * host
    columns |= dict(zip(HOST_TIMES, host_times, strict=True))
    return columns


def _host_times(calibration: Calibration, engine: Engine) -> tuple[float, ...]:
    """In the order of `HOST_TIMES`."""
    return (
        rates.engine_parameter(calibration, engine, "step_overhead_s"),
        rates.engine_parameter(calibration, engine, "sequence_overhead_s"),
        rates.optional_engine_parameter(calibration, engine, "layer_dispatch_s"),
    )


def _layer_kernels(table: ConfigurationTable) -> FloatArray:
    """Kernels of the mean layer over those of a dense one with grouped heads: alike in all calibrations."""
    if "layer_kernels" not in table.kept:
        table.kept["layer_kernels"] = (None, {"layer_kernels": _count_layer_kernels(table)})
    return table.kept["layer_kernels"][1]["layer_kernels"]


def _count_layer_kernels(table: ConfigurationTable) -> FloatArray:
    attention, latent = table.fact("attention_layers"), table.fact("is_mla")
    return np.asarray(
        kernels.relative_layer_kernels(
            attention * (1.0 - latent),
            attention * latent,
            table.fact("linear_layers"),
            table.fact("index_layers"),
            attention * table.fact("query_key_norm"),
            table.fact("layers"),
            _scaling(table, table.attention_weights),
            _scaling(table, table.dense_weights),
        )
    )


def _scaling(table: ConfigurationTable, forms: Interned[NumberFormat]) -> FloatArray:
    """1 where scaling activations to 8 bits is a kernel of its own."""
    found: FloatArray = by_distinct([table.model, table.accelerator, forms, table.engine], _scales)[0]
    return found


def _scales(model: ModelFacts, accelerator: Accelerator, form: NumberFormat, engine: Engine) -> tuple[float]:
    alone = rates.block_scaled(model, form) or not engine.supports.fused_scaling
    scaled = form.rate in rates.EIGHT_BIT and rates.multiplies_narrow(accelerator, form)
    return (float(scaled and alone),)


def _moe_kernels(table: ConfigurationTable) -> FloatArray:
    shared = table.fact("shared_params_per_moe_layer") > 0
    return np.asarray(kernels.relative_moe_kernels(shared.astype(np.float64)))


def compute_columns(table: ConfigurationTable) -> Columns:
    """Reachable rates of matrix products by part, and memory bandwidth."""
    expert_fraction = table.calibrated(rates.parameter, "expert_efficiency")
    return {
        "attention_flops_per_s": _reachable(table, table.attention_weights),
        "mlp_flops_per_s": _reachable(table, table.dense_weights),
        "expert_flops_per_s": _reachable(table, table.weights) * expert_fraction,
        "head_flops_per_s": by_distinct([table.calibration, table.accelerator], _head_rate)[0],
        "sixteen_bit_flops_per_s": table.accelerator.column(lambda a: float(a.compute.bf16)),
        "index_flops_per_s": by_distinct([table.model, table.accelerator], _index_rate)[0],
        "memory_bytes_per_s": table.accelerator.column(lambda a: float(a.memory.bandwidth)),
    }


def _reachable(table: ConfigurationTable, forms: Interned[NumberFormat]) -> FloatArray:
    shares: FloatArray = by_distinct(
        [table.calibration, table.accelerator, forms, table.model], _reachable_rate
    )[0]
    return shares


def _reachable_rate(
    calibration: Calibration, accelerator: Accelerator, form: NumberFormat, model: ModelFacts
) -> tuple[float]:
    share = rates.reachable_fraction(calibration, accelerator, form, rates.block_scaled(model, form))
    return (rates.peak_flops_per_s(accelerator, form) * share * board_ratio(calibration, accelerator),)


def _head_rate(calibration: Calibration, accelerator: Accelerator) -> tuple[float]:
    share = rates.peak_fraction(calibration, accelerator, rates.SIXTEEN_BIT)
    return (float(accelerator.compute.bf16) * share * board_ratio(calibration, accelerator),)


def _index_rate(model: ModelFacts, accelerator: Accelerator) -> tuple[float]:
    compute = accelerator.compute
    narrow = compute.fp8 if model.index_eight_bit and rates.FP8 in compute.native else None
    return (float(compute.bf16 if narrow is None else narrow),)


def link_columns(table: ConfigurationTable) -> Columns:
    """Rate and latency of tensor-parallel, exchange and pipeline traffic.

    A group that is larger than its server talks at the slower of link and network, and waits for the
    network's latency besides. Sending tokens to the GPUs of their experts starts later than an all-reduce.
    """
    efficiency = table.calibrated(rates.parameter, "link_efficiency")
    network = np.where(table.spans_servers, table.network_bytes_per_s * efficiency, np.inf)
    columns: Columns = {}
    for name, ranks in (
        ("tp", table.tp),
        ("exchange", table.stage_gpus),
        ("stage", np.minimum(table.pp, 2.0)),
    ):
        rate, latency = by_distinct(
            [table.accelerator, table.calibration, Numbers(ranks), Numbers(table.fast_link)], rates.link_rates
        )
        crosses = table.spans_servers & ((ranks > table.node_gpus) | (name == "stage")) & (ranks > 1)
        columns[f"{name}_bytes_per_s"] = np.where(crosses, np.minimum(rate, network), rate)
        if name == "exchange":
            latency = np.where(table.all_to_all, table.experts.column(lambda e: e.start_s), latency)
        columns[f"{name}_latency_s"] = latency + np.where(crosses, table.network_latency_s, 0.0)
    return columns
