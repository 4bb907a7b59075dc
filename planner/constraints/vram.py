"""Device memory."""

from __future__ import annotations

import numpy as np

from planner.schema.candidates import Verdict
from planner.schema.evaluation import Evaluation


class MemoryConstraint:
    """The fullest GPU of a replica holds weights, activations, framework and one sequence.

    Equation: weights + activations + framework + adapters + KV(P95 length) <= min(engine limit,
    1 - headroom) x memory in steady state, and weights x (1 + copy) + framework <= memory while
    loading.
    """

    id = "vram"
    title = "device memory of one GPU"
    unit = "B"
    source = "Sizing LLM Inference for Production, section 2"

    def check(self, evaluation: Evaluation) -> Verdict:
        """Value: bytes needed for one sequence; limit: bytes that may be filled."""
        value = np.asarray(evaluation.needed_bytes, dtype=np.float64)
        limit = np.asarray(evaluation.usable_bytes, dtype=np.float64)
        loading = evaluation.load_peak_bytes > evaluation.device_bytes
        value = np.where(loading, np.maximum(value, evaluation.load_peak_bytes), value)
        return Verdict(
            id=f"{self.id}:{evaluation.workload.name}",
            title=self.title,
            unit=self.unit,
            value=value,
            limit=limit,
            violated=(evaluation.max_sequences < 1) | loading,
        )
