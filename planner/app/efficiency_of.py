"""The efficiency of one configuration at one load, for `estimate`."""

from __future__ import annotations

from planner.performance.efficiency import Operation, efficiency
from planner.performance.service_result import ServiceResult
from planner.schema.configuration import Configuration
from planner.schema.efficiency import Efficiency
from planner.schema.traffic import Traffic
from planner.steptime.specs import StepSpecs


def efficiency_of(
    item: Configuration, specs: StepSpecs, traffic: Traffic, found: ServiceResult, usd_per_hour: float | None
) -> Efficiency:
    """The figures at a load; without limits there is no goodput."""
    decodes = traffic.output_mean_tokens > 1.0
    step_s = float(found.step_s[0])
    at = Operation(
        rate_rps=float(found.rate_rps[0]),
        decoding=float(found.decoding[0]) if decodes else None,
        step_s=step_s if decodes and step_s > 0.0 else None,
        usd_per_hour=usd_per_hour,
    )
    return efficiency(item, specs, traffic, at)
