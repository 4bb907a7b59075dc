"""MFU, MBU, arithmetic intensity and goodput of one replica at its load.

Sources: MFU: Chowdhery et al., PaLM (2022), appendix B. MBU: Databricks, LLM Inference Performance
Engineering: Best Practices (2023). Goodput: Zhong et al., DistServe (OSDI 2024). Arithmetic intensity and
ridge: Williams et al., Roofline (CACM 2009).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.physics.attention import attended_tokens
from planner.schema.choice import Role
from planner.schema.configuration import Configuration
from planner.schema.efficiency import Efficiency
from planner.schema.traffic import Traffic
from planner.steptime.rates import peak_flops_per_s, skips_zeros
from planner.steptime.specs import StepSpecs
from planner.steptime.work import step_work

_HOUR_S = 3600.0
_GB = 1e9


@dataclass(frozen=True)
class Operation:
    """What a replica does."""

    rate_rps: float
    role: Role = "serve"
    decoding: float | None = None
    """Requests decoding on average; None where nothing is decoded."""
    step_s: float | None = None
    """Mean time of a step while they decode."""
    goodput_rps: float | None = None
    """Largest rate that keeps every limit."""
    usd_per_hour: float | None = None


def efficiency(item: Configuration, specs: StepSpecs, traffic: Traffic, at: Operation) -> Efficiency:
    """The figures of one configuration.

    Equations: MFU = rate x model FLOPs of a request / (GPUs x dense peak); MBU = bytes of weights and KV
    that one step reads / (step time x peak bandwidth), on the fullest GPU; intensity = FLOPs / those bytes;
    ridge = dense peak / peak bandwidth; goodput per GPU = largest rate within all limits / GPUs. The peak is
    that of the format in which the large products run.

    Args:
        item: the configuration.
        specs: its columns, one entry.
        traffic: lengths.
        at: what it does.
    """
    peak = _dense_peak_flops_per_s(item)
    bandwidth = float(specs.memory_bytes_per_s[0])
    intensity: dict[str, float] = {}
    mbu = None
    if at.role != "decode":
        intensity["prefill"] = _prefill_intensity(specs, traffic)
    if at.role != "prefill" and at.decoding is not None:
        running = max(at.decoding, 1.0)
        flops, moved = step_work(specs, running, traffic.decode_context_tokens)
        intensity["decode"] = float(np.ravel(flops / moved)[0])
        mbu = None if not at.step_s else float(np.ravel(moved)[0]) / (at.step_s * bandwidth)
    written = at.rate_rps * traffic.output_mean_tokens
    memory_gb = item.gpus * float(specs.capacity_bytes[0]) / _GB
    return Efficiency(
        mfu=at.rate_rps * request_flops(item, specs, traffic, at.role) / (item.gpus * peak),
        mbu=mbu,
        arithmetic_intensity=intensity,
        ridge_flops_per_byte=peak / bandwidth,
        goodput_rps_per_gpu=None if at.goodput_rps is None else at.goodput_rps / item.gpus,
        first_tokens_per_usd=at.rate_rps * _HOUR_S / at.usd_per_hour if at.usd_per_hour else None,
        output_tokens_per_s_per_gb=None if at.role == "prefill" else written / memory_gb,
    )


def request_flops(item: Configuration, specs: StepSpecs, traffic: Traffic, role: Role = "serve") -> float:
    """FLOPs that the model needs for one request, whatever computes them.

    Equation: a token takes ``2 N + f L c``: N active parameters without embedding and head, L attention
    layers, c the context that it attends to, f = 4 x heads x head size (``4 L H Q T`` of PaLM; the
    forward pass is a third of its ``6 N + 12 L H Q T``); a sampled token the head besides. Prompt tokens that
    a cache holds, drafts that are not taken and images are not counted.

    Args:
        item: the configuration.
        specs: its columns, one entry: windows.
        traffic: lengths.
        role: prompts and answers, or one of them.
    """
    model = item.model
    head = 2.0 * model.hidden_size * model.vocab_size
    body = 2.0 * model.params_active_excl_input_embedding - head
    per_context = model.prefill_attention_flops_per_context_token * model.attention_layers

    def token(context_tokens: float) -> float:
        window = (float(specs.windowed_fraction[0]), float(specs.window_tokens[0]))
        picked = model.index_flops_per_context_token * context_tokens
        return body + picked + per_context * float(attended_tokens(context_tokens, *window))

    weight, tokens = traffic.input_weight, traffic.input_tokens
    causal = float(weight @ tokens**2) / (2.0 * float(weight @ tokens))
    prompt = traffic.prefill_mean_tokens * token(causal) + head
    # The prompt's last token gives the first of the answer.
    answer = max(traffic.output_mean_tokens - 1.0, 0.0) * (token(traffic.decode_context_tokens) + head)
    return (prompt if role != "decode" else 0.0) + (answer if role != "prefill" else 0.0)


def _prefill_intensity(specs: StepSpecs, traffic: Traffic) -> float:
    """Of one prompt, or of a chunk of it, in a step of its own."""
    servers = float(specs.attention_dp[0] * specs.pp[0])
    chunk = min(traffic.prefill_mean_tokens, float(specs.batched_tokens[0]))
    flops, moved = step_work(specs, 0.0, 0.0, chunk * servers, traffic.input_mean_tokens / 2.0, 1.0)
    return float(np.ravel(flops / moved)[0])


def _dense_peak_flops_per_s(item: Configuration) -> float:
    """Of the format of the weights where the matrix units multiply it, else 16 bit; sparsity left out."""
    peak = peak_flops_per_s(item.accelerator, item.weights)
    sparse = item.weights.sparse
    return peak / float(sparse.peak_ratio) if sparse and skips_zeros(item.accelerator, item.weights) else peak
