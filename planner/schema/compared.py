"""What a plan was held against: other fleets, other types of GPU, other formats."""

from __future__ import annotations

from typing import Literal

from planner.schema.base import Noun


class RunnerUp(Noun):
    """A plan that lost, and why."""

    option: str
    gpu: str
    replicas: int
    gpus: int
    cost_usd_per_hour: float
    why: str
    error: float | None = None
    """Standard deviation of the logarithm of its cost over that of the plan; null where cost is not minimized
    or nothing is modelled."""
    within_error: bool = False
    """The costs differ by less than that: nobody can tell which is cheaper without a measurement."""


class WhyNot(Noun):
    """A GPU type that no configuration can use within the limits."""

    gpu: str
    why: str
    stopped_by: str = ""
    """Id of the constraint or rule; empty where none is to blame alone."""


class GpuType(Noun):
    """What one accelerator of the catalog would do for the problem: its best fleet, or what stops it."""

    gpu: str
    """As the problem calls it, else the catalog id."""
    status: Literal["chosen", "dearer", "infeasible", "no-price", "excluded"]
    gpus: int | None = None
    """Of the plan where it is chosen, else of the best fleet of this type alone; idle ones included."""
    replicas: int | None = None
    layout: str | None = None
    """One layout a workload and role."""
    cost_usd_per_hour: float | None = None
    bound: Literal["exact", "upper", "lower"] | None = None
    """Of the cost: no fleet of this type is cheaper; a mix of layouts may be cheaper; losses of whole places
    are not in it."""
    stopped_by: str | None = None
    """The constraint that keeps it out, or a replica of it from carrying more."""
    provider: str | None = None
    place: str | None = None
    why: str = ""
    """In words."""


class FormatTried(Noun):
    """What a workload would cost with one pair of formats, or what keeps the pair out."""

    workload: str
    weights: str
    kv: str
    status: Literal["chosen", "dearer", "infeasible", "excluded"]
    cost_usd_per_hour: float | None = None
    """Of the cheapest fleet in which the workload has no other formats; other workloads are in it."""
    bound: Literal["exact", "upper"] | None = None
    """``upper``: the search ended before the proof."""
    gpus: dict[str, int] = {}
    """Of that fleet, by type; idle ones included."""
    layout: str | None = None
    """Its layouts of this workload."""
    stopped_by: str | None = None
    """The constraint that keeps it out, or a replica of its largest pool from carrying more."""
    why: str = ""
    """In words."""
