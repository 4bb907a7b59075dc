"""What each layer of safety adds to a fleet."""

from __future__ import annotations

from typing import Literal

from planner.schema.base import Noun

SafetyName = Literal["means", "percentiles", "confidence", "headroom", "redundancy", "purchase"]


class SafetyShare(Noun):
    """What one workload needs at a step."""

    gpus: int | None
    """The most of any period; None: its machines are shared with other workloads, or there is no plan."""
    cost_usd_per_hour: float | None
    """Mean over the periods, charges for starts left out; None: there is no plan."""


class SafetyStep(Noun):
    """The fleet with the layers of safety up to this one.

    ``means``: limits on percentiles read as limits on means, median step times, no spare.
    ``percentiles``: the limits as stated. ``confidence``: step times that hold with the planned probability.
    ``headroom``: room for more demand, and the limit on utilization. ``redundancy``: spares and least
    numbers of replicas. ``purchase``: whole servers, terms and starts; this is the plan.
    """

    step: SafetyName
    gpus: int | None
    """GPUs of all types, of each the most of any period; before ``purchase`` those of the replicas alone.
    None: nothing keeps the limits."""
    cost_usd_per_hour: float | None
    """Mean over the periods; before ``purchase`` at what the plan pays for such a GPU on average."""
    gap: float | None = None
    """Where each step is solved again: 0 is a proof."""
    by_workload: dict[str, SafetyShare] = {}
    """Of several workloads each; their GPUs add up to no less than ``gpus``."""


class LimitMargin(Noun):
    """How sure the statistic of one limit is, and what it is planned with; each has its own spread."""

    workload: str
    limit: str
    """Name of `Slo`: ``ttft_p99``."""
    sigma_log: float
    """Log-standard deviation of this statistic, of the least sure pool."""
    mean_sigma_log: float
    """That of the mean: of TTFT, or of TPOT. The rest is what the percentile adds, in quadrature."""
    factor: float
    """Planned over median value, at the planned confidence."""


class CostError(Noun):
    """What the fleet would cost if its replicas were faster or slower than modelled.

    The chosen layouts, sized with the plan's headroom and spares for step times one standard deviation below
    and above their median, and bought in whole servers where the plan does. The plan itself is sized for its
    own confidence, so it may lie anywhere between them, or above.
    """

    low_usd_per_hour: float
    high_usd_per_hour: float
    sigma_log: float
    """Standard deviation of the logarithm of the cost, before replicas and servers are whole."""
