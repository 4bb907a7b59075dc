"""A diagnosis held against a plan: what is predicted for the fleet as it is, and after each action."""

from __future__ import annotations

from typing import Any, Literal

from planner.schema.base import Noun


class PredictedState(Noun):
    """What the planner predicts for a fleet at a rate."""

    status: Literal["serves", "overloaded", "infeasible"]
    """Every limit holds; the rate, or a limit, is beyond these replicas; no such configuration can run."""
    why: str = ""
    """Where it is infeasible."""
    replicas: dict[str, int] = {}
    """By role."""
    gpus: int = 0
    cost_usd_per_hour: float | None = None
    capacity_rps: float | None = None
    """Largest rate at which all these replicas keep every limit; null where no rate does."""
    ttft_p99_s: float | None = None
    """At the rate; null where the queue would grow without end."""
    itl_p99_s: float | None = None


class PricedEffect(Noun):
    """What the planner predicts for an action, on the fleet of a plan."""

    text: str
    """What the rule lets expect."""
    set: dict[str, Any]
    """The action as changes of the problem by path, after those of the fleet as it is."""
    before: PredictedState
    after: PredictedState
    clears_slo: bool
    """Every limit holds afterwards, at the rate."""
    needs: PredictedState | None = None
    """Where it does not: the smallest fleet that keeps every limit after the action; null where none does."""

    @property
    def set_key(self) -> str:
        """Equal for two actions that come to the same fleet."""
        return repr((sorted(self.set.items()), self.after.replicas))


class Reproduced(Noun):
    """One measure as it was seen, and as the fitted model predicts it."""

    metric: str
    seen: float
    predicted: float | None
    """null: the queue grows without end."""
    within_ratio: float
    """How far the two may be apart, as a share of what was seen."""
    holds: bool


class PlanFit(Noun):
    """The load and one factor on step times, fitted so that the model shows what production shows."""

    step_factor: float
    """On all step times: above 1 the engine is slower than the model."""
    rate_from: Literal["request_rate_rps", "batch_mean"]
    """Observed; from the running requests by Little's law."""
    measures: tuple[Reproduced, ...]
    reproduced: bool
    """Every measure is; else no action is priced."""
    why: str = ""
    """Where it is not: the measure that is furthest off."""


class PricedRow(Noun):
    """One line of the table: the fleet as it is, or after one action alone."""

    rule: str | None = None
    """null: the fleet as it is."""
    action: str | None = None
    text: str
    state: PredictedState
    clears_slo: bool


class PlanUsed(Noun):
    """The plan that the observation was held against."""

    problem: str
    workload: str
    rate_rps: float
    rate_is_observed: bool
    """False: the peak of the plan. None was observed, or it follows from sessions or a trace."""
    set: dict[str, Any]
    """The fleet as it is, as changes of the plan's problem by path: its options, its replicas, the observed
    settings and traffic, and no margin."""
    fit: PlanFit | None = None
    """How the prediction was fitted to what was seen; null where no load was observed."""
    table: tuple[PricedRow, ...] = ()
    """The fleet as it is, then after each action by itself, all against the first row; empty where what was
    seen is not reproduced."""
