"""Judgement that planning uses, read from the catalog."""

from __future__ import annotations

from dataclasses import dataclass

from planner.schema.catalog import Judgement


@dataclass(frozen=True)
class Policy:
    """See the meanings in ``catalog/judgement/planning.yaml``; one field a parameter there."""

    kv_tail_fraction: float
    slot_full_fraction: float
    rare_step_margin_fraction: float
    prefix_cache_share: float
    input_guard_factor: float
    output_guard_factor: float
    breaker_budget_fraction: float
    default_confidence_fraction: float

    @classmethod
    def of(cls, judgement: Judgement) -> Policy:
        """The values of an entry; a parameter that it lacks is a `KeyError`."""
        values = judgement.parameters
        return cls(**{name: values[name].value for name in cls.__dataclass_fields__})
