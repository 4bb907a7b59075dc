"""The simplest plan within a tolerance of the optimum: fewest pools, then fewest changes, then fewest places.

Each of the three is the least number for which a plan costs at most the tolerance more, with the ones before
it held. Pools are dropped one after the other (of days too large for brief questions:
layouts); sets of options (`planner.solver.pool_sets`) show that there is none with one less, or leave it open
where the work ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from heapq import heappop, heappush
from typing import Literal, Protocol

from planner.constraints.plan.day_usage import DayUsage
from planner.constraints.plan.max_layouts import MaxLayouts
from planner.constraints.plan.places import counted
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.limit_rows import DayCount, DayRow
from planner.schema.reasons import Goal
from planner.solver.fewer import hours_stand_alone
from planner.solver.looks import Cost, Look
from planner.solver.pool_sets import Names, PoolSets, among
from planner.solver.promising import (
    elements_of,
    layouts_by_use,
    needed_of,
    options_of,
    promising,
    uses_of,
)
from planner.solver.simple_counts import AIMS, at_most, at_most_of, counts_of
from planner.solver.work import done_s


class Ask(Protocol):
    """Answers variants of a question."""

    def __call__(
        self,
        question: FleetProblem,
        goal: Goal,
        limit_s: float,
        *,
        brief: bool = True,
        start: FleetChoice | None = None,
    ) -> FleetChoice:
        """The answer within so many seconds, or what is open.

        Args:
            question: what is asked.
            goal: how far to search.
            limit_s: for all of it.
            brief: only what a few seconds settle.
            start: a plan that a good one is looked for from.
        """


Clock = Callable[[], float]
"""Seconds since some moment."""

QUESTIONS = 50
"""Asked at most; a plan of few options takes a fraction of a second each."""
_MOST_OPTIONS = 60
"""Beyond so many options sets of them are not searched: only those that promise most are tried."""
_POOLS_PART = 0.7
"""Of the questions that are left after pools were dropped: those that show that no fewer do."""
_LEAST_S = 0.2
_STARTING_S = 30.0
"""For a first plan that keeps the limits of the day, where brief questions find none."""
_MOST_LOOKS = 12
"""Options, least used first, that no plan was found without: where there are many, no more are tried."""
_SCOUTING_S = 0.5
"""For a first look at a plan with one option less."""
_THINNING_S = 6.0
"""For a day with a layout less."""
_FEW_LAYOUTS = MaxLayouts().row(2, "")
"""What a first plan is tried with: with more layouts a workload few days are simple."""
_GROWING_S, _MOST_VAIN, _MOST_OPEN = 1.5, 2, 1
"""For a question that only widens what is known to have no plan; how many questions may stay open before no
more of these is asked, and before it is not asked which options no plan goes without."""


@dataclass(frozen=True)
class Simplest:
    """What was found."""

    choice: FleetChoice
    counts: Mapping[DayCount, int]
    """Pools, changes and places of it."""
    proved: bool
    """Nothing simpler is within the tolerance."""
    least_pools: int
    """No plan within the tolerance has fewer."""
    question: FleetProblem
    """With its options alone and with what it keeps as limits."""
    cheapest: FleetChoice
    """Of all plans that were seen."""
    trivial: bool
    """Every workload has one pool all day: nothing simpler exists at any place."""


def simplest(
    question: FleetProblem,
    best: FleetChoice,
    tolerance: Fraction,
    ask: Ask,
    limit_s: float,
    rows: Sequence[DayRow] = (),
    clock: Clock = done_s,
    known: FleetChoice | None = None,
) -> Simplest | None:
    """The simplest plan that costs at most ``tolerance`` more than the best one.

    Args:
        question: what is asked.
        best: its best plan.
        tolerance: part of its value.
        ask: answers variants of the question.
        limit_s: for everything, on the clock.
        rows: limits on the day that it has to keep too; None is returned where no such plan was found.
        clock: counted work, which is the same in every run, or the user's.
        known: a plan within the tolerance that keeps the rows, with few pools.
    """
    return _Search(question, best, tolerance, ask, limit_s, rows, clock, known).run()


class _Search:
    def __init__(
        self,
        question: FleetProblem,
        best: FleetChoice,
        tolerance: Fraction,
        ask: Ask,
        limit_s: float,
        rows: Sequence[DayRow],
        clock: Clock,
        known: FleetChoice | None,
    ) -> None:
        assert best.value is not None
        self.ask, self.clock, self.until_s = ask, clock, clock() + limit_s
        self.left, self.vain = QUESTIONS, 0
        self.tolerance, self.cheapest = tolerance, best
        self.most = best.value * (1 + tolerance)
        money = at_most(question, self.most)
        limits = question.limits
        self.free = replace(question, limits=replace(limits, day=(*limits.day, *rows)))
        """Whatever it costs."""
        self.question = replace(self.free, limits=replace(self.free.limits, rows=(*limits.rows, money)))
        self.elements = elements_of(self.question, best)
        self.complete = len(self.elements) <= _MOST_OPTIONS
        if not self.complete:
            few = {option.id for option in promising(self.question, best).options}
            self.elements = [name for name in self.elements if name in few]
        self.needed = needed_of(self.question, self.elements)
        usage = DayUsage(question, best.periods)
        self.best = best
        self.choice = known if known is not None or any(usage.breaks(row) for row in rows) else best

    def run(self) -> Simplest | None:
        """Every aim in turn, then the cheapest of the simplest."""
        if self.choice is None and not self._started():
            return None
        assert self.choice is not None
        if not self._drop() and not hours_stand_alone(self.question):
            self._thin()
        sets = PoolSets(self.question, self.elements, self.needed)
        if self._now("pools") > self._least("pools"):
            sets.learn_essential(self._used(), self._essential)
        least = self._fewest(sets, "pools", (), _POOLS_PART)
        proved = least == self._now("pools")
        held = [at_most_of(self.question, "pools", self._now("pools"))]
        for aim in AIMS[1:]:
            low = self._fewest(sets, aim, tuple(held), 1.0 if aim == "places" else 0.5)
            proved = proved and low == self._now(aim)
            held.append(at_most_of(self.question, aim, self._now(aim)))
        self.left = max(self.left, 1)
        again = self._asked(self._used(), held, "value")
        if again.value is not None and again.value < (self.choice.value or 0):
            self.choice = again
        if (self.choice.value or 0) > self.most:
            # A cheaper plan was seen since, and it is not within the tolerance of that one.
            self.choice, proved = self.cheapest, False
            held = [at_most_of(self.question, aim, self._now(aim)) for aim in AIMS]
        limits = replace(self.question.limits, day=(*self.question.limits.day, *held))
        own = among(replace(self.question, limits=limits), self._used())
        trivial = self._now("pools") == len(self.needed) and not self._now("changes")
        counts = counts_of(self.question, self.choice)
        return Simplest(self.choice, counts, proved, least, own, self.cheapest, trivial)

    def _now(self, aim: DayCount) -> int:
        assert self.choice is not None
        return counts_of(self.question, self.choice)[aim]

    def _used(self) -> Names:
        assert self.choice is not None
        return options_of(self.choice)

    def _started(self) -> bool:
        """Any plan that keeps the limits: among the options of the optimum, then the promising, then all."""
        few = {option.id for option in promising(self.question, self.best).options}
        found = FleetChoice("unknown")
        for names in (options_of(self.best), frozenset(few), frozenset(self.elements)):
            found = self._asked(names, (), "any")
            if found.value is not None:
                break
        self.choice = found if found.value is not None else None
        if found.status != "unknown" or hours_stand_alone(self.question):
            return self.choice is not None
        found = self._good(frozenset(few) | options_of(self.best), _STARTING_S, (_FEW_LAYOUTS,))
        if found.value is not None and found.value <= self.most:
            self.choice = found
        return self.choice is not None

    def _good(self, names: Names, most_s: float, rows: Sequence[DayRow] = ()) -> FleetChoice:
        """With these options and no limit on the cost: searches begin at plans that are too dear."""
        left_s = min(self.until_s - self.clock(), most_s)
        if left_s < _LEAST_S:
            return FleetChoice("unknown")
        limits = replace(self.free.limits, day=(*self.free.limits.day, *rows))
        question = among(replace(self.free, limits=limits), names)
        return self.ask(question, "good", left_s, brief=False, start=self.choice)

    def _drop(self) -> bool:
        """One option less, the one missed least, as long as that goes; whether few answers were open.

        To miss one of fewer options never costs less: looks are taken again only while what an older one
        proved promises more than the best that is new.
        """
        old: dict[str, Look] = {}
        while True:
            used = self._used()
            fewer = next((one for one in self._without(used, old) if one.value is not None), None)
            if fewer is None:
                looks = [old[name] for name in used if name in old]
                return 2 * sum(look.open for look in looks) <= len(looks)
            self.choice = fewer

    def _without(self, used: Names, old: dict[str, Look]) -> Iterator[FleetChoice]:
        """The cheapest plan without one of these options, then the next one; looks are kept in ``old``."""
        unseen = -len(used), Fraction(0)
        hopeless = {name for name, look in old.items() if look.found.status == "infeasible"}
        uses = uses_of(self.choice) if self.choice is not None else {}
        waiting = sorted(
            (old[name].least if name in old else unseen, uses[name], name) for name in used - hopeless
        )
        new: list[tuple[Cost, str]] = []
        vain = 0
        while waiting or new:
            if vain >= _MOST_LOOKS and not self.complete:
                return
            if new and (not waiting or new[0][0] <= waiting[0][0]):
                _, name = heappop(new)
                yield self._asked(used - {name}, (), "value")
                vain += 1
                continue
            # Roughly first: of what promises most it is then asked what it really takes.
            *_, name = waiting.pop(0)
            found = self._asked(used - {name}, (), "good", _SCOUTING_S)
            look = old[name] = Look(found, len(used) - 1 - len(options_of(found)))
            if found.value is None:
                vain += 1
            else:
                heappush(new, (look.cost, name))

    def _thin(self) -> None:
        """One layout less, the one least in use, as long as that goes; searched from the present plan."""
        assert self.choice is not None
        fewer: FleetChoice | None = self.choice
        while fewer is not None:
            self.choice = fewer
            groups = layouts_by_use(self.question, fewer)
            tried = (self._good(self._used() - one, _THINNING_S) for one in groups)
            fewer = next((one for one in tried if one.value is not None and one.value <= self.most), None)

    def _essential(self, names: Names) -> FleetChoice:
        """Whether a plan goes with these options; where answers stay open, others would too."""
        found = FleetChoice("unknown") if self.vain >= _MOST_OPEN else self._asked(names, (), "any")
        self.vain += found.status == "unknown"
        return found

    def _fewest(self, sets: PoolSets, aim: DayCount, held: Sequence[DayRow], part: float) -> int:
        """The least number that was proved; what was found on the way is the present plan.

        Args:
            sets: what is known to have no plan within the tolerance.
            aim: what is counted.
            held: limits on what was counted before.
            part: of the questions that are left.
        """
        low, reserve = self._least(aim), self.left - math.ceil(self.left * part)
        room = held[0].most if held else 0
        # Cuts of questions that ask for more do not hold for those that ask for less.
        mine = sets.copied()
        while self._now(aim) > low:
            known = self._now(aim)
            row = at_most_of(self.question, aim, known - 1)
            verdict = self._search(mine, held, row, room or known - 1, reserve)
            sets.cuts += [] if held else mine.plain
            if verdict == "none":
                return known if self.complete else low
            if verdict != "found":
                return max(low, verdict) if aim == "pools" and self.complete else low
        return low

    def _search(
        self, sets: PoolSets, held: Sequence[DayRow], row: DayRow, room: int, reserve: int
    ) -> Literal["found", "none"] | int:
        """``found``, ``none``, or the number of options that every plan has at least."""
        low = 0
        while self.left > reserve:
            names = sets.smallest(room)
            if names is None:
                return "none"
            low = len(names)
            rows: tuple[DayRow, ...] = tuple(held)
            found = self._asked(names, rows, "any")
            if found.value is not None and not self._keeps(found, row):
                rows = (*rows, row)
                found = self._asked(names, rows, "any")
            if found.value is not None:
                self.choice = found
                return "found"
            if found.status != "infeasible":
                return low
            sets.learn(names, partial(self._widened, rows, reserve), plain=len(rows) == len(held))
        return low

    def _widened(self, rows: Sequence[DayRow], reserve: int, names: Names) -> FleetChoice:
        """Of a set that is known to have no plan, with more options: a short question."""
        if self.left <= reserve or self.vain >= _MOST_VAIN:
            return FleetChoice("unknown")
        found = self._asked(names, rows, "any", _GROWING_S)
        self.vain += found.status == "unknown"
        return found

    def _keeps(self, choice: FleetChoice, row: DayRow) -> bool:
        return not DayUsage(self.question, choice.periods).breaks(row)

    def _least(self, aim: DayCount) -> int:
        """A number that every plan has."""
        if aim == "pools":
            return sum(min(len(mode) for mode in modes) for modes in self.needed)
        if aim == "changes":
            return 0
        named = dict(counted(self.question.lines))
        options = {option.id: option for option in self.question.options}
        every = (
            any(site in named for name in names for site in self.question.sites_of(options[name]))
            and all(site in named for name in names for site in self.question.sites_of(options[name]))
            for modes in self.needed
            if len(modes) == 1
            for names in [frozenset().union(*modes[0])]
        )
        return sum(every)

    def _asked(
        self,
        names: Names,
        rows: Sequence[DayRow],
        goal: Goal,
        most_s: float = math.inf,
        *,
        brief: bool = True,
    ) -> FleetChoice:
        """The answer with these options; ``unknown`` where the work or the time has ended."""
        left_s = min(self.until_s - self.clock(), most_s)
        if left_s < _LEAST_S or self.left <= 0:
            return FleetChoice("unknown")
        self.left -= 1
        if not names:
            names, rows = frozenset(self.elements[:1]), (*rows, at_most_of(self.question, "pools", 0))
        question = among(self.question, names)
        limits = replace(question.limits, day=(*question.limits.day, *rows))
        found = self.ask(replace(question, limits=limits), goal, left_s, brief=brief)
        if found.value is not None and found.value > self.most:
            return FleetChoice("unknown")
        return self._seen(found, goal)

    def _seen(self, found: FleetChoice, goal: Goal) -> FleetChoice:
        """A plan that carries every hour; the tolerance is that of the cheapest one."""
        if goal != "good" and found.value is not None and found.value < (self.cheapest.value or 0):
            self.cheapest, self.most = found, found.value * (1 + self.tolerance)
        return found
