"""The simplest plan within a tolerance of the optimum: fewest pools, then fewest changes, then fewest places.

Each of the three is the least number for which a plan costs at most the tolerance more, with the ones before
it held. That there is none with one less is proved, or left open where the time ends.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from planner.constraints.plan.day_usage import DayUsage
from planner.constraints.plan.places import counted
from planner.schema.choice import Option
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.limit_rows import DayCount, DayRow, EveryGpu, LimitRow, Watts
from planner.schema.reasons import Goal

Ask = Callable[[FleetProblem, Goal, float], FleetChoice]
"""Answers a question within so many seconds."""

_AIMS: tuple[DayCount, ...] = ("pools", "changes", "places")
_KINDS = {"cost": "budget", "gpus": "max-gpus", "power": "power"}
_PART = 0.35
"""Of the time that is left: one question."""
_FEW = 4
"""Layouts of a pool that plans are first looked for among, beside those of the optimum."""
_LEAST_S = 0.2


@dataclass(frozen=True)
class Simplest:
    """What was found."""

    choice: FleetChoice
    counts: Mapping[DayCount, int]
    """Pools, changes and places of it."""
    proved: bool
    """Nothing simpler is within the tolerance."""


def simplest(
    question: FleetProblem,
    best: FleetChoice,
    tolerance: Fraction,
    ask: Ask,
    limit_s: float,
    rows: Sequence[DayRow] = (),
) -> Simplest | None:
    """The simplest plan that costs at most ``tolerance`` more than the best one.

    Args:
        question: what is asked.
        best: its best plan.
        tolerance: part of its value.
        ask: answers variants of the question.
        limit_s: wall time for everything.
        rows: limits on the day that it has to keep too; None is returned where no such plan was found.
    """
    assert best.value is not None
    search = _Search(question, best, tolerance, ask, limit_s, rows)
    return search.run()


def counts_of(question: FleetProblem, choice: FleetChoice) -> dict[DayCount, int]:
    """Pools, changes and places of a plan."""
    usage = DayUsage(question, choice.periods)
    return {aim: usage.of(_row(question, aim, 0)) for aim in _AIMS}


def _row(question: FleetProblem, aim: DayCount, most: int) -> DayRow:
    sites = counted(question.lines) if aim == "places" else ()
    return DayRow(f"simplest:{aim}", f"simplest-{aim}", aim, aim, most, aim, each=False, sites=sites)


class _Search:
    def __init__(
        self,
        question: FleetProblem,
        best: FleetChoice,
        tolerance: Fraction,
        ask: Ask,
        limit_s: float,
        rows: Sequence[DayRow],
    ) -> None:
        assert best.value is not None
        self.ask, self.until_s = ask, time.monotonic() + limit_s
        self.most = best.value * (1 + tolerance)
        money = _at_most(question, self.most)
        limits = question.limits
        self.question = replace(
            question, limits=replace(limits, rows=(*limits.rows, money), day=(*limits.day, *rows))
        )
        self.few = promising(self.question, best)
        self.held: list[DayRow] = []
        self.proved = True
        usage = DayUsage(question, best.periods)
        self.choice = None if any(usage.breaks(row) for row in rows) else best

    def run(self) -> Simplest | None:
        """Every aim in turn, then the cheapest of the simplest."""
        if self.choice is None:
            self.choice = self._found(()) or None
            if self.choice is None:
                return None
        for aim in _AIMS:
            self._minimize(aim)
        again = self._asked(self.question, self.held, "plan")
        if again is not None and again.value is not None and self._better(again):
            self.choice = again
        return Simplest(self.choice, counts_of(self.question, self.choice), self.proved)

    def _better(self, other: FleetChoice) -> bool:
        assert self.choice is not None
        assert self.choice.value is not None
        assert other.value is not None
        return other.value < self.choice.value

    def _minimize(self, aim: DayCount) -> None:
        """The least number: found among promising layouts by halving, then proved or lowered among all."""
        assert self.choice is not None
        low, high = self._least(aim), counts_of(self.question, self.choice)[aim]
        known = low
        while known < high:
            middle = (known + high) // 2
            found = self._answer(self.few, [*self.held, _row(self.question, aim, middle)])
            if found is not None and found.value is not None:
                self.choice = found
                high = counts_of(self.question, found)[aim]
            else:
                known = middle + 1
        while high > low:
            found = self._answer(self.question, [*self.held, _row(self.question, aim, high - 1)])
            if found is None or found.status == "unknown":
                self.proved = False
                break
            if found.value is None:
                break
            self.choice = found
            high = counts_of(self.question, found)[aim]
        self.held.append(_row(self.question, aim, high))

    def _least(self, aim: DayCount) -> int:
        """A number that every plan has."""
        if aim != "pools":
            return 0
        asked: dict[str, list[int]] = defaultdict(list)
        apis = {api.workload for api in self.question.apis}
        for demand in self.question.demands:
            if any(any(needs) for needs in demand.demand_rps) and demand.workload not in apis:
                asked[demand.workload].append(1 if demand.role == "serve" else 2)
        return sum(min(ways) for ways in asked.values())

    def _found(self, rows: Sequence[DayRow]) -> FleetChoice | None:
        """Any plan with these limits, first among promising layouts."""
        for question in (self.few, self.question):
            found = self._answer(question, rows)
            if found is not None and found.value is not None:
                return found
        return None

    def _answer(self, question: FleetProblem, rows: Sequence[DayRow]) -> FleetChoice | None:
        return self._asked(question, rows, "any")

    def _asked(self, question: FleetProblem, rows: Sequence[DayRow], goal: Goal) -> FleetChoice | None:
        """The answer; None where no time is left, or a plan costs more than it may after all."""
        left_s = self.until_s - time.monotonic()
        if left_s < _LEAST_S:
            return None
        limits = replace(question.limits, day=(*question.limits.day, *rows))
        found = self.ask(replace(question, limits=limits), goal, max(_LEAST_S, left_s * _PART))
        return None if found.value is not None and found.value > self.most else found


def _at_most(question: FleetProblem, most: Fraction) -> LimitRow:
    """The objective on average over the periods."""
    name = question.limits.objective
    return LimitRow(
        "simplest", _KINDS[name], "the cost of the optimum and the tolerance", "", most / question.periods,
        gpus=EveryGpu() if name == "gpus" else None,
        replicas=Watts() if name == "power" else None,
        money=name == "cost",
        every_period=False,
    )  # fmt: skip


def promising(question: FleetProblem, best: FleetChoice) -> FleetProblem:
    """The question with the layouts of the best plan, and those that alone would carry the day for least."""
    used = {name for period in best.periods for name, count in period.counts.items() if count}
    names = {name for name, _ in used}
    needs = {demand.pool: demand.demand_rps for demand in question.demands}
    price: dict[str, Fraction] = {}
    for line in question.lines:
        price[line.host] = min(price.get(line.host, line.usd_per_gpu_h), line.usd_per_gpu_h)
    rooms = {host.id: host for host in question.hosts}

    def alone(option: Option) -> Fraction:
        each = Fraction(rooms[option.supply].room_gpus(option)) * (price.get(option.supply, 0) + 1)
        total = Fraction(0)
        for hour in needs[option.pool]:
            pairs = zip(hour, option.rates_rps, strict=True)
            total += -(-sum((need / rate for need, rate in pairs if need), Fraction(0)) // 1) * each
        return total

    groups: dict[tuple[str, str, str, str | None], list[Option]] = defaultdict(list)
    for option in question.options:
        live = needs.get(option.pool)
        if live is None or not question.sites_of(option):
            continue
        if all(rate or not any(hour[b] for hour in live) for b, rate in enumerate(option.rates_rps)):
            kind = None if option.role == "serve" else f"{option.place}|{option.kv}"
            groups[option.workload, option.role, option.gpu if option.role == "serve" else "", kind].append(
                option
            )
    for mine in groups.values():
        names |= {option.id for option in sorted(mine, key=lambda one: (alone(one), one.id))[:_FEW]}
    return replace(question, options=tuple(option for option in question.options if option.id in names))
