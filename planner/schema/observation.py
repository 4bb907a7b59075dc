"""What was seen in production, in engine-neutral words: the input of a diagnosis.

Everything is optional: an absent value was not observed. Ratios are fractions of one.
"""

from __future__ import annotations

from typing import Literal

from planner.schema.base import Noun
from planner.schema.observed_bounds import NotNegative, Positive, Ratio
from planner.schema.observed_evidence import ObservedEvidence
from planner.schema.observed_settings import ObservedSettings
from planner.schema.observed_signs import ObservedSigns

LIMITS = ("max_input_tokens", "max_output_tokens")
"""Fields in which null says something: unlimited. Elsewhere null means not observed, as absence does."""


class ObservedLimits(Noun):
    """The latency limits that hold for the observed traffic, in seconds."""

    ttft_mean_s: NotNegative | None = None
    ttft_p50_s: NotNegative | None = None
    ttft_p90_s: NotNegative | None = None
    ttft_p95_s: NotNegative | None = None
    ttft_p99_s: NotNegative | None = None
    itl_mean_s: NotNegative | None = None
    itl_p50_s: NotNegative | None = None
    itl_p90_s: NotNegative | None = None
    itl_p95_s: NotNegative | None = None
    itl_p99_s: NotNegative | None = None
    tpot_mean_s: NotNegative | None = None
    tpot_p50_s: NotNegative | None = None
    tpot_p90_s: NotNegative | None = None
    tpot_p95_s: NotNegative | None = None
    tpot_p99_s: NotNegative | None = None
    e2e_mean_s: NotNegative | None = None
    e2e_p50_s: NotNegative | None = None
    e2e_p90_s: NotNegative | None = None
    e2e_p95_s: NotNegative | None = None
    e2e_p99_s: NotNegative | None = None


class Observation(ObservedSettings, ObservedEvidence, ObservedSigns):
    """Observed values of one deployment under one traffic."""

    ttft_p50_s: NotNegative | None = None
    ttft_p99_s: NotNegative | None = None
    itl_p50_s: NotNegative | None = None
    itl_p99_s: NotNegative | None = None
    e2e_p99_s: NotNegative | None = None

    queue_depth: NotNegative | None = None
    """Requests that wait, per replica."""
    queue_growth_per_s: float | None = None
    """Change of the queue depth; negative while it drains."""
    request_rate_rps: NotNegative | None = None
    requests_rejected_per_s: NotNegative | None = None
    goodput_ratio: Ratio | None = None
    """Share of requests within every latency limit."""

    kv_usage_ratio: Ratio | None = None
    """Share of KV blocks in use."""
    preemptions_per_s: NotNegative | None = None
    eviction_ratio: Ratio | None = None
    """Share of KV blocks evicted to make room."""
    prefix_hit_ratio: Ratio | None = None
    """Share of prompt tokens found in the prefix cache."""
    prefix_reuse_expected: bool | None = None
    """Prompts share long prefixes (system prompts, sessions, agents)."""

    gpu_compute_ratio: Ratio | None = None
    """Share of the peak of the matrix units."""
    gpu_memory_used_ratio: Ratio | None = None
    memory_bandwidth_ratio: Ratio | None = None
    gpu_utilization_ratio: Ratio | None = None
    """Share of time with any kernel running."""
    fleet_utilization_ratio: Ratio | None = None
    """Load over capacity of the whole fleet, as a mean over a day or longer."""
    gpu_types: Positive | None = None
    """Kinds of accelerators that one balancer treats alike."""
    interconnect_ratio: Ratio | None = None
    oom: Literal["none", "at-load", "at-start-of-traffic", "progressive"] | None = None
    """at-load: under high load; at-start-of-traffic: with the first ones; progressive: creeping up."""
    host_oom: bool | None = None
    """The host, not the device, ran out of memory."""
    replicas_idle_ratio: Ratio | None = None
    """Share of replicas with nothing to do."""

    spec_acceptance_ratio: Ratio | None = None
    """Share of speculated tokens that were accepted."""
    adapter_hit_ratio: Ratio | None = None
    adapter_eviction_per_s: NotNegative | None = None
    cold_start_s: NotNegative | None = None

    batch_mean: NotNegative | None = None
    """Sequences in a step, on average."""
    max_batch: Positive | None = None
    tp: Positive | None = None
    link: Literal["nvlink", "pcie"] | None = None
    batching: Literal["continuous", "static"] | None = None
    chunked_prefill: bool | None = None
    prefix_caching: bool | None = None
    kv_precision: str | None = None
    expert_overflow_ratio: Ratio | None = None
    """Share of tokens that an expert could not take."""
    expert_imbalance_ratio: NotNegative | None = None
    """Load of the busiest expert over the mean; 1 is even."""
    routing: Literal["round-robin", "cache-aware", "load-aware"] | None = None
    mode: Literal["aggregated", "disaggregated"] | None = None
    prefill_queue_depth: NotNegative | None = None
    decode_eviction_ratio: Ratio | None = None
    kv_transfer_s: NotNegative | None = None

    input_tokens_p50: NotNegative | None = None
    input_tokens_p99: NotNegative | None = None
    max_input_tokens: Positive | None = None
    """The limit in front of the engine; null = unlimited, absent = not observed."""
    max_output_tokens: Positive | None = None
    """The limit in front of the engine; null = unlimited, absent = not observed."""
    sessions_stateless: bool | None = None
    """Clients send the whole conversation with every turn instead of continuing a session."""
    version_mismatch: bool | None = None
    """Replicas run different images, libraries or engine versions."""
    driver_version: NotNegative | None = None
    """Major and minor version of the accelerator's driver, such as 535.54."""
    cuda_version: NotNegative | None = None
    """CUDA version that the image is built for, such as 12.4."""
    slo: ObservedLimits | None = None
