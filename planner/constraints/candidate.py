"""The form of a constraint on candidates."""

from __future__ import annotations

from typing import Protocol

from planner.schema.candidates import Verdict
from planner.schema.evaluation import Evaluation


class CandidateConstraint(Protocol):
    """A named limit on single candidates: excludes violators and keeps the bit."""

    id: str
    title: str
    unit: str
    source: str

    def check(self, evaluation: Evaluation) -> Verdict:
        """Value, limit and violation of every candidate."""
        ...
