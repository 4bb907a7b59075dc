"""What logs, metrics and device tools tell beyond the first list of observed values.

The parts of the first token, the host, the health of accelerators, how requests end.
"""

from __future__ import annotations

from typing import Literal

from planner.schema.base import Noun
from planner.schema.observed_bounds import Count, NotNegative, Ratio


class ObservedFirstToken(Noun):
    """The time to first token, part by part, as engines time it for each request."""

    ttft_mean_s: NotNegative | None = None
    ttft_p90_s: NotNegative | None = None
    ttft_p95_s: NotNegative | None = None
    itl_mean_s: NotNegative | None = None
    queue_time_mean_s: NotNegative | None = None
    """From arrival in the engine to the first step that the request is in."""
    queue_time_p50_s: NotNegative | None = None
    queue_time_p99_s: NotNegative | None = None
    prefill_time_mean_s: NotNegative | None = None
    """From the first step of the request to its first token."""
    prefill_time_p50_s: NotNegative | None = None
    prefill_time_p99_s: NotNegative | None = None
    decode_time_mean_s: NotNegative | None = None
    """From the first token to the last."""
    inference_time_mean_s: NotNegative | None = None
    """Prefill and decode together, without the queue."""
    tokenize_time_mean_s: NotNegative | None = None
    """Validation and tokenization of one request."""
    front_end_ttft_mean_s: NotNegative | None = None
    """Time to first token where users connect, the router included; ``ttft_mean_s`` is the engine's own."""
    ttft_queue_ratio: Ratio | None = None
    """Share of the mean time to first token in the engine's queue."""
    ttft_prefill_ratio: Ratio | None = None
    """Share of the mean time to first token in prefill."""
    ttft_kv_transfer_ratio: Ratio | None = None
    """Share of the mean time to first token for the transfer of the KV cache."""
    ttft_rest_ratio: Ratio | None = None
    """Share of the mean time to first token in neither: front end, tokenizer, network, router."""
    waiting_for_capacity: NotNegative | None = None
    """Requests of a replica that wait because the batch or the KV cache has no room."""
    waiting_deferred: NotNegative | None = None
    """Requests of a replica that wait for something else: a grammar, a remote KV cache, an adapter."""
    waiting_for_kv_transfer: NotNegative | None = None
    """Requests of a replica whose KV cache is on its way."""


