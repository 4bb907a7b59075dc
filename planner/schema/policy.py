"""Judgment that planning uses, read from the catalog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from planner.schema.catalog import Judgment


@dataclass(frozen=True)
class _Judged:
    """One field a parameter of an entry of ``catalog/judgment``."""

    @classmethod
    def of(cls, judgment: Judgment) -> Self:
        """The values of an entry; a parameter that it lacks is a `KeyError`."""
        return cls(**{name: judgment.parameters[name].value for name in cls.__dataclass_fields__})


@dataclass(frozen=True)
class Policy(_Judged):
    """See the meanings in ``catalog/judgment/planning.yaml``; one field a parameter there."""

    longest_request_fraction: float
    kv_overflow_fraction: float
    largest_memory_fraction: float
    slot_full_fraction: float
    rare_step_margin_fraction: float
    prefix_cache_share: float
    host_link_efficiency_fraction: float
    local_prefill_tokens: float
    input_guard_factor: float
    output_guard_factor: float
    breaker_budget_fraction: float
    default_confidence_fraction: float


@dataclass(frozen=True)
class Alarms(_Judged):
    """Where a running fleet departs from its plan; ``catalog/judgment/monitoring.yaml``."""

    ttft_excess_fraction: float
    utilization_drop_fraction: float
    memory_low_fraction: float
    memory_high_fraction: float
    kv_high_fraction: float
    kv_eviction_fraction: float
    fleet_low_fraction: float
    fleet_high_fraction: float
    prefix_hit_low_fraction: float
    adapter_hit_low_fraction: float
    acceptance_low_fraction: float


@dataclass(frozen=True)
class RulesOfThumb(_Judged):
    """Rules of thumb of the sizing order; ``catalog/judgment/sizing.yaml``."""

    routing_gpus: float
    activation_fraction: float
    framework_fraction: float
    parallel_without_link: float
    law_gap_ratio: float
    safety_known_fraction: float
    safety_new_fraction: float


@dataclass(frozen=True)
class ServingOptions(_Judged):
    """Speculative decoding and experts over servers; ``catalog/judgment/serving-options.yaml``."""

    draft_pass_overhead_s: float
    ngram_sequence_overhead_s: float
    draft_sigma_log: float
    vocabulary_padding_tokens: float
    dispatch_bytes: float
    combine_bytes: float
    all_to_all_start_s: float


@dataclass(frozen=True)
class People(_Judged):
    """What people do between two requests; ``catalog/judgment/people.yaml``."""

    think_time_s: float
