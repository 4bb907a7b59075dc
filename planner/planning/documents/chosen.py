"""What the solver chose from, so that its ids can be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from planner.candidates.options import Placed
from planner.performance.split import Split
from planner.planning.formulation.study import Formulation
from planner.planning.workload.case import Evaluated
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
    aside: Mapping[str, str]
    """Accelerators of the problem that are not considered, each with the fact that is not known."""
    disaggregated: Mapping[str, Split] = field(default_factory=dict)
    """Prefill and decode candidates, where they were searched."""

    def part(self, placed: Placed) -> Evaluated:
        """The evaluation that an option comes from."""
        if placed.role == "serve":
            return self.evaluated[placed.workload]
        side = self.disaggregated[placed.workload].sides[placed.side]
        case = self.evaluated[placed.workload].case
        return Evaluated(case, side.evaluation, side.specs, len(side.evaluation.candidates), {})

    def sent_fraction(self, placed: Placed) -> float:
        """Share of a workload's prompts that reach a pool with this option."""
        if placed.role != "prefill":
            return 1.0
        split = self.disaggregated[placed.workload]
        return split.pairs[split.sides[placed.side].division.local_tokens].sent_fraction


def chosen_of(formulation: Formulation) -> Chosen:
    """What the options of a formulated problem come from."""
    ready = {name: part for name, part in formulation.evaluated.items() if part is not None}
    disaggregated = {name: split for name, split in formulation.disaggregated.items() if split is not None}
    return Chosen(
        formulation.question,
        formulation.found,
        ready,
        formulation.lots,
        formulation.rules,
        formulation.aside,
        disaggregated,
    )
