"""What every named constraint does to prefill and decode candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planner.constraints.registry import verdicts
from planner.explain.removal import Bits, of_verdict
from planner.performance.split import Side, SideEvaluation, Split
from planner.planning.workload.case import Case
from planner.schema.candidates import Verdict
from planner.schema.rules import PlanningRule

_SIDES: tuple[Side, ...] = ("prefill", "decode")


def side_bits(split: Split, rules: Sequence[PlanningRule], case: Case) -> list[list[Bits]]:
    """Bits of each side. A candidate breaks a limit when it does so however limits are divided."""
    found = []
    for side in _SIDES:
        mine = [one for one in split.sides if one.side == side]
        judged = [verdicts(one.evaluation, tuple(rules)) for one in mine]
        if not judged or not len(mine[0].evaluation.candidates):
            continue
        names = [f"{name} ({side})" for name in mine[0].evaluation.candidates.names]
        bits = [_bits(alike, mine[-1], names) for alike in zip(*judged, strict=True)]
        found.append(bits if case.stated("ttft") == "ttft" else _within_answers(bits, mine[-1]))
    return found


def _within_answers(bits: Sequence[Bits], last: SideEvaluation) -> list[Bits]:
    """What answers leave of E2E to the first token, told as the limit on E2E that it is a part of."""
    by_metric = {item.id.partition(":")[0]: item for item in bits}
    first, whole = by_metric["ttft"], by_metric["e2e"]
    bound = np.where(np.isfinite(first.limit), first.limit, 0.0)
    answers_s = bound * (100.0 / (100.0 - last.division.answer) - 1.0)
    taken = first.violated & ~whole.violated
    merged = replace(
        whole,
        violated=first.violated | whole.violated,
        value=np.where(taken, first.value + answers_s, whole.value),
        limit=np.where(taken, first.limit + answers_s, whole.limit),
    )
    return [merged if item is whole else item for item in bits if item is not first]


def _bits(alike: Sequence[Verdict], last: SideEvaluation, names: Sequence[str]) -> Bits:
    """One constraint over the divisions, shown at the last one with the whole limit and what it leaves."""
    bits = of_verdict(alike[-1], names)
    share = last.share_of(bits.id.partition(":")[0])
    stated = np.where(np.isfinite(bits.limit), bits.limit, 0.0)
    others = stated * (1.0 / share - 1.0)
    return replace(
        bits,
        violated=np.logical_and.reduce([verdict.violated for verdict in alike]),
        value=bits.value + others,
        limit=bits.limit + others,
    )
