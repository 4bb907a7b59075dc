"""Tiers: several models behind one entrance, sized together; every setting of the router is tried."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from planner import numbers
from planner.errors import Fault, InputError
from planner.planning.formulation.demand_times import times
from planner.planning.formulation.engines import Engines, with_one_engine
from planner.schema.demand import Demand
from planner.schema.fleet_plan import TierStage
from planner.schema.problem import Problem
from planner.schema.slo import Slo
from planner.schema.supply import Tier
from planner.schema.workload import Workload

SINGLE = "no router"


@dataclass(frozen=True)
class TierSetting:
    """One way to run a tier."""

    tier: Tier
    name: str
    shares: tuple[Decimal, ...]
    """Of the tier's requests, by stage; over all stages more than 1 where some run twice."""

    @property
    def stages(self) -> tuple[TierStage, ...]:
        """As the plan states them."""
        pairs = zip(self.tier.stages, self.shares, strict=True)
        return tuple(TierStage(workload=stage.workload, share=float(share)) for stage, share in pairs)


@dataclass(frozen=True)
class Setting:
    """A problem whose tiers and engines are settled."""

    problem: Problem
    tiers: tuple[TierSetting, ...]
    engines: Engines = ()
    """Workload and its engine, where the problem names several."""


def settings(problem: Problem) -> tuple[Setting, ...]:
    """Every combination of settings of tiers and of engines, each a problem of its own; one without either.

    A routing stage takes its share of the tier's requests, and what the router should have sent past the
    stage before: a misrouted request runs there in vain and again one stage further. A cascade's first stage
    takes all requests and each further one the escalated share of the one before. The router's latency comes
    off the TTFT limits of all stages.

    Raises:
        InputError: stages whose demands contradict each other, a router that takes the whole TTFT limit, and
            more combinations of engines than can be searched.
    """
    faults: list[Fault] = []
    totals = {tier.name: _total(problem, tier, faults) for tier in problem.tiers}
    for tier in problem.tiers:
        faults += _latency_faults(problem, tier)
    if faults:
        raise InputError(faults)
    combinations = itertools.product(*(_of(tier) for tier in problem.tiers))
    return tuple(
        Setting(settled, taken, engines)
        for taken in combinations
        for settled, engines in with_one_engine(_settled(problem, taken, totals))
    )


def _of(tier: Tier) -> list[TierSetting]:
    if tier.kind == "cascade":
        return [TierSetting(tier, "cascade", _cascaded(tier))]
    found = []
    stated = tuple(stage.share for stage in tier.stages)
    if stated[0] is not None:
        shares = tuple(share or Decimal(0) for share in stated)
        found.append(TierSetting(tier, "as stated", _routed(shares, tier.misroute)))
    for item in tier.thresholds:
        misroute = tier.misroute if item.misroute is None else item.misroute
        found.append(TierSetting(tier, item.name, _routed(item.shares, misroute)))
    if tier.or_single:
        alone = (Decimal(0),) * (len(tier.stages) - 1)
        found.append(TierSetting(tier, SINGLE, (*alone, Decimal(1))))
    return found


def _routed(shares: Sequence[Decimal], misroute: Decimal) -> tuple[Decimal, ...]:
    """Requests by stage: those sent here, and those that the stage before should have sent on."""
    sent, again = [], Decimal(0)
    for place, share in enumerate(shares):
        here = share + again
        sent.append(here)
        again = here * misroute if place < len(shares) - 1 else Decimal(0)
    return tuple(sent)


def _cascaded(tier: Tier) -> tuple[Decimal, ...]:
    shares = [Decimal(1)]
    for stage in tier.stages[1:]:
        shares.append(shares[-1] * (stage.escalated or Decimal(0)))
    return tuple(shares)


def _total(problem: Problem, tier: Tier, faults: list[Fault]) -> Demand | None:
    """The tier's whole demand: that of its first stage, which the others repeat or have their share of."""
    stages = [_workload(problem, stage.workload) for stage in tier.stages]
    first = stages[0].demand
    for place, workload in enumerate(stages[1:], 1):
        if workload.demand == first or _proportional(tier, place, stages):
            continue
        faults.append(
            Fault(
                f"tier {tier.name}",
                f"stages[{place}].workload",
                f"{workload.name} with a demand of its own",
                f"the demand of {stages[0].name}, which is the whole tier's",
            )
        )
    if all(_proportional(tier, place, stages) for place in range(len(stages))):
        return times(first, 1 / (tier.stages[0].share or Decimal(1)))
    return first


def _proportional(tier: Tier, place: int, stages: Sequence[Workload]) -> bool:
    """The stages' demands are already their shares of one whole."""
    shares = [stage.share for stage in tier.stages]
    if None in shares or (stages[0].demand == stages[place].demand and place):
        return False
    rates = [workload.demand.peak_rps for workload in stages]
    if any(rate is None for rate in rates) or len(set(rates)) == 1:
        return False
    whole = sum((rate for rate in rates if rate is not None), Decimal(0))
    return all(
        abs((rate or Decimal(0)) - whole * (share or Decimal(0))) <= whole * Decimal("1e-9")
        for rate, share in zip(rates, shares, strict=True)
    )


def _latency_faults(problem: Problem, tier: Tier) -> list[Fault]:
    if tier.router_latency is None:
        return []
    faults = []
    for stage in tier.stages:
        for key, value in _workload(problem, stage.workload).slo:
            if key.startswith(("ttft_", "e2e_")) and value is not None and value <= tier.router_latency:
                found = f"{numbers.seconds(float(tier.router_latency))} of {numbers.seconds(float(value))}"
                faults.append(
                    Fault(
                        f"tier {tier.name}",
                        "router_latency",
                        f"{found} that {key} of {stage.workload} allows",
                        "less than the limit",
                    )
                )
    return faults


def _settled(problem: Problem, taken: Sequence[TierSetting], totals: dict[str, Demand | None]) -> Problem:
    """The problem without tiers: each stage with its demand, and limits less the router's time."""
    changed: dict[str, Workload | None] = {}
    for item in taken:
        total = totals[item.tier.name]
        assert total is not None
        routed = item.name != SINGLE
        for stage, share in zip(item.tier.stages, item.shares, strict=True):
            workload = _workload(problem, stage.workload)
            if share == 0:
                changed[workload.name] = None
                continue
            update: dict[str, Any] = {"demand": times(total, share)}
            if item.tier.router_latency is not None and routed:
                update["slo"] = without_router(workload, item.tier.router_latency)
            changed[workload.name] = workload.model_copy(update=update)
    workloads = tuple(kept for w in problem.workloads if (kept := changed.get(w.name, w)) is not None)
    return problem.model_copy(update={"workloads": workloads, "tiers": ()})


def without_router(workload: Workload, latency_s: Decimal) -> Slo:
    """Limits on the first token and on the whole answer, less what the router takes."""
    update = {
        key: value - latency_s
        for key, value in workload.slo
        if key.startswith(("ttft_", "e2e_")) and value is not None
    }
    return workload.slo.model_copy(update=update)


def _workload(problem: Problem, name: str) -> Workload:
    return next(workload for workload in problem.workloads if workload.name == name)
