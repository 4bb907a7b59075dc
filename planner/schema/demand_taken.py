"""What a plan says of the demand that people stated in their own words."""

from __future__ import annotations

from planner.schema.base import Noun


class DemandTaken(Noun):
    """The rate that a workload was planned for, and how it follows from what the problem says."""

    workload: str
    stated: str
    """As the problem says it: ``users: 50, think_time: 20 s``."""
    peak_rps: float
    mean_rps: float
    e2e_s: float | None = None
    """From request to the end of the answer, which the rate follows from; null where it follows from none."""
    e2e_is_limit: bool = False
    """That time is the limit, not the plan's mean."""
    requests_in_flight: float | None = None
    """In the plan's replicas at the peak, by Little's law: what a stated concurrency is held against."""
