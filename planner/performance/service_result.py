"""What a service gives under its load: one entry a service, NaN where a kind of load has no such number."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from planner.physics.arrays import FloatArray
from planner.schema.slo import METRICS, SHOWN_STATISTICS

EVERY_LATENCY = tuple(f"{metric}_{statistic}" for metric in METRICS for statistic in SHOWN_STATISTICS)


@dataclass(frozen=True, eq=False)
class ServiceResult:
    """Rates of one replica but where said otherwise; seconds."""

    rate_rps: FloatArray
    """Requests that one replica completes."""
    output_tokens_per_s: FloatArray
    """Of all replicas."""
    utilization: FloatArray
    """`rate_rps` over what the replica completes when it is never without work."""
    decoding: FloatArray
    """Requests of one replica that decode, on average."""
    step_s: FloatArray
    """Mean time between two tokens of a request."""
    max_rps: FloatArray
    """Of all replicas: the largest rate within limits, where that was the question."""
    carried_rps: FloatArray
    """Under open arrivals: what one replica can be offered without a queue that has no end."""
    fitting: FloatArray
    """Sequences that one replica holds."""
    latency_s: dict[str, FloatArray]
    """By name: ``ttft_mean``, ``itl_p99`` and so on."""

    @classmethod
    def blank(cls, size: int) -> ServiceResult:
        """Nothing known yet."""
        numbers = {item.name: np.full(size, np.nan) for item in fields(cls) if item.name != "latency_s"}
        return cls(**numbers, latency_s={name: np.full(size, np.nan) for name in EVERY_LATENCY})
