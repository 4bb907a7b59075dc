"""What an engine was told, or decided at its start: read from command lines, logs and info metrics."""

from __future__ import annotations

from typing import Literal

from planner.schema.base import Noun
from planner.schema.observed_bounds import Count, NotNegative, Positive, Ratio
from planner.schema.vendor import Vendor


class ObservedSettings(Noun):
    """Settings of one deployment, in engine-neutral words; absent: not known."""

    engine: str | None = None
    """Id of the engine: vllm, sglang, tensorrt-llm, tgi, llama-cpp."""
    engine_version: str | None = None
    """As the engine writes it."""
    pp: Positive | None = None
    """Pipeline stages of a replica."""
    ep: Positive | None = None
    """Ranks that hold whole experts; 1: experts are cut like everything else."""
    attention_dp: Positive | None = None
    """Copies of the attention within a replica."""
    servers_per_replica: Positive | None = None
    max_batched_tokens: Positive | None = None
    """Token budget of one step: of a chunk of prompts, or of prefill and decode together."""
    context_limit_tokens: Positive | None = None
    """Longest prompt and answer of one request that the engine takes."""
    kv_cache_tokens: Positive | None = None
    """Tokens that the KV cache of one replica holds."""
    kv_block_tokens: Positive | None = None
    """Tokens of one KV block or page."""
    kv_cache_bytes: NotNegative | None = None
    """Memory of the KV cache, per accelerator."""
    requests_at_context_limit: NotNegative | None = None
    """Requests of the full context limit that the KV cache holds at once."""
    memory_share_ratio: Ratio | None = None
    """Share of the accelerator's memory that the engine may take."""
    weights_precision: str | None = None
    """Format or method of the weights: fp8, awq, gptq, bf16."""
    cuda_graphs: bool | None = None
    """Steps are replayed as captured graphs; false: every kernel is launched from the host."""
    cuda_graph_max_batch: Positive | None = None
    """Largest batch with a captured graph."""
    async_scheduling: bool | None = None
    """The next step is scheduled while the present one runs."""
    attention_backend: str | None = None
    moe_kernels_tuned: bool | None = None
    """false: no tuned configuration of the mixture-of-experts kernel was found for this accelerator."""
    kernel_fallback: bool | None = None
    """true: the engine says that it took a slower kernel than it would have liked."""
    custom_all_reduce: bool | None = None
    """The engine's own all-reduce over peer memory is in use; false: NCCL takes its place."""
    gpu_p2p: bool | None = None
    """Accelerators of a replica read each other's memory."""
    collective_transport: Literal["p2p", "shared-memory", "infiniband", "socket"] | None = None
    """What the collective library takes between ranks; socket: TCP."""
    gpu_path: Literal["nvlink", "pcie-switch", "pcie-host", "numa", "cross-socket"] | None = None
    """The slowest connection between two accelerators of a server."""
    scheduler_policy: str | None = None
    """Order of waiting requests, as the engine calls it: fcfs, priority, lpm."""
    speculative: bool | None = None
    """Drafts are on."""
    draft_tokens: Positive | None = None
    """Tokens that are drafted for one step."""
    grammar_backend: str | None = None
    """What keeps answers within a grammar or a JSON schema."""
    kv_offload: bool | None = None
    """KV blocks are moved to the host or to storage."""
    swap_bytes: NotNegative | None = None
    """Host memory for KV blocks, per accelerator."""
    adapters_max: Count | None = None
    """LoRA adapters that are loaded at once; 0: none."""
    api_servers: Positive | None = None
    """Processes that take requests in front of one engine."""
    request_logging: bool | None = None
    """Every request is logged."""
    load_format: str | None = None
    """How weights are read: auto, safetensors, runai_streamer."""
    gpus: Positive | None = None
    """Accelerators of the server that was looked at."""
    gpu_model: str | None = None
    """As the driver names the accelerator."""
    gpu_vendor: Vendor | None = None
    """Who makes the accelerators."""
