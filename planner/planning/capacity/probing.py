"""Whether a problem has a plan at a multiple of its demand, as cheaply as that can be told."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from planner.explain.carrying import Carrying
from planner.numbers import as_decimal_below
from planner.planning.answering.answer import FleetAnswer
from planner.planning.answering.class_mixes import settled
from planner.planning.answering.fleet_plan import formulated_settings
from planner.planning.answering.search import solved
from planner.planning.capacity.largest import Tried
from planner.planning.formulation.demand_times import times
from planner.planning.formulation.study import Study
from planner.planning.run import Run
from planner.schema.demand import Demand
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.fleet_answers import Today
from planner.schema.problem import Problem

_SHARES = 6
"""Each question may take one of so many parts of the time that is left."""
_DIGITS = 7
_MOST_WORK_S = 30.0
"""Without a limit: so much counted work at most for one question."""
_FAR = Fraction(1000)
"""Demand times this is more than anything carries that carries the demand once, as far as that matters."""


@dataclass(frozen=True, eq=False)
class Found:
    """A plan at some load."""

    today: Today | None
    answer: FleetAnswer


def at_load(problem: Problem, factor: Fraction, names: Collection[str]) -> Problem:
    """The problem with the demand of some workloads times a factor, rounded down at the 7th digit.

    Solvers count in whole numbers: rates of many digits take them long.
    """
    workloads = tuple(
        workload.model_copy(update={"demand": times(workload.demand, factor, _short)})
        if workload.name in names
        else workload
        for workload in problem.workloads
    )
    return problem.model_copy(update={"workloads": workloads})


def _short(rate: Fraction) -> Decimal:
    return as_decimal_below(rate, _DIGITS)


def _rate(demand: Demand) -> Fraction:
    """Any rate of a demand: all of them grow alike."""
    stated = (demand.peak_rps, demand.tokens_per_day, demand.requests_per_day)
    sessions = demand.sessions.per_hour if demand.sessions is not None else None
    hours = max(demand.hourly_rps) if demand.hourly_rps is not None else None
    return next(Fraction(rate) for rate in (*stated, sessions, hours) if rate is not None)


class Probing:
    """Asks about multiples of the demand of some workloads; any plan under any setting of tiers will do."""

    def __init__(self, study: Study, problem: Problem, names: Collection[str], run: Run) -> None:
        """Nothing is asked yet.

        Args:
            study: formulates the problems.
            problem: with the demand at factor 1.
            names: workloads whose demand changes.
            run: seed, threads, and the time for all questions.
        """
        self.study, self.problem, self.names, self.run = study, problem, names, run

    def __call__(self, factor: Fraction) -> Tried[Found]:
        """Whether the problem has a plan at a multiple of the demand."""
        if self.run.over:
            return Tried("open")
        run = self.run.part(_SHARES)
        run.work_s = _MOST_WORK_S
        with run.step("load", f"trying {float(factor):.4g} times the demand"):
            scaled = at_load(self.problem, factor, self.names)
            today, cases = formulated_settings(self.study, scaled)
        left_open = False
        for place, (setting, case) in enumerate(cases):
            part = 1.0 / (len(cases) - place)

            def ask(question: FleetProblem, part: float = part) -> FleetChoice:
                return solved(question, run, "any", part)

            case, choice = settled(case, ask)
            if choice.value is not None:
                carries = self._asked(scaled) * self._carried(case.question, choice)
                return Tried("fits", Found(today, FleetAnswer(setting, case, choice)), carries)
            left_open = left_open or choice.status == "unknown"
        return Tried("open" if left_open else "breaks")

    def _asked(self, scaled: Problem) -> Fraction:
        """The factor that is really asked about: rates are rounded."""
        pairs = zip(scaled.workloads, self.problem.workloads, strict=True)
        return min(_rate(a.demand) / _rate(b.demand) for a, b in pairs if a.name in self.names)

    def _carried(self, question: FleetProblem, choice: FleetChoice) -> Fraction:
        """The multiple of the growing demand that the replicas carry as they are, losses aside."""
        demands = tuple(
            replace(
                demand,
                demand_rps=tuple(tuple(need * _FAR for need in needs) for needs in demand.demand_rps),
            )
            for demand in question.demands
        )
        carrying = Carrying(replace(question, demands=demands), choice)
        factors = [
            carrying.factor(demand, period, carrying.counts(period)) * _FAR
            for period in range(question.periods)
            for demand, _ in carrying.pools(period)
            if demand.workload in self.names
        ]
        return max(min(factors, default=Fraction(1)), Fraction(1))
