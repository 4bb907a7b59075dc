"""What a plan says about serving prompts and answers together or apart."""

from __future__ import annotations

from typing import Literal

from planner.schema.base import Noun


class ModeChoice(Noun):
    """Both ways to serve a workload that was searched in both."""

    workload: str
    chosen: Literal["aggregated", "disaggregated"]
    aggregated_cost_usd_per_hour: float | None
    """The cheapest plan with this workload served together; null where there is none."""
    disaggregated_cost_usd_per_hour: float | None
    """The cheapest plan with this workload served apart; null where there is none."""
    proved: bool = True
    """False: a limit of time ended the search for the other way; it may be cheaper."""
    itl_p99_together_s: float | None
    """Gap between tokens where prompts share the steps of answers, on the same GPUs at the same load."""
    itl_p99_apart_s: float | None
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
