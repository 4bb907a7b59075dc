"""The rate of people whose next request waits for the answer before: found with the plan that serves them.

``n`` requests in flight, or users with time to think, are ``rate x (think + E2E)`` (Little's law), and E2E is
the plan's own. The smallest rate is looked for whose plan holds all of them; a smaller one would let some
wait outside.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log
from typing import TypeVar

from planner.planning.answering.fleet_plan import answer_fleet
from planner.planning.documents.pools import fleet_pools
from planner.planning.documents.predicted_fleet import predicted_pools
from planner.planning.formulation.said_demand import (
    OpenDemand,
    SaidDemand,
    rounded,
    with_demands,
    with_rate,
    with_said_rates,
)
from planner.planning.formulation.study import Study
from planner.planning.run import Run
from planner.schema.demand_taken import DemandTaken
from planner.schema.limits_told import Change, Price
from planner.schema.plan import Plan
from planner.schema.pool import Pool
from planner.schema.problem import Problem
from planner.schema.slo import Slo

MOST_PLANS = 12
"""Trials at most; interpolation needs four to six."""
CLOSE = Fraction(1001, 1000)
"""People held over people asked for, where the search ends."""
_AIM = 1.0005
"""What it aims at: a little more than asked for, so that none waits outside."""
_NARROW = Fraction(1002, 1000)
"""Rates that differ by this: the number of people jumps between them, as where another layout is cheaper."""
_FIRST_RPS = Fraction(1, 100)
"""A load that no replica feels: its E2E is the shortest there is, and the rate from it the largest."""
_NO_LIMIT = Slo(e2e_mean="1000000 s")


Stated = TypeVar("Stated", Change, Price)


@dataclass(frozen=True)
class _Bracket:
    """Rates of one workload between which the answer lies."""

    demand: OpenDemand
    rate: Fraction
    low: Fraction = Fraction(0)
    """Serves too few people, or zero."""
    high: Fraction | None = None
    """Holds them all, or cannot be served."""
    low_held: float = 0.0
    high_held: float | None = None
    """People held there over those asked for; None where no plan is known."""
    stayed: int = 0
    """Trials in a row after which the same end moved, counted from the second: above zero high, below low."""

    def after(self, e2e_s: float | None) -> _Bracket:
        """Once the plan at ``rate`` is known: its mean E2E, or None where there is no plan."""
        if e2e_s is None:
            return replace(self, high=self.rate, high_held=None, rate=(self.low + self.rate) / 2)
        held = float(self.held(e2e_s))
        wanted = self.demand.people / (self.demand.think_s + Fraction(e2e_s))
        if held >= 1.0:
            stayed = max(self.stayed, 0) + 1
            moved = replace(self, high=self.rate, high_held=held, stayed=stayed)
            wanted = max(wanted, (self.low + self.rate) / 2)
        else:
            stayed = min(self.stayed, 0) - 1
            moved = replace(self, low=max(self.low, self.rate), low_held=held, stayed=stayed)
        return replace(moved, rate=moved._next(wanted))

    def _next(self, wanted: Fraction) -> Fraction:
        """Between both ends by their logarithms, halfway where one stays; else what people would ask."""
        if self.high is None:
            return wanted
        if self.high_held is None or not self.low:
            return wanted if self.low < wanted < self.high else (self.low + self.high) / 2
        if abs(self.stayed) > 2:
            return (self.low + self.high) / 2
        part = log(_AIM / self.low_held) / log(max(self.high_held, _AIM) / self.low_held)
        return Fraction(float(self.low) * float(self.high / self.low) ** part)

    def held(self, e2e_s: float) -> Fraction:
        """People whom the plan at ``rate`` holds over those asked for."""
        return self.rate * (self.demand.think_s + Fraction(e2e_s)) / self.demand.people


def settled_demand(study: Study, problem: Problem, run: Run) -> SaidDemand:
    """The problem with a rate for every workload.

    Raises:
        InputError: as `with_said_rates`, and everything wrong with the problem that only its catalog shows.
        StoppedError: no time is left.
    """
    said = with_said_rates(study, problem)
    if not said.open:
        return said
    with run.step("people", "looking for the rate of so many people"):
        rates = _rates(study, said, run)
    settled = _at(said, rates)
    taken = tuple(_asked(said, name, rate) for name, rate in rates.items())
    return SaidDemand(settled, (*said.taken, *taken), said.open)


def _at(said: SaidDemand, rates: Mapping[str, Fraction]) -> Problem:
    demands = {w.name: w.demand for w in said.problem.workloads}
    return with_demands(
        said.problem, {name: with_rate(demands[name], rounded(rate)) for name, rate in rates.items()}
    )


def _asked(said: SaidDemand, name: str, rate: Fraction) -> DemandTaken:
    demand = next(item for item in said.open if item.workload == name)
    rps = float(rounded(rate))
    return DemandTaken(workload=name, stated=demand.stated, peak_rps=rps, mean_rps=rps)


def _rates(study: Study, said: SaidDemand, run: Run) -> dict[str, Fraction]:
    """The smallest rates found whose plan holds everybody; where none does, those at which people would ask.

    These are the rates at the E2E of the largest plan that there is, and above every rate that has a plan.
    Where nothing serves a single request, the E2E is that without limits on latency.
    """
    trial = [_Bracket(item, _FIRST_RPS) for item in said.open]
    best: dict[str, Fraction] | None = None
    asked: dict[str, Fraction] = {}
    for _ in range(MOST_PLANS):
        rates = {item.demand.workload: Fraction(rounded(item.rate)) for item in trial}
        trial = [replace(item, rate=rates[item.demand.workload]) for item in trial]
        e2e_s = _e2e_s(study, _at(said, rates), run)
        if e2e_s is None and not asked:
            slow_s = _e2e_s(study, _unlimited(_at(said, rates), set(rates)), run)
            return rates if slow_s is None else _asking(trial, slow_s)
        if e2e_s is not None:
            held = [item.held(e2e_s[item.demand.workload]) for item in trial]
            asked = _asking(trial, e2e_s)
            best = rates if min(held) >= 1 else best
            if min(held) >= 1 and max(held) <= CLOSE:
                break
        trial = [item.after(None if e2e_s is None else e2e_s[item.demand.workload]) for item in trial]
        if all(item.high is not None and item.high <= item.low * _NARROW for item in trial):
            break
    if best is not None:
        return best
    tops = {item.demand.workload: item.high or item.rate for item in trial}
    return {name: max(asked[name], top) for name, top in tops.items()}


def _asking(trial: Sequence[_Bracket], e2e_s: Mapping[str, float]) -> dict[str, Fraction]:
    """Rates of so many people at these times."""
    return {
        item.demand.workload: item.demand.people
        / (item.demand.think_s + Fraction(e2e_s[item.demand.workload]))
        for item in trial
    }


def _unlimited(problem: Problem, names: Collection[str]) -> Problem:
    """Without limits on the latency of some workloads; their archetypes' do not come back either."""
    workloads = tuple(
        workload.model_copy(update={"slo": _NO_LIMIT}) if workload.name in names else workload
        for workload in problem.workloads
    )
    return problem.model_copy(update={"workloads": workloads})


