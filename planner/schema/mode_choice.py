"""What a plan says about serving prefill and decode aggregated or disaggregated."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from planner.schema.base import Noun, earlier


class ModeChoice(Noun):
    """Both modes of a workload that was searched in both."""

    workload: str
    chosen: Literal["aggregated", "disaggregated"]
    aggregated_cost_usd_per_hour: float | None
    """The cheapest plan with this workload aggregated; null where there is none."""
    disaggregated_cost_usd_per_hour: float | None
    """The cheapest plan with this workload disaggregated; null where there is none."""
    proved: bool = True
    """False: a limit of time ended the search for the other mode; it may be cheaper."""
    itl_p99_aggregated_s: float | None = Field(
        validation_alias=earlier("itl_p99_aggregated_s", "itl_p99_together_s")
    )
    """Gap between tokens where prompts share the steps of answers, on the same GPUs at the same load."""
    itl_p99_disaggregated_s: float | None = Field(
        validation_alias=earlier("itl_p99_disaggregated_s", "itl_p99_apart_s")
    )
    """The gap where answers have the steps for themselves."""
    text: str


class PrefillDecodeStep(Noun):
    """A ratio of prefill to decode replicas one step from the plan's."""

    workload: str
    prefill: int
    """Replicas more (or fewer) than in the plan."""
    decode: int
    replicas: str
    """``prefill:decode``."""
    gpus: str
    feasible: bool
    cost_usd_per_hour: float | None
    """What the replicas would cost, whether they carry the demand or not; null where there are none."""
    text: str
