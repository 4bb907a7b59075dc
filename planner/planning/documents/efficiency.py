"""The efficiency of the pools of a plan at their planned load."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.performance.efficiency import Operation, efficiency
from planner.planning.documents.pool_document import PoolCase
from planner.schema.efficiency import Efficiency
from planner.schema.pool import Pool


def with_efficiency(
    documents: Sequence[Pool], cases: Sequence[PoolCase], one_period: bool
) -> tuple[Pool, ...]:
    """The pools with how well their replicas use the hardware.

    Args:
        documents: pools at their load.
        cases: what is behind each.
        one_period: what they cost belongs to that load.
    """
    return tuple(
        document.model_copy(update={"efficiency": _of_pool(document, case, one_period)})
        for document, case in zip(documents, cases, strict=True)
    )


def _of_pool(document: Pool, case: PoolCase, one_period: bool) -> Efficiency:
    part, index = case.evaluated, case.placed.configuration
    step_s = document.tpot_s.get("mean")
    if step_s is not None and document.speculation is not None:
        step_s *= document.speculation.tokens_per_step
    return efficiency(
        part.evaluation.candidates.configurations[index],
        part.specs.take(np.array([index], dtype=np.int64)),
        part.evaluation.traffic_of(index),
        Operation(
            rate_rps=document.load_rps,
            role=document.role,
            decoding=document.concurrency,
            step_s=step_s,
            goodput_rps=document.capacity_rps if part.case.limits_s else None,
            usd_per_hour=document.usd_per_hour / document.replicas if one_period else None,
        ),
    )
