"""All constraints on candidates, in the order in which they are told."""

from __future__ import annotations

import numpy as np

from planner.constraints.batch import BatchConstraint
from planner.constraints.candidate import CandidateConstraint
from planner.constraints.context import ContextConstraint
from planner.constraints.divisibility import DivisibilityConstraint
from planner.constraints.interconnect import InterconnectConstraint
from planner.constraints.latency import LatencyConstraint
from planner.constraints.precision import PrecisionConstraint
from planner.constraints.quality import QualityConstraint
from planner.constraints.vram import MemoryConstraint
from planner.schema.candidates import BoolArray, Verdict
from planner.schema.evaluation import Evaluation
from planner.schema.rules import PlanningRule

CANDIDATE_CONSTRAINTS: tuple[CandidateConstraint, ...] = (
    PrecisionConstraint(),
    QualityConstraint(),
    DivisibilityConstraint(),
    InterconnectConstraint(),
    ContextConstraint(),
    MemoryConstraint(),
    BatchConstraint(),
    LatencyConstraint("ttft", "time to first token"),
    LatencyConstraint("itl", "inter-token latency"),
    LatencyConstraint("tpot", "time per output token"),
    LatencyConstraint("e2e", "end-to-end time"),
)


def verdicts(evaluation: Evaluation, rules: tuple[PlanningRule, ...]) -> tuple[Verdict, ...]:
    """Every verdict on the candidates of one workload: constraints first, then refusing rules."""
    judged = [constraint.check(evaluation) for constraint in CANDIDATE_CONSTRAINTS]
    titles = {rule.id: rule.title for rule in rules}
    for rule_id, violated in evaluation.refusals.items():
        judged.append(
            Verdict(
                id=rule_id,
                title=titles[rule_id],
                unit="",
                value=violated.astype(np.float64),
                limit=np.zeros(violated.shape),
                violated=violated,
                texts=evaluation.candidates.names,
            )
        )
    return tuple(judged)


def admitted(judged: tuple[Verdict, ...]) -> BoolArray:
    """Candidates that no verdict excludes."""
    return ~np.asarray(np.logical_or.reduce([verdict.violated for verdict in judged]))
