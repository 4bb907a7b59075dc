"""The best order of changes: the fewest steps that keep the demand carried and every limit.

A state says how far each type of GPU has come; every step takes one type further. Many types are taken in
three groups: those that grow, those that get other work, those that shrink. Among all orders the search
prefers the smallest shortfall of capacity, then the smallest excess over a limit, then the fewest steps, then
additions first.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.explain.move_parts import Cap, Shares, SharesOf, TypeChange, Way

MOST_STATES = 400
"""States that are looked at; portions are larger where there would be more."""
_MOST_TYPES = 4
"""More types are taken in groups."""
_NONE, _ALL = Fraction(0), Fraction(1)
State = tuple[int, ...]
"""Portions done, by group."""


@dataclass(frozen=True, order=True)
class _Cost:
    shortfall: Fraction = _NONE
    excess: Fraction = _NONE
    steps: int = 0
    lateness: int = 0


class Paths:
    """The search."""

    def __init__(
        self,
        changes: Sequence[TypeChange],
        caps: Sequence[Cap],
        shares_of: SharesOf,
        still: Mapping[str, int],
    ) -> None:
        """Keep the question; ``still`` are GPUs whose number and work do not change."""
        self.changes = tuple(changes)
        self._caps = caps
        self._shares_of = shares_of
        self._still = dict(still)
        self._groups = _groups(self.changes)
        self._portions = _portions([max(c.portions for c in group) for group in self._groups])
        self._first: State = (0,) * len(self._groups)
        self._last: State = tuple(self._portions)
        self._known: dict[tuple[State, State], Shares] = {}
        ends = [self.gpus(self._first), self.gpus(self._last)]
        self._allowed = [max(cap.most, *(cap.used(gpus) for gpus in ends)) for cap in caps]
        both = (self._shares(self._first, self._first), self._shares(self._last, self._last))
        self._floor = tuple(min(pair) for pair in zip(*both, strict=True))

    def gpus(self, state: State) -> dict[str, int]:
        """GPUs by type."""
        counts = dict(self._still)
        for group, done, portions in zip(self._groups, state, self._portions, strict=True):
            counts.update({change.gpu: change.count(done, portions) for change in group})
        return counts

    def best(self) -> Way:
        """The best way; there always is one."""
        cost, path = self._in_turn()
        if cost.shortfall or cost.excess:
            cost, path = self._search()
        return self._way(cost, path)

    def _in_turn(self) -> tuple[_Cost, tuple[State, ...]]:
        """Everything at once, group after group; nothing takes fewer steps."""
        path = [self._first]
        cost = _Cost()
        for place in sorted(range(len(self._groups)), key=lambda place: _kind(self._groups[place][0])):
            state = path[-1]
            path.append((*state[:place], self._portions[place], *state[place + 1 :]))
            cost = self._further(cost, state, path[-1])
        return cost, tuple(path)

    def _search(self) -> tuple[_Cost, tuple[State, ...]]:
        tie = itertools.count()
        queue: list[tuple[_Cost, int, State, tuple[State, ...]]] = [
            (_Cost(), next(tie), self._first, (self._first,))
        ]
        done: set[State] = set()
        while True:
            cost, _, state, path = heapq.heappop(queue)
            if state == self._last:
                return cost, path
            if state in done:
                continue
            done.add(state)
            for other in self._next(state):
                if other not in done:
                    further = self._further(cost, state, other)
                    heapq.heappush(queue, (further, next(tie), other, (*path, other)))

    def _next(self, state: State) -> Iterator[State]:
        for place, portions in enumerate(self._portions):
            for to in range(portions, state[place], -1):
                yield (*state[:place], to, *state[place + 1 :])

    def _further(self, cost: _Cost, state: State, other: State) -> _Cost:
        group = self._groups[_moved(state, other)]
        short = max(cost.shortfall, self._short(other, other))
        if any(change.retasked for change in group):
            short = max(short, self._short(state, other))
        late = cost.steps if _kind(group[0]) == 0 else 0
        excess = max(cost.excess, self._excess(other))
        return _Cost(short, excess, cost.steps + 1, cost.lateness + late)

    def _excess(self, state: State) -> Fraction:
        gpus = self.gpus(state)
        over = _NONE
        for cap, allowed in zip(self._caps, self._allowed, strict=True):
            used = cap.used(gpus)
            if used > allowed:
                over = max(over, (used - allowed) / (allowed or _ALL))
        return over

    def _short(self, new: State, old: State) -> Fraction:
        shares = self._shares(new, old)
        return max((floor - have for floor, have in zip(self._floor, shares, strict=True)), default=_NONE)

    def _shares(self, new: State, old: State) -> Shares:
        """Carried by the new fleet as in one state and today's as in another (in the middle of a step)."""
        if (new, old) not in self._known:
            states = zip(self._groups, new, old, self._portions, strict=True)
            triples = [(c, n, o, p) for group, n, o, p in states for c in group]
            there = dict.fromkeys(self._still, _ALL)
            kept = {**there, **{c.gpu: 1 - c.part(o, p) for c, _, o, p in triples}}
            come = {**there, **{c.gpu: c.part(n, p) for c, n, _, p in triples}}
            self._known[new, old] = self._shares_of(kept, come)
        return self._known[new, old]

    def _way(self, cost: _Cost, path: tuple[State, ...]) -> Way:
        touched, least, gpus = [], [], [self.gpus(path[0])]
        for state, other in itertools.pairwise(path):
            place = _moved(state, other)
            group, portions = self._groups[place], self._portions[place]
            shares = [*self._shares(other, other)]
            if any(change.retasked for change in group):
                shares += self._shares(state, other)
            for change in group:
                part = change.part(other[place], portions) - change.part(state[place], portions)
                if not part:
                    continue
                touched.append((self.changes.index(change), round(change.retasked * part)))
                gpus.append({**gpus[-1], change.gpu: change.count(other[place], portions)})
                least.append(min(shares, default=_ALL))
        return Way(self.changes, tuple(gpus), tuple(touched), tuple(least), cost.shortfall, cost.excess)


def _kind(change: TypeChange) -> int:
    """0: grows; 1: gets other work; 2: shrinks."""
    if change.retasked:
        return 1
    return 0 if change.after > change.before else 2


def _groups(changes: Sequence[TypeChange]) -> list[list[TypeChange]]:
    if len(changes) <= _MOST_TYPES:
        return [[change] for change in changes]
    return [list(group) for _, group in itertools.groupby(sorted(changes, key=_kind), key=_kind)]


def _moved(state: State, other: State) -> int:
    return next(place for place, pair in enumerate(zip(state, other, strict=True)) if pair[0] != pair[1])


def _portions(most: Sequence[int]) -> list[int]:
    """As many portions as there may be states for."""
    portions = list(most)
    while _states(portions) > MOST_STATES and max(portions) > 1:
        largest = max(range(len(portions)), key=portions.__getitem__)
        portions[largest] = max(1, portions[largest] // 2)
    return portions


def _states(portions: Sequence[int]) -> int:
    count = 1
    for number in portions:
        count *= number + 1
    return count
