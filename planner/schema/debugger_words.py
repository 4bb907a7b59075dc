"""The closed sets of words in debugger rules: layers, knobs, severities, strengths, costs, directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Layer = Literal["L0", "L1", "L2", "L3", "L4a", "L4b", "L5", "L6"]


@dataclass(frozen=True)
class LayerName:
    """A layer of the serving stack."""

    folder: str
    """Where its rules lie, below ``rules/debugger``."""
    title: str
    authority: str
    """What can be changed there, and nowhere else."""


LAYERS: Mapping[Layer, LayerName] = {
    "L0": LayerName("L0-silicon", "Silicon", "the accelerators and the links between them"),
    "L1": LayerName("L1-drivers", "Drivers", "driver, CUDA and collective libraries"),
    "L2": LayerName("L2-runtime", "Runtime and packaging", "images, libraries and their versions"),
    "L3": LayerName("L3-backend", "Inference backend", "how the engine uses memory and computes a step"),
    "L4a": LayerName("L4a-orchestration", "Serving and orchestration", "where and when a request runs"),
    "L4b": LayerName("L4b-gpu-workload", "GPU workload", "how requests share one engine: batch and cache"),
    "L5": LayerName("L5-gateway", "API gateway", "which requests get in, and how large they may be"),
    "L6": LayerName("L6-client", "Client", "what is asked, how often, and with which history"),
}
"""Layer -> its names, from the silicon up. Source: Dielabs manual, chapter 3."""

Knob = Literal[
    "max_batch", "kv_precision", "prefix_caching", "chunked_prefill", "weights_precision", "tp", "replicas",
    "routing", "max_input_tokens", "max_output_tokens", "admission", "speculative", "gpu", "context_limit",
    "adapters_max", "eviction_policy", "disaggregation", "expert_capacity", "artifact_storage", "scaling",
    "batching", "host_allocator", "session_state", "image_version", "pd_ratio",
    "cuda_graphs", "token_budget", "memory_share", "block_size", "scheduler_policy", "kernels",
    "weights_loader", "all_reduce", "collectives", "host_cpu", "request_logging", "connections",
    "load_generator", "grammar", "sampling", "prompt_order", "offload", "pp", "clocks", "node",
    "retries", "tenant_limits",
]  # fmt: skip
"""What an action turns, in engine-neutral words."""

Severity = Literal["failure", "degraded", "warning", "waste"]
"""How bad a symptom is: it breaks, it is slow, it will break, it costs too much. The worst comes first."""
SEVERITIES: tuple[Severity, ...] = ("failure", "degraded", "warning", "waste")

State = Literal["healthy", "unknown", "warning", "degraded", "down"]
"""What a diagnosis says about the whole deployment, the best first."""
STATES: Mapping[Severity, State] = {
    "failure": "down", "degraded": "degraded", "warning": "warning", "waste": "warning",
}  # fmt: skip

Strength = Literal["suggestive", "strong", "conclusive"]
"""How surely ``when`` alone points at the cause: one of several, the usual one, nothing else does this."""
STRENGTHS: tuple[Strength, ...] = ("suggestive", "strong", "conclusive")

Cost = Literal["config", "restart", "routing", "hardware"]
"""What an action takes: a setting, a restart of replicas, a change of the request path, money."""
COSTS: tuple[Cost, ...] = ("config", "restart", "routing", "hardware")

Direction = Literal["lower", "raise", "enable", "disable", "set"]
