"""Shapes that split evenly."""

from __future__ import annotations

import numpy as np

from planner.schema.candidates import Verdict
from planner.schema.evaluation import Evaluation


class DivisibilityConstraint:
    """Heads and experts split evenly over the GPUs, and every pipeline stage has a layer.

    Only degrees that the problem lists are ever tried against it; the search leaves out the rest.
    """

    id = "divisibility"
    title = "heads, experts and layers that divide"
    unit = ""
    source = "Sizing LLM Inference for Production, section 5.1"

    def check(self, evaluation: Evaluation) -> Verdict:
        """Value 1 where something does not divide, limit 0."""
        model, violated = evaluation.model, evaluation.candidates.structural["divisibility"]
        shape = f"{model.query_heads} query heads, {model.kv_heads} KV heads, {model.layers} layers"
        return Verdict(
            id=f"{self.id}:{evaluation.workload.name}",
            title=self.title,
            unit=self.unit,
            value=violated.astype(np.float64),
            limit=np.zeros(violated.shape),
            violated=violated,
            texts=tuple(
                f"{shape} over tp {item.tp}, pp {item.pp}, ep {item.ep}"
                for item in evaluation.candidates.configurations
            ),
        )
