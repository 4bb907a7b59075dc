"""Prefill and decode candidates as options for the solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from planner.candidates.options import Placed, options
from planner.candidates.roles import kv_class
from planner.performance.division import LARGEST_ROOM
from planner.performance.split import Side, SideEvaluation, Split
from planner.schema.candidates import BoolArray, Lot
from planner.schema.choice import Option


def split_options(
    split: Split,
    lots: Sequence[Lot],
    admitted: Sequence[BoolArray],
    whole_servers: bool,
    every: bool = False,
) -> dict[str, tuple[Option, Placed]]:
    """The options of both sides of one workload, by id.

    Prefill and decode options fit each other when their KV class, their place and the track of their
    divisions agree (one name), and when ``ttft_s + transfer_s`` is at most `LARGEST_ROOM`: one of them is the
    room that is needed, the other what is not left.

    Args:
        split: both sides at every division of the limits.
        lots: what can be bought.
        admitted: candidates that no constraint excludes, one array a side of ``split``.
        whole_servers: a replica larger than one server takes whole servers.
        every: keep those too that a better one in the same room stands for.
    """
    found: dict[str, tuple[Option, Placed]] = {}
    several = len({side.division for side in split.sides}) > 1
    for place, (side, allowed) in enumerate(zip(split.sides, admitted, strict=True)):
        items = side.evaluation.candidates.configurations
        kinds = np.array([kv_class(item) for item in items], dtype=object)
        usable = allowed & (side.evaluation.capacities.max_batch > 0)
        division = f" ({side.division.text})" if several else ""
        for kind in sorted(set(kinds[usable].tolist())):
            mine = options(side.evaluation, lots, usable & (kinds == kind), whole_servers, every)
            for option, placed in mine.values():
                taken = _of_side(option, side, split.first_token_from, kind, lots[placed.lot], division)
                found[taken.id] = (taken, replace(placed, role=side.side, side=place))
    return dict(sorted(found.items()))


def _place(lot: Lot) -> str:
    """Where workers reach each other over the network between servers: one region of one provider."""
    return f"{lot.offer.provider} {lot.offer.region}" if lot.offer is not None else "the fleet"


def _of_side(
    option: Option, side: SideEvaluation, first_token_from: Side, kind: str, lot: Lot, division: str
) -> Option:
    """An option of aggregated serving as one of a side."""
    name = option.id.replace(f"{option.workload}: ", f"{option.workload}: {side.side} ", 1)
    track = f", {side.division.track}" if side.division.track else ""
    leaves = side.side != first_token_from
    number = LARGEST_ROOM - side.division.room if leaves else side.division.room
    return option.but(
        id=f"{name}{division}",
        role=side.side,
        kv=f"{kind} in {_place(lot)}{track}",
        ttft_s=number if side.side == "prefill" else None,
        transfer_s=number if side.side == "decode" else Fraction(0),
    )
