"""Tiers in a replay: which requests the router sends to a stage, and which go on to the next one.

A request of a cascade that is escalated, and one that the router misplaced, runs to its last token and comes
to the next stage then. Nothing comes back, so stages are replayed one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from planner.planning.formulation.tiers import SINGLE
from planner.replay.lengths import FloatArray
from planner.replay.observed import statistics_of
from planner.schema.fleet_plan import TierTaken
from planner.schema.plan import Plan
from planner.schema.problem import Problem
from planner.schema.replay import TierReplayed
from planner.schema.supply import Tier

_ROUTER, _GOES_ON = 1, 2
"""Streams of random numbers beside that of arrivals."""


@dataclass(frozen=True)
class Stage:
    """One stage of a tier, of those that have a share."""

    tier: str
    place: int
    share: float
    """Of the tier's requests that run here."""
    sent: tuple[float, float]
    """The router sends those here whose draw from 0 to 1 lies between."""
    goes_on: float
    """Share of what runs here that then comes to the next stage."""
    router_s: float

    def taken(self, count: int, seed: int) -> NDArray[np.int64]:
        """Which of the tier's requests the router sends here: every stage draws the same numbers."""
        draws = np.random.default_rng([seed, _ROUTER]).random(count)
        return np.flatnonzero((draws >= self.sent[0]) & (draws < self.sent[1]))

    def goes(self, count: int, seed: int) -> NDArray[np.bool_]:
        """Which of the requests of this stage come to the next one."""
        return np.asarray(np.random.default_rng([seed, _GOES_ON, self.place]).random(count) < self.goes_on)


@dataclass(frozen=True, eq=False)
class Handed:
    """What one stage hands to the next; seconds since the start of the run."""

    at_s: FloatArray
    entered_s: FloatArray
    """When each came to the tier."""
    rows: NDArray[np.int64] | None
    """Of a trace; None: lengths are drawn anew, as each stage states its own."""


@dataclass(frozen=True, eq=False)
class Stayed:
    """Requests of the period whose last stage this is; seconds."""

    ttft_s: FloatArray
    """From the tier's entrance to the first token that counts."""
    e2e_s: FloatArray


def stages_of(plan: Plan, problem: Problem) -> dict[str, Stage]:
    """The stages of all tiers by workload; of a tier that is run without its router, none."""
    named = {tier.name: tier for tier in problem.tiers}
    found: dict[str, Stage] = {}
    for taken in plan.tiers:
        if taken.setting != SINGLE and taken.name in named:
            found |= _stages(taken, named[taken.name])
    return found


def _stages(taken: TierTaken, tier: Tier) -> dict[str, Stage]:
    kept = [stage for stage in taken.stages if stage.share > 0.0]
    shares = [stage.share for stage in kept]
    if tier.kind == "cascade":
        goes = [after / here for here, after in pairwise(shares)]
    else:
        own = next((one.misroute for one in tier.thresholds if one.name == taken.setting), None)
        goes = [float(tier.misroute if own is None else own)] * (len(kept) - 1)
    again = [0.0, *(here * on for here, on in zip(shares, goes, strict=False))]
    edges = np.cumsum([0.0, *(here - more for here, more in zip(shares, again, strict=True))])
    edges[-1] = max(edges[-1], 1.0)
    router_s = float(tier.router_latency or 0)
    return {
        stage.workload: Stage(
            taken.name, place, stage.share,
            (float(edges[place]), float(edges[place + 1])), on, router_s,
        )
        for place, (stage, on) in enumerate(zip(kept, [*goes, 0.0], strict=True))
    }  # fmt: skip


def merged(arrival_s: FloatArray, handed: Handed) -> tuple[NDArray[np.int64], FloatArray, FloatArray]:
    """The order by time of a stage's own requests and those handed to it, arrivals, times at the entrance."""
    times = np.concatenate([arrival_s, handed.at_s])
    order = np.argsort(times, kind="stable")
    return order, times[order], np.concatenate([arrival_s, handed.entered_s])[order]


def tier_documents(
    stayed: Mapping[str, Sequence[Stayed]], stages: Mapping[str, Stage]
) -> dict[str, TierReplayed]:
    """What the requests of every tier experience, means over the runs.

    Args:
        stayed: by workload, one entry a run.
        stages: by workload.
    """
    found = {}
    for name in dict.fromkeys(stages[workload].tier for workload in stayed):
        mine = {workload: runs for workload, runs in stayed.items() if stages[workload].tier == name}
        whole = [
            (np.concatenate([one.ttft_s for one in run]), np.concatenate([one.e2e_s for one in run]))
            for run in zip(*mine.values(), strict=True)
        ]
        requests = sum(ttft.size for ttft, _ in whole)
        found[name] = TierReplayed(
            requests=requests,
            ended={
                workload: sum(one.ttft_s.size for one in runs) / max(requests, 1)
                for workload, runs in mine.items()
            },
            ttft_s=_means([statistics_of(ttft) for ttft, _ in whole if ttft.size]),
            e2e_s=_means([statistics_of(e2e) for _, e2e in whole if e2e.size]),
        )
    return found


def _means(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: sum(run[name] for run in runs) / len(runs) for name in runs[0]} if runs else {}
