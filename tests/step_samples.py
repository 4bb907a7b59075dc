"""Small models and machines with round numbers, for step times that a person can compute by hand."""

from __future__ import annotations

import dataclasses

from planner.schema.catalog import (
    Accelerator,
    AcceleratorCompute,
    AcceleratorHost,
    AcceleratorLink,
    AcceleratorMemory,
    Calibration,
    Engine,
    EngineLimits,
    EngineMemory,
    EngineStartup,
    EngineSupport,
    MeasuredAllReduce,
    NumberFormat,
    Parameter,
    SourceText,
)
from planner.schema.configuration import Configuration
from planner.schema.facts import ModelFacts

SOURCES = {"sample": SourceText(title="sample", date="2026-01-01")}

DENSE = ModelFacts(
    id="tiny",
    hidden_size=1000,
    layers=4,
    vocab_size=10_000,
    is_mla=False,
    query_heads=10,
    kv_heads=2,
    head_dim=100,
    full_layers=4,
    sliding_layers=0,
    window_tokens=0,
    sparse_top_k_tokens=0,
    linear_layers=0,
    attention_params_per_layer=2_400_000,
    linear_params_per_layer=0,
    dense_layers=4,
    dense_mlp_params_per_layer=12_000_000,
    moe_layers=0,
    experts=0,
    experts_per_token=0,
    expert_params=0,
    expert_hidden_size=0,
    expert_intermediate_size=0,
    shared_params_per_moe_layer=0,
    router_params_per_moe_layer=0,
    norm_params=0,
    other_params=0,
    embedding_params=10_000_000,
    lm_head_params=10_000_000,
    vision_params=0,
    tokens_per_image=0,
    patches_per_token=0,
    vision_hidden_size=0,
    kv_elements_per_token_layer=400,
    decode_attention_flops_per_context_token=4000,
    prefill_attention_flops_per_context_token=4000,
    state_bytes_per_sequence=0,
    params_total=77_600_000,
    params_active=77_600_000,
    params_active_excl_input_embedding=67_600_000,
    max_context_tokens=1_000_000,
    native_format="bf16",
)

MOE = dataclasses.replace(
    DENSE,
    id="tiny-moe",
    dense_layers=0,
    dense_mlp_params_per_layer=0,
    moe_layers=4,
    experts=8,
    experts_per_token=2,
    expert_params=3_000_000,
    expert_hidden_size=1000,
    expert_intermediate_size=1000,
)

MLA = dataclasses.replace(DENSE, id="tiny-mla", is_mla=True, kv_heads=1, kv_elements_per_token_layer=60)
WINDOWED = dataclasses.replace(DENSE, id="tiny-window", full_layers=1, sliding_layers=3, window_tokens=100)
SPARSE = dataclasses.replace(DENSE, id="tiny-sparse", sparse_top_k_tokens=64)
INDEXED = dataclasses.replace(
    SPARSE,
    id="tiny-indexed",
    index_layers=4,
    index_bytes_per_token=528,
    index_flops_per_context_token=16_384,
    index_eight_bit=True,
)
LINEAR = dataclasses.replace(
    DENSE,
    id="tiny-linear",
    full_layers=1,
    linear_layers=3,
    linear_params_per_layer=1_000_000,
    state_bytes_per_sequence=600_000,
)
MODELS = (DENSE, MOE, MLA, WINDOWED, SPARSE, INDEXED, LINEAR)


def accelerator(**changes) -> Accelerator:
    """100 TFLOPS in 16 bit, 200 in FP8, 1 TB/s, 80 GB, link 100 GB/s."""
    fields = {
        "id": "box",
        "name": "Box",
        "sources": SOURCES,
        "vendor": "NVIDIA",
        "architecture": "hopper",
        "memory": AcceleratorMemory(reported="80 GB", marketing="80 GB", bandwidth="1 TB/s", source="sample"),
        "compute": AcceleratorCompute(bf16="100 TFLOPS", fp8="200 TFLOPS", native=("fp8",), source="sample"),
        "link": AcceleratorLink(kind="nvlink", one_way="100 GB/s", domain=8, source="sample"),
        "host": AcceleratorHost(node_size=8, pcie_one_way="20 GB/s", source="sample"),
    }
    return Accelerator(**(fields | changes))


