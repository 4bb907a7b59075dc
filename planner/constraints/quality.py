"""What number formats may cost in quality."""

from __future__ import annotations

import numpy as np

from planner.schema.candidates import Verdict
from planner.schema.evaluation import Evaluation
from planner.steptime.quality import NOTHING, quality_losses


class QualityConstraint:
    """Weights and cache together lose at most so much by what is published of their formats."""

    id = "max-quality-loss"
    title = "published loss of quality by number formats (no figure counts as 100 %)"
    unit = "fraction"
    source = "problem file, workload.max_quality_loss; catalog/formats, quality"

    def check(self, evaluation: Evaluation) -> Verdict:
        """Value: the loss; limit: the largest that the problem takes."""
        items = evaluation.candidates.configurations
        violated = evaluation.candidates.structural["max-quality-loss"]
        most = evaluation.workload.max_quality_loss
        losses = quality_losses(items) if most is not None else [NOTHING] * len(items)
        return Verdict(
            id=f"{self.id}:{evaluation.workload.name}",
            title=self.title,
            unit=self.unit,
            value=np.array([1.0 if loss is None else float(loss) for loss in losses], dtype=np.float64),
            limit=np.full(len(items), 1.0 if most is None else float(most)),
            violated=violated,
        )
