"""The model's context window."""

from __future__ import annotations

import numpy as np

from planner.schema.candidates import Verdict
from planner.schema.evaluation import Evaluation


class ContextConstraint:
    """Prompt and answer at the planned tail length fit into the model's context window."""

    id = "context"
    title = "context window of the model"
    unit = "tokens"
    source = "model configuration, max_position_embeddings"

    def check(self, evaluation: Evaluation) -> Verdict:
        """Value: tokens of a tail request; limit: the window."""
        shape = (len(evaluation.candidates),)
        value = np.full(shape, float(evaluation.traffic.kv_tokens))
        limit = np.full(shape, float(evaluation.model.max_context_tokens))
        return Verdict(
            id=f"{self.id}:{evaluation.workload.name}",
            title=self.title,
            unit=self.unit,
            value=value,
            limit=limit,
            violated=value > limit,
        )
