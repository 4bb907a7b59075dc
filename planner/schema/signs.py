"""Signs that logs, command lines, hosts and drivers give, beside the values that engines export.

Everything is optional, in engine-neutral words; ratios are fractions of one.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planner.schema.base import Noun

Ratio = Annotated[float, Field(ge=0, le=1)]
"""A fraction of one."""
NotNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]


class Signs(Noun):
    """What is known about engine, host, network and client."""

    engine: Literal["vllm", "sglang", "tensorrt-llm"] | None = None
    """The engine, where one is known: actions then name its own options."""
    model: str | None = None
    """Id of the served model; with gpu it lets the planner predict step times."""
    gpu: str | None = None
    """Id of the accelerator."""
    weights_precision: str | None = None
    itl_predicted_s: NotNegative | None = None
    """Time between tokens that the performance model predicts for this model, accelerator and batch."""
    ttft_predicted_s: NotNegative | None = None
    """Time of one prompt alone that the performance model predicts."""
    itl_baseline_s: NotNegative | None = None
    """The same time between tokens before a change, at the same load."""
    throughput_change_ratio: NotNegative | None = None
    """Tokens per GPU-hour over those of a time before, at the same demand; 1 is unchanged."""

    cuda_graphs: bool | None = None
    """Steps are replayed from captured graphs; false: eager execution."""
    max_captured_batch: Positive | None = None
    """Largest batch for which a graph was captured."""
    max_batched_tokens: Positive | None = None
    """Tokens that one step may take: the budget of chunked prefill."""
    memory_share_ratio: Ratio | None = None
    """Share of device memory that the engine may take."""
    kv_block_tokens: Positive | None = None
    kv_cache_tokens: NotNegative | None = None
    """Tokens that the KV cache of a replica holds."""
    max_model_tokens: Positive | None = None
    """Longest sequence that the engine accepts."""
    scheduler_policy: str | None = None
    """Order in which waiting requests run, such as fcfs or priority."""
    high_priority_wait_s: NotNegative | None = None
    """Time that requests of high priority wait."""
    pp: Positive | None = None
    speculation: bool | None = None
    """Drafts are on."""
    kv_offload: bool | None = None
    """KV blocks are kept in host memory or on drives too."""
    offload_hit_ratio: Ratio | None = None
    """Share of lookups that offloaded blocks answer."""
    custom_all_reduce: bool | None = None
    """The engine's own all-reduce is used; false: refused or switched off."""
    gpu_p2p: bool | None = None
    """Accelerators of a group reach each other's memory directly."""
    collective_transport: Literal["p2p", "shm", "infiniband", "tcp"] | None = None
    """What the collective library chose between the members of a group."""
    kernel_fallback: bool | None = None
    """The engine said that it runs a slower kernel than the one made for this format or device."""
    moe_kernels_tuned: bool | None = None
    """A tuned configuration of the expert kernels was found for this accelerator."""
    weights_quantized: bool | None = None
    quantized_slowdown_ratio: NotNegative | None = None
    """Time between tokens over that of the 16-bit weights; above 1 is slower."""

    host_cpu_ratio: Ratio | None = None
    """Use of the busiest core that engine or API server runs on."""
    cpu_throttled_ratio: Ratio | None = None
    """Share of scheduling periods in which the container reached its CPU limit."""
    numa_local: bool | None = None
    """Engine processes run on the socket of their accelerator."""
    request_logging: bool | None = None
    """Every request is written to the log."""
    host_memory_growth_bytes_per_s: float | None = None
    client_concurrency: NotNegative | None = None
    """Requests that clients want to have in flight at once, per replica."""
    client_cpu_ratio: Ratio | None = None
    """Use of the busiest core of the load generator."""
    structured_output_ratio: Ratio | None = None
    """Share of requests with a grammar or JSON schema."""
    grammar_compile_s: NotNegative | None = None
    logprobs_ratio: Ratio | None = None
    """Share of requests that ask for log-probabilities."""
    penalties_ratio: Ratio | None = None
    """Share of requests with penalties or logit biases."""

    gpu_clock_ratio: Ratio | None = None
    """Clock of the accelerator over its highest."""
    throttle_reason: Literal["none", "power", "thermal", "other"] | None = None
    xid_errors: NotNegative | None = None
    """Errors of the accelerator that its driver reported (XID), in the window."""
    ecc_remapped_rows: NotNegative | None = None
    """Memory rows remapped, or waiting to be, after uncorrectable errors."""
    rank_spread_ratio: NotNegative | None = None
    """Step time of the slowest rank over the mean of all."""
    weights_load_s: NotNegative | None = None
    weights_bytes: NotNegative | None = None
    storage_read_bytes_per_s: NotNegative | None = None
    """What the volume that holds the weights reads, measured without the engine."""
    load_format: str | None = None
    """How weights are read, such as auto or runai_streamer."""

    error_ratio: Ratio | None = None
    """Share of requests that end in an error."""
    retry_ratio: NotNegative | None = None
    """Retries over first attempts."""
    tenant_top_ratio: Ratio | None = None
    """Share of tokens that the busiest tenant takes."""
    output_tokens_mean: NotNegative | None = None
    planned_output_tokens_mean: NotNegative | None = None
    """Length of answers that the fleet was sized for."""
    replica_imbalance_ratio: NotNegative | None = None
    """Load of the busiest replica over the mean; 1 is even."""
    shared_prefix_tokens: NotNegative | None = None
    """Tokens that prompts share at their beginning, by their text."""
    prefix_varies_early: bool | None = None
    """Something that differs from request to request (a clock, an id) stands at the front of prompts."""
    answers_changed_ratio: Ratio | None = None
    """Share of fixed test prompts whose answer changed."""
    version_changed: bool | None = None
    """Engine, driver or image was changed shortly before."""