class ObservedEvidence(ObservedFirstToken):
    """Load, host, accelerators and answers, beyond the first list."""

    prompt_tokens_per_s: NotNegative | None = None
    """Of one replica."""
    output_tokens_per_s: NotNegative | None = None
    """Of one replica."""
    output_tokens_p50: NotNegative | None = None
    output_tokens_p99: NotNegative | None = None
    step_tokens_mean: NotNegative | None = None
    """Tokens of one step, prompts and answers."""
    step_s: NotNegative | None = None
    """Time of one step."""
    host_step_s: NotNegative | None = None
    """Time of one step as the host sees it, waiting for the accelerator included."""
    accepted_tokens_per_step: NotNegative | None = None
    """Tokens of one sequence in one step with drafts; 1: no draft is accepted."""
    requests_swapped: NotNegative | None = None
    """Requests of a replica whose KV blocks lie in host memory."""
    requests_paused: NotNegative | None = None
    """Requests of a replica that were preempted and wait to go on."""
    preempted_ratio: Ratio | None = None
    """Preemptions over requests that ended; 1 where there are more."""
    replica_imbalance_ratio: NotNegative | None = None
    """Running requests of the busiest replica over the mean of all; 1 is even."""
    kv_usage_p75_ratio: Ratio | None = None
    """Share of KV blocks in use that three quarters of the replicas do not exceed."""
    queue_depth_p75: NotNegative | None = None
    """Requests that wait, which three quarters of the replicas do not exceed."""
    request_failure_p75_ratio: Ratio | None = None
    """Share of requests that fail, which three quarters of the replicas do not exceed."""
    in_flight: NotNegative | None = None
    """Requests between router and replicas, all replicas together."""
    router_queue_depth: NotNegative | None = None
    """Requests that wait in front of the engines, in a router or gateway."""
    ready_replicas: Count | None = None
    """Replicas that take requests."""
    adapters_active: NotNegative | None = None
    """LoRA adapters with running requests."""
    adapters_waiting: NotNegative | None = None
    """LoRA adapters with waiting requests."""

    kv_block_lifetime_s: NotNegative | None = None
    """From the allocation of a cached block to its eviction, on average."""
    kv_block_idle_before_evict_s: NotNegative | None = None
    """From the last use of a cached block to its eviction, on average."""
    kv_block_reuse_gap_s: NotNegative | None = None
    """Between two uses of a cached block, on average."""
    external_hit_ratio: Ratio | None = None
    """Share of prompt tokens, missing on the device, that a cache on the host, in storage or remote held."""
    kv_transfer_failures_per_s: NotNegative | None = None

    http_error_ratio: Ratio | None = None
    """Share of answers with a server error (HTTP 5xx)."""
    http_refused_ratio: Ratio | None = None
    """Share of answers that refuse the client (HTTP 4xx)."""
    request_failure_ratio: Ratio | None = None
    """Share of requests that ended in an error or were aborted."""
    output_cut_ratio: Ratio | None = None
    """Share of answers that ended at their length limit."""
    engine_restarts: Count | None = None
    """Starts of the engine after the first one in the logs that were read."""
    engine_ended: Literal["no", "before-weights", "with-weights", "in-service"] | None = None
    """Whether an engine ended by itself, and how far its run had come: no weights loaded yet, not ready yet,
    or ready for requests."""
    start_stopped: bool | None = None
    """A startup probe gave up on a start that was not ready yet."""
    exit_error: str | None = None
    """The first error that an engine named before it ended."""

    host_cpu_ratio: Ratio | None = None
    """Share of the host's or container's processor time in use."""
    host_cpu_throttled_ratio: Ratio | None = None
    """Share of scheduling periods in which the container's CPU limit stopped it."""
    process_cpu_cores: NotNegative | None = None
    """Processor seconds a second of the serving process."""
    process_memory_bytes: NotNegative | None = None
    """Resident memory of the serving process."""
    process_memory_growth_bytes_per_s: float | None = None
    """Change of the resident memory; negative while it falls."""
    host_memory_used_ratio: Ratio | None = None
    """Share of the host's or container's memory in use."""
    event_loop_lag_s: NotNegative | None = None
    """Delay of the front end's event loop."""

    gpu_clock_ratio: Ratio | None = None
    """Clock of the multiprocessors over its maximum."""
    gpu_power_ratio: Ratio | None = None
    """Power over its limit."""
    gpu_temperature_c: NotNegative | None = None
    """Of the hottest accelerator, in degrees Celsius."""
    throttle_reason: Literal["none", "power", "thermal", "hardware"] | None = None
    """What holds the clocks of an accelerator down."""
    xid_error: Count | None = None
    """Number of the last Xid error of the NVIDIA driver; 0: none."""
    ecc_uncorrected: Count | None = None
    """Memory errors that could not be corrected, since the driver started."""
    memory_remap_failed: bool | None = None
    """A row of device memory could not be remapped, or waits for a reset."""
    pcie_link_ratio: Ratio | None = None
    """PCIe generation times width in use, over what card and slot can do."""
    pcie_replays_per_s: NotNegative | None = None
    gpu_load_spread_ratio: NotNegative | None = None
    """Use of the busiest accelerator over the mean; 1 is even."""
    gpu_unhealthy: bool | None = None
    """A health check of the driver or its monitor failed."""

    weights_load_s: NotNegative | None = None
    """Time for reading the weights, a part of the cold start."""
    weights_bytes: NotNegative | None = None
    """Memory of the weights, per accelerator."""
    compile_s: NotNegative | None = None
    """Time for compiling the model, a part of the cold start."""
    graph_capture_s: NotNegative | None = None
    """Time for capturing graphs, a part of the cold start."""
    graph_bytes: NotNegative | None = None
    """Memory of captured graphs, per accelerator."""
