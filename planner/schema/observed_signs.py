"""Signs of what limits a deployment that somebody counts or looks up: predictions, host, client, tenants."""

from __future__ import annotations

from planner.schema.base import Noun
from planner.schema.observed_bounds import NotNegative, Ratio


class ObservedSigns(Noun):
    """What is known beyond engine, host and device metrics."""

    model: str | None = None
    """Id of the served model; with gpu_model it lets the planner predict step times."""
    itl_predicted_s: NotNegative | None = None
    """Time between tokens that the performance model predicts for this model, accelerator and batch."""
    ttft_predicted_s: NotNegative | None = None
    """Time of one prompt alone that the performance model predicts."""
    cold_start_predicted_s: NotNegative | None = None
    """From order to first request, that the performance model predicts for weights on a local drive."""
    itl_baseline_s: NotNegative | None = None
    """The median time between tokens before a change, at the same load."""
    throughput_change_ratio: NotNegative | None = None
    """Tokens per GPU-hour over those of a time before, at the same demand; 1 is unchanged."""
    version_changed: bool | None = None
    """Engine, driver or image was changed shortly before."""
    answers_changed_ratio: Ratio | None = None
    """Share of fixed test prompts whose answer changed."""

    busiest_core_ratio: Ratio | None = None
    """Use of the busiest core that engine or API server runs on."""
    numa_local: bool | None = None
    """Engine processes run on the socket of their accelerator."""
    rank_spread_ratio: NotNegative | None = None
    """Step time of the slowest rank over the mean of all."""
    storage_read_bytes_per_s: NotNegative | None = None
    """What the volume that holds the weights reads, measured without the engine."""
    weights_quantized: bool | None = None
    quantized_slowdown_ratio: NotNegative | None = None
    """Time between tokens over that of the 16-bit weights; above 1 is slower."""

    client_concurrency: NotNegative | None = None
    """Requests that clients want to have in flight at once, per replica."""
    client_core_ratio: Ratio | None = None
    """Use of the busiest core of the load generator."""
    retry_ratio: NotNegative | None = None
    """Retries over first attempts."""
    tenant_top_ratio: Ratio | None = None
    """Share of tokens that the busiest tenant takes."""
    high_priority_wait_s: NotNegative | None = None
    """Time that requests of high priority wait."""
    structured_output_ratio: Ratio | None = None
    """Share of requests with a grammar or JSON schema."""
    grammar_compile_s: NotNegative | None = None
    """Time to compile the grammar of one request."""
    logprobs_ratio: Ratio | None = None
    """Share of requests that ask for log-probabilities."""
    penalties_ratio: Ratio | None = None
    """Share of requests with penalties or logit biases."""
    planned_output_tokens_p50: NotNegative | None = None
    """Typical length of answers that the fleet was sized for."""
    shared_prefix_tokens: NotNegative | None = None
    """Tokens that prompts share at their beginning, by their text."""
    prefix_varies_early: bool | None = None
    """Something that differs from request to request (a clock, an id) stands at the front of prompts."""
