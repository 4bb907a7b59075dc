"""Whether a running system keeps what its plan promises: limits, runs, and what a new calibration changes."""

from __future__ import annotations

from typing import Literal

from planner.schema.base import Noun
from planner.schema.benchmark import FactorChange
from planner.schema.plan import Difference

Verdict = Literal["holds", "breaks", "open"]
"""``open``: the runs cannot tell; ``reason`` says why."""
Weight = Literal["as planned", "lighter", "heavier", "unknown", "other"]
"""``other``: not comparable, neither lighter nor heavier."""


class LoadCompared(Noun):
    """One side of the load of a run beside the plan's."""

    what: Literal["rate", "input length", "output length", "burstiness", "prefix hits", "system"]
    planned: float | str | None
    measured: float | str | None
    unit: str = ""
    weight: Weight
    text: str = ""


class RunChecked(Noun):
    """One run, with the workload that it tests."""

    where: str
    source: str
    workload: str
    requests: int
    failed: int
    load: tuple[LoadCompared, ...]
    matches: bool
    """The load of the run is the plan's, as far as the file tells."""


class LimitChecked(Noun):
    """One limit that the plan promises to keep, and what was measured of it."""

    id: str
    statistic: str
    """``mean``, ``p50``, …; ``rate`` of the demand."""
    promised: float
    """The limit of the problem; of the demand its peak."""
    predicted: float | None = None
    """What the plan says it will be, of the pool that is nearest to the limit."""
    measured: float | None
    """Null where no run tells, or where a percentile is not stated."""
    low: float | None
    high: float | None
    """Null where nothing bounds it."""
    unit: str
    confidence: float
    verdict: Verdict
    requests: int
    where: str = ""
    """The run that decides."""
    basis: str = ""
    """How the interval was made."""
    reason: str = ""
    """Why it is open or broken, in words."""


class Verification(Noun):
    """A plan held against runs of the system that it describes."""

    problem: str
    limits: tuple[LimitChecked, ...]
    verdict: Verdict
    """``breaks`` where any limit breaks, ``holds`` where all hold."""
    runs: tuple[RunChecked, ...]
    calibration: str | None = None
    """The overlay that was written; null where none was asked for or none could be fitted."""
    factors: tuple[FactorChange, ...] = ()
    calibration_notes: tuple[str, ...] = ()
    """Why runs did not take part in a fit, or why there is none."""
    plan_would_change: bool | None = None
    """With the new calibration; null where the plan was not solved again."""
    difference: tuple[Difference, ...] = ()
    """From the plan to the one with the new calibration."""
    warnings: tuple[str, ...] = ()
