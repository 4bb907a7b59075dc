"""Formats that the quality target allows."""

from __future__ import annotations

import numpy as np

from planner.schema.candidates import Verdict
from planner.schema.evaluation import Evaluation


class PrecisionConstraint:
    """Weights and KV cache are kept in a format that the problem allows."""

    id = "precision"
    title = "number formats that quality allows"
    unit = ""
    source = "problem file, workload.precision"

    def check(self, evaluation: Evaluation) -> Verdict:
        """Value 1 where a format is not allowed, limit 0."""
        violated = evaluation.candidates.structural["precision"]
        return Verdict(
            id=f"{self.id}:{evaluation.workload.name}",
            title=self.title,
            unit=self.unit,
            value=violated.astype(np.float64),
            limit=np.zeros(violated.shape),
            violated=violated,
            texts=tuple(
                f"weights {item.weights.id}, KV {item.kv.id}" for item in evaluation.candidates.configurations
            ),
        )
