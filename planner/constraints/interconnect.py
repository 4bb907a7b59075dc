"""Groups of GPUs that can work on one layer together."""

from __future__ import annotations

import numpy as np

from planner.schema.candidates import Verdict
from planner.schema.evaluation import Evaluation


class InterconnectConstraint:
    """The GPUs of one pipeline stage lie in one server or instance, or in a rack that shares the link.

    Only degrees that the problem lists are ever tried against it; the search leaves out the rest.
    """

    id = "interconnect"
    title = "GPUs of one stage in one server"
    unit = "GPUs"
    source = "Sizing LLM Inference for Production, section 5.6"

    def check(self, evaluation: Evaluation) -> Verdict:
        """Value: GPUs of a stage; limit: GPUs of the server (the stage itself where it lies within)."""
        items = evaluation.candidates.configurations
        violated = evaluation.candidates.structural["interconnect"]
        group = np.array([float(item.tp * item.attention_dp) for item in items])
        server = np.array([float(item.node_gpus) for item in items])
        return Verdict(
            id=f"{self.id}:{evaluation.workload.name}",
            title=self.title,
            unit=self.unit,
            value=group,
            limit=np.where(violated, server, np.maximum(group, server)),
            violated=violated,
        )
