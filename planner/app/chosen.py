"""What the solver chose from, so that its ids can be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from planner.app.case import Evaluated
from planner.candidates.options import Placed
from planner.performance.split import Split
from planner.schema.candidates import Lot
from planner.schema.choice import ChoiceProblem, Option
from planner.schema.rules import PlanningRule


@dataclass(frozen=True, eq=False)
class Chosen:
    """The question with everything that its options come from."""

    question: ChoiceProblem
    found: Mapping[str, tuple[Option, Placed]]
    evaluated: Mapping[str, Evaluated]
    lots: Sequence[Lot]
    rules: Sequence[PlanningRule]
    unpriced: tuple[str, ...]
    """Accelerators that the problem names and nobody sells."""
    apart: Mapping[str, Split] = field(default_factory=dict)
    """Prefill and decode candidates, where they were searched."""

    def part(self, placed: Placed) -> Evaluated:
        """The evaluation that an option comes from."""
        if placed.role == "serve":
            return self.evaluated[placed.workload]
        side = self.apart[placed.workload].sides[placed.side]
        case = self.evaluated[placed.workload].case
        return Evaluated(case, side.evaluation, side.specs, len(side.evaluation.candidates), {})

    def sent_fraction(self, placed: Placed) -> float:
        """Share of a workload's prompts that reach a pool with this option."""
        if placed.role != "prefill":
            return 1.0
        split = self.apart[placed.workload]
        return split.pairs[split.sides[placed.side].division.local_tokens].sent_fraction
