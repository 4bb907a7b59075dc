"""Replicas and traffic with plain numbers, for tests of the load model."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np

from planner.performance.memory_fit import Fill
from planner.performance.open_load import LoadPolicy, Replicas
from planner.performance.traffic import traffic
from planner.schema.catalog import AcceleratorCompute, AcceleratorLink, AcceleratorMemory
from planner.schema.demand import Demand
from planner.schema.lengths import Lengths, LengthSide
from planner.schema.workload import Workload
from planner.steptime.build import build_specs
from planner.steptime.step import total_step_s
from tests import step_samples as samples

OVERHEAD_S = 0.05

DENSE_70B = dataclasses.replace(
    samples.DENSE,
    id="dense-70b",
    hidden_size=8192,
    layers=80,
    vocab_size=128_256,
    query_heads=64,
    kv_heads=8,
    head_dim=128,
    full_layers=80,
    attention_params_per_layer=151_000_000,
    dense_layers=80,
    dense_mlp_params_per_layer=705_000_000,
    embedding_params=1_050_000_000,
    lm_head_params=1_050_000_000,
    kv_elements_per_token_layer=2048,
    decode_attention_flops_per_context_token=32_768,
    prefill_attention_flops_per_context_token=32_768,
)
DENSE_8B = dataclasses.replace(
    DENSE_70B,
    id="dense-8b",
    hidden_size=4096,
    layers=32,
    query_heads=32,
    full_layers=32,
    attention_params_per_layer=42_000_000,
    dense_layers=32,
    dense_mlp_params_per_layer=176_000_000,
    embedding_params=525_000_000,
    lm_head_params=525_000_000,
    decode_attention_flops_per_context_token=16_384,
    prefill_attention_flops_per_context_token=16_384,
)
CARD = samples.accelerator(
    memory=AcceleratorMemory(reported="80 GB", marketing="80 GB", bandwidth="3.3 TB/s", source="sample"),
    compute=AcceleratorCompute(bf16="990 TFLOPS", fp8="1980 TFLOPS", native=("fp8",), source="sample"),
    link=AcceleratorLink(kind="nvlink", one_way="450 GB/s", domain=8, source="sample"),
)
NUMBERS = samples.calibration(overlap_exponent=1.22, memory_efficiency=0.9, kv_efficiency=0.9)

FILL = Fill(overflow_fraction=0.01)
MEDIANS = LoadPolicy(
    slot_z_score=3.09,
    step_factor_ratio=1.0,
    ttft_factor_ratio=1.0,
    saturated=False,
    rare_step_margin_fraction=0.15,
)


def configuration(**changes):
    """The 70B model in FP8 on four cards."""
    fields = {
        "model": DENSE_70B,
        "accelerator": CARD,
        "weights": samples.FP8,
        "attention_weights": samples.FP8,
        "kv": samples.FP8,
        "calibration": NUMBERS,
        "tp": 4,
        "batched_tokens": 1024,
    }
    return samples.configuration(**(fields | changes))


def replicas_of(configurations, image_encoder_s=0.0):
    """The load model's view of configurations, with the same overhead everywhere."""
    specs, count = build_specs(configurations), len(configurations)
    return Replicas(
        step_s=partial(total_step_s, specs),
        batched_tokens=np.array([float(item.batched_tokens) for item in configurations]),
        first_token_overhead_s=np.full(count, OVERHEAD_S),
        before_prompt_s=np.full(count, image_encoder_s),
        prompt_servers=specs.attention_dp * specs.pp,
    )


def workload(lengths, burstiness=1.0, prefix_cache_hit="0 %", **fields):
    """A workload with these lengths."""
    return Workload(
        name="sample",
        model="sample",
        demand=Demand(peak_rps=1, burstiness=burstiness),
        lengths=lengths,
        prefix_cache_hit=prefix_cache_hit,
        **fields,
    )


def traffic_of(prompt, answer, burstiness=1.0, prefix_cache_hit="0 %", trace=None):
    """Traffic of two sides, each a number or percentiles."""
    lengths = Lengths(input=_side(prompt), output=_side(answer))
    return traffic(workload(lengths, burstiness, prefix_cache_hit), lengths, trace, 0, 0.95)


def _side(side):
    return LengthSide(fixed=side) if isinstance(side, int) else LengthSide(**side)


CHAT = ({"p50": 1000, "p99": 5000}, {"p50": 130, "p99": 700})
RETRIEVAL = ({"p50": 8000, "p99": 24_000}, {"p50": 150, "p99": 600})
