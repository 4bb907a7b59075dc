"""What every named constraint does to prefill and decode candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planner.constraints.registry import verdicts
from planner.explain.removal import Bits, of_verdict
from planner.performance.split import Side, SideEvaluation, Split
from planner.schema.candidates import Verdict
from planner.schema.rules import PlanningRule

_SIDES: tuple[Side, ...] = ("prefill", "decode")


def side_bits(split: Split, rules: Sequence[PlanningRule]) -> list[list[Bits]]:
    """Bits of each side. A candidate breaks a limit when it does so however limits are divided."""
    found = []
    for side in _SIDES:
        mine = [one for one in split.sides if one.side == side]
        judged = [verdicts(one.evaluation, tuple(rules)) for one in mine]
        if not judged or not len(mine[0].evaluation.candidates):
            continue
        names = [f"{name} ({side})" for name in mine[0].evaluation.candidates.names]
        found.append([_bits(alike, mine[-1], names) for alike in zip(*judged, strict=True)])
    return found


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
