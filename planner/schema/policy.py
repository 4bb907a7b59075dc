"""Judgement that planning uses, read from the catalog's calibration ``planning``."""

from __future__ import annotations

from dataclasses import dataclass

from planner.schema.catalog import Calibration


@dataclass(frozen=True)
class Policy:
    """See the meanings in ``catalog/calibration/planning.yaml``; one field a parameter there."""

    kv_tail_fraction: float
    slot_full_fraction: float
    prefix_cache_share: float
    input_guard_factor: float
    output_guard_factor: float
    breaker_budget_fraction: float
    default_confidence_fraction: float

    @classmethod
    def of(cls, calibration: Calibration) -> Policy:
        """The values of a calibration entry; a parameter that it lacks is a `KeyError`."""
        values = calibration.parameters
        return cls(**{name: values[name].value for name in cls.__dataclass_fields__})
