"""Latency limits: time to first token, inter-token latency, time per output token, end-to-end time."""

from __future__ import annotations

import numpy as np

from planner.schema.candidates import Verdict
from planner.schema.evaluation import Evaluation


class LatencyConstraint:
    """Every stated statistic of one latency stays at or below its limit (equal is allowed).

    Checked at the lightest load, a batch of one: what fails there fails at any load. How far the
    load may rise is the replica's capacity.
    """

    unit = "s"
    source = "problem file, workload.slo"

    def __init__(self, metric: str, title: str) -> None:
        """One constraint a metric: ttft, itl, tpot, e2e."""
        self.id = metric
        self.title = title

    def check(self, evaluation: Evaluation) -> Verdict:
        """Value and limit of the statistic that is worst against its limit."""
        shape = (len(evaluation.candidates),)
        value, limit = np.zeros(shape), np.full(shape, np.inf)
        worst = np.full(shape, -np.inf)
        for name, bound in evaluation.limits_s.items():
            if name.startswith(self.id):
                found = evaluation.capacities.latency_s[name]
                ratio = found / bound
                value = np.where(ratio > worst, found, value)
                limit = np.where(ratio > worst, bound, limit)
                worst = np.maximum(worst, ratio)
        return Verdict(
            id=f"{self.id}:{evaluation.workload.name}",
            title=self.title,
            unit=self.unit,
            value=value,
            limit=limit,
            violated=evaluation.capacities.latency_violated[self.id],
        )
