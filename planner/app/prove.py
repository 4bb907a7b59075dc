"""A plan that is replayed before it is told, and planned again with more capacity where that breaks it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner import numbers
from planner.app.explain_plan import session_of
from planner.app.plan import plan as planned
from planner.app.replay import Asked, replayed
from planner.app.stated_problem import StatedProblem
from planner.explain.problem_values import capacity_margin, overridable
from planner.loaders.catalog import load_catalog
from planner.planning.run import Run
from planner.schema.plan import Plan
from planner.schema.replay import Proof, ProofRound, Replay

MOST_ROUNDS = 6
_MORE = 1.02
"""Capacity that is asked for over what the plan before had: a replica more at least."""
_MOST_HEADROOM = 10.0


def proved(source: Path | StatedProblem, *, overlays: tuple[Path, ...] = (), run: Run | None = None) -> Plan:
    """The plan whose replayed percentiles keep the limits, with what that costs; else the last one tried.

    Every round asks the solver for more capacity than the plan before had, in workloads whose limits broke.

    Raises:
        InputError: everything wrong with the problem; workers of a table, which cannot be replayed.
    """
    run = run or Run()
    plan = planned(source, overlays=overlays, run=run)
    if plan.status not in ("optimal", "feasible") or not plan.pools or run.over:
        return plan
    folder = source.folder if isinstance(source, StatedProblem) else source.parent
    session = session_of(plan, folder / "problem", load_catalog(overlays), overlays)
    rounds: list[ProofRound] = []
    first = plan.cost_usd_per_hour or 0.0
    headroom: dict[str, float] = {}
    current = session
    while True:
        found = replayed(plan, current, current.where, Asked(change=False), run)
        rounds.append(_round(plan, found, headroom))
        if found.verdict == "holds" or len(rounds) >= MOST_ROUNDS or run.over:
            break
        broken = {limit.id.split(":", 1)[1] for limit in found.limits if not limit.holds}
        headroom |= {name: _more(plan, name, headroom) for name in broken}
        if max(headroom.values()) > _MOST_HEADROOM:
            break
        changed = session.changed(_changes(plan, headroom))
        again = changed.plan(run.part(1))
        if again.status not in ("optimal", "feasible") or not again.pools:
            break
        plan, current = again, changed
    verdict = rounds[-1].verdict
    costs = (plan.cost_usd_per_hour or 0.0) - first
    text = _text(rounds, costs)
    return plan.model_copy(
        update={"proof": Proof(verdict=verdict, rounds=tuple(rounds), costs_usd_per_hour=costs, text=text)}
    )


def _round(plan: Plan, found: Replay, headroom: Mapping[str, float]) -> ProofRound:
    worst = max(found.limits, key=lambda one: one.replayed_s / one.limit_s, default=None)
    words = ""
    if worst is not None:
        words = f"{worst.id} {numbers.seconds(worst.replayed_s)} of {numbers.seconds(worst.limit_s)}"
    return ProofRound(
        headroom=dict(headroom),
        cost_usd_per_hour=plan.cost_usd_per_hour or 0.0,
        gpus=sum(plan.gpus.values()),
        verdict=found.verdict,
        nearest=words,
    )


def _more(plan: Plan, workload: str, before: Mapping[str, float]) -> float:
    """Capacity over demand that the present pools do not have."""
    stated = before.get(workload, capacity_margin(plan, workload) or 0.0)
    had = [1.0 / pool.utilization for pool in plan.pools if pool.workload == workload and pool.utilization]
    return max((1.0 + stated) * _MORE, min(had, default=1.0) * _MORE) - 1.0


def _changes(plan: Plan, headroom: Mapping[str, float]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for name, share in headroom.items():
        stated = overridable(plan, name, "headroom")
        kept = dict(stated) if isinstance(stated, Mapping) else {}
        percent = math.ceil(share * 1e4) / 1e2
        changes[f"workloads.{name}.headroom"] = {**kept, "capacity": f"{percent:g} %"}
    return changes


def _text(rounds: list[ProofRound], costs: float) -> str:
    last = rounds[-1]
    if last.verdict == "breaks":
        return f"no plan held in {numbers.count(len(rounds), 'replay')}: {last.nearest}"
    if len(rounds) == 1:
        return (
            f"replayed, the plan holds as it was: {last.nearest}" if last.nearest else "replayed: no limits"
        )
    more = f"{numbers.usd(costs)}/h more" if costs > 0 else "nothing more"
    return (
        f"the plan first broke ({rounds[0].nearest}); after {numbers.count(len(rounds), 'replay')} this one "
        f"holds, for {more}: {last.nearest}"
    )
