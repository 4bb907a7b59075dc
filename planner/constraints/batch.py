"""Batches that the problem lists."""

from __future__ import annotations

import numpy as np

from planner import numbers
from planner.schema.candidates import Verdict
from planner.schema.evaluation import Evaluation
from planner.schema.slo import METRICS


class BatchConstraint:
    """Memory holds the smallest batch that the problem lists.

    Fires where one sequence fits and every latency limit holds at a batch of one, but no listed batch
    is possible; without a list it never does.
    """

    id = "max-batch"
    title = "listed batches that memory holds"
    unit = ""
    source = "problem file, search.max_batch"

    def check(self, evaluation: Evaluation) -> Verdict:
        """Value 1 where no listed batch fits, limit 0."""
        found = evaluation.capacities
        slow = np.logical_or.reduce([found.latency_violated[metric] for metric in METRICS])
        violated = (found.max_batch < 1) & (evaluation.max_sequences >= 1) & ~slow
        counts = evaluation.max_sequences.tolist()
        texts = {count: f"memory holds {numbers.count(count, 'sequence')}" for count in set(counts)}
        return Verdict(
            id=f"{self.id}:{evaluation.workload.name}",
            title=self.title,
            unit=self.unit,
            value=violated.astype(np.float64),
            limit=np.zeros(violated.shape),
            violated=violated,
            texts=tuple(texts[count] for count in counts),
        )
