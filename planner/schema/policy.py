"""Judgement that planning uses, read from the catalog."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from planner.schema.catalog import Judgement


@dataclass(frozen=True)
class Policy:
    """See the meanings in ``catalog/judgement/planning.yaml``; one field a parameter there."""

    kv_tail_fraction: float
    slot_full_fraction: float
    rare_step_margin_fraction: float
    prefix_cache_share: float
    host_link_efficiency_fraction: float
    local_prefill_tokens: float
    input_guard_factor: float
    output_guard_factor: float
    breaker_budget_fraction: float
    default_confidence_fraction: float

    @classmethod
    def of(cls, judgement: Judgement) -> Policy:
        """The values of an entry; a parameter that it lacks is a `KeyError`."""
        return cls(**_values(judgement, cls.__dataclass_fields__))


@dataclass(frozen=True)
class Alarms:
    """Where a running fleet departs from its plan; ``catalog/judgement/monitoring.yaml``."""

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

    @classmethod
    def of(cls, judgement: Judgement) -> Alarms:
        """The values of an entry; a parameter that it lacks is a `KeyError`."""
        return cls(**_values(judgement, cls.__dataclass_fields__))


@dataclass(frozen=True)
class RulesOfThumb:
    """Rules of thumb of the sizing order; ``catalog/judgement/sizing.yaml``."""

    routing_gpus: float
    activation_fraction: float
    framework_fraction: float
    parallel_without_link: float
    law_gap_ratio: float
    safety_known_fraction: float
    safety_new_fraction: float

    @classmethod
    def of(cls, judgement: Judgement) -> RulesOfThumb:
        """The values of an entry; a parameter that it lacks is a `KeyError`."""
        return cls(**_values(judgement, cls.__dataclass_fields__))


@dataclass(frozen=True)
class ServingOptions:
    """Speculative decoding and experts over servers; ``catalog/judgement/serving-options.yaml``."""

    draft_pass_overhead_s: float
    ngram_sequence_overhead_s: float
    draft_sigma_log: float
    vocabulary_padding_tokens: float
    dispatch_bytes: float
    combine_bytes: float

    @classmethod
    def of(cls, judgement: Judgement) -> ServingOptions:
        """The values of an entry; a parameter that it lacks is a `KeyError`."""
        return cls(**_values(judgement, cls.__dataclass_fields__))


def _values(judgement: Judgement, names: Iterable[str]) -> dict[str, float]:
    return {name: judgement.parameters[name].value for name in names}