def _e2e_s(study: Study, problem: Problem, run: Run) -> dict[str, float] | None:
    """Mean end-to-end time of every workload in the plan of a trial; None where there is none."""
    found = answer_fleet(study, problem, run.part(2)).best
    if found.choice.value is None:
        return None
    names = [workload.name for workload in problem.workloads]
    pools = fleet_pools(found.case.question, found.choice, names)
    documents, _ = predicted_pools(found.case, pools, study.catalog)
    return {name: e2e for name in names if (e2e := mean_e2e_s(documents, name)) is not None}


def mean_e2e_s(pools: Sequence[Pool], workload: str) -> float | None:
    """Mean over the requests of a workload at the peak; None where no pool answers them."""
    answering = [pool for pool in pools if pool.workload == workload and pool.role != "prefill"]
    rates = [pool.load_rps * pool.replicas for pool in answering]
    if not sum(rates):
        return None
    return sum(pool.e2e_s["mean"] * rate for pool, rate in zip(answering, rates, strict=True)) / sum(rates)


def with_demand_taken(plan: Plan, said: SaidDemand) -> Plan:
    """The plan that says which rate it was made for, and how many requests are in flight in it.

    Its demand limits stand at no path of the file, which states no rate.
    """
    if not said.taken:
        return plan
    opened = {item.workload for item in said.open}
    taken = []
    for item in said.taken:
        e2e_s = mean_e2e_s(plan.pools, item.workload) if item.workload in opened else item.e2e_s
        known = e2e_s is not None and not item.e2e_is_limit
        flight = item.peak_rps * e2e_s if known and e2e_s is not None else None
        taken.append(item.model_copy(update={"e2e_s": e2e_s, "requests_in_flight": flight}))
    ids = {f"demand:{item.workload}" for item in taken}
    relaxations = tuple(
        relaxation.model_copy(update={"changes": tuple(_placed(c, ids) for c in relaxation.changes)})
        for relaxation in plan.relaxations
    )
    prices = tuple(_placed(price, ids) for price in plan.prices)
    return plan.model_copy(update={"demand": tuple(taken), "relaxations": relaxations, "prices": prices})


def _placed(stated: Stated, ids: Collection[str]) -> Stated:
    return stated.model_copy(update={"path": None}) if stated.id in ids else stated
