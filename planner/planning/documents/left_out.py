"""What a plan says about options that it does not take."""

from __future__ import annotations

from planner.constraints.registry import admitted, verdicts
from planner.explain.why_not import why_not
from planner.planning.documents.chosen import Chosen
from planner.schema.compared import WhyNot


def left_out(chosen: Chosen) -> tuple[WhyNot, ...]:
    """GPU types that no configuration can use within the limits, in any role, or that were left aside."""
    able = {option.gpu for option, _ in chosen.found.values()}
    lines = [WhyNot(gpu=name, why=what) for name, what in chosen.aside.items()]
    for part in chosen.evaluated.values():
        judged = verdicts(part.evaluation, tuple(chosen.rules))
        lines += why_not(
            part.evaluation, judged, admitted(judged), lots=chosen.lots, refused=part.refused_gpus
        )
    return tuple(line for line in lines if line.gpu not in able)