MEASURED_PCIE = AcceleratorLink(
    kind="none",
    domain=1,
    measured_all_reduce=(
        MeasuredAllReduce(gpus=2, latency="20 us", bus_bandwidth="10 GB/s", source="sample"),
        MeasuredAllReduce(gpus=4, latency="40 us", bus_bandwidth="8 GB/s", source="sample"),
    ),
    source="sample",
)


def number_format(name: str, bits: float, rate: str) -> NumberFormat:
    """A format without extras."""
    return NumberFormat(
        id=name,
        name=name,
        sources=SOURCES,
        weights=True,
        kv=True,
        bits=bits,
        nominal_bits=int(bits),
        rate=rate,
        by_default=True,
        source="sample",
    )


BF16 = number_format("bf16", 16, "bf16")
FP8 = number_format("fp8", 8, "fp8")


def engine(**memory) -> Engine:
    """Half a GB of framework, no activations, 90 % of all memory, blocks of 16 tokens."""
    fields = {
        "utilization": "90 %",
        "basis": "total",
        "kv_block_tokens": 16,
        "framework": "0.5 GB",
        "framework_parallel": "1 GB",
        "sampler_sequences": 100,
        "sampler_bytes_per_logit": 10,
        "workspace_copies": 0,
        "load_copy": "10 %",
        "host_copy": "50 %",
        "source": "sample",
    }
    return Engine(
        id="motor",
        name="Motor",
        sources=SOURCES,
        version="1",
        memory=EngineMemory(**(fields | memory)),
        limits=EngineLimits(max_running=256, batched_tokens=2048, chunked_prefill=True, source="sample"),
        supports=EngineSupport(
            fused_scaling=True,
            vendors=("NVIDIA",),
            weights=("bf16", "fp8"),
            kv=("bf16", "fp8"),
            attention_dp=True,
            pipeline=True,
            lora=True,
            first_token_from="prefill",
            source="sample",
        ),
        startup=EngineStartup(container="10 s", compile="5 s", source="sample"),
    )


def number(value: float) -> Parameter:
    """A parameter that is exactly this."""
    return Parameter(value=value, unit="1", low=value, high=value, meaning="sample", source="sample")


VALUES = {
    "overlap_exponent": 1.0,
    "memory_efficiency": 0.5,
    "kv_efficiency": 0.8,
    "gemm_half_tokens": 10.0,
    "expert_half_tokens": 2.0,
    "expert_efficiency": 0.5,
    "expert_imbalance": 0.25,
    "expert_chance": 1.0,
    "expert_row_passes": 5.0,
    "decode_attention_efficiency": 0.25,
    "prefill_attention_efficiency": 0.5,
    "elementwise_passes": 10.0,
    "logit_passes": 5.0,
    "link_efficiency": 0.5,
    "all_reduce_latency_s": 5e-6,
    "switchless_latency_factor": 2.0,
    "pcie_efficiency": 0.4,
    "through_host_efficiency": 0.1,
    "through_host_latency_s": 5e-5,
    "exchange_bytes": 4.0,
    "layer_overhead_s": 1e-5,
    "moe_layer_overhead_s": 2e-5,
}


def calibration(**values: float) -> Calibration:
    """Round numbers; no overlap unless asked for, so that times add."""
    return Calibration(
        id="round",
        name="Round",
        sources=SOURCES,
        parameters={name: number(value) for name, value in (VALUES | values).items()},
        compute_efficiency={"hopper": {"bf16": number(0.5), "default": number(0.4)}},
        engines={"motor": {"step_overhead_s": number(1e-3), "sequence_overhead_s": number(1e-6)}},
    )


BOX, MOTOR, ROUND = accelerator(), engine(), calibration()


def configuration(**changes) -> Configuration:
    """The tiny dense model in 16 bit on one box."""
    fields = {
        "model": DENSE,
        "accelerator": BOX,
        "weights": BF16,
        "attention_weights": BF16,
        "kv": BF16,
        "engine": MOTOR,
        "calibration": ROUND,
    }
    return Configuration(**(fields | changes))
