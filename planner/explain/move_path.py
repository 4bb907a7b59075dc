"""The best order of changes: the fewest steps that keep the demand carried and every limit.

A state says how many GPUs of each type have left their work and how many have taken up other. A step adds
GPUs, removes them, or gives them other work; so GPUs may be added first and others removed later, as far as
limits leave room. Where there is more work than can be looked at, types are taken together. Among all orders
the search prefers the smallest shortfall of capacity, then the smallest excess over a limit, then the fewest
steps, then additions first.
"""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.explain.move_parts import Cap, Shares, SharesOf, TypeChange, Way, Work

MOST_STATES = 400
"""States that are looked at; portions are larger where there would be more."""
_MOST_TRACKS = 4
"""More of them are taken together."""
_NONE, _ALL = Fraction(0), Fraction(1)
State = tuple[int, ...]
"""Portions done, by track."""


@dataclass(frozen=True)
class _Cost:
    """Of a whole way."""

    shortfall: Fraction
    excess: Fraction
    steps: int


@dataclass(frozen=True)
class _Edge:
    """Of one step."""

    shortfall: Fraction
    excess: Fraction
    adds: bool

    def within(self, bound: _Edge) -> bool:
        return self.shortfall <= bound.shortfall and self.excess <= bound.excess


_INFINITE = Fraction(10**18)
_NO_BOUND = _Edge(_INFINITE, _INFINITE, False)


@dataclass(frozen=True)
class _Track:
    """Work that is left, or taken up, in step: GPUs by type and work."""

    comes: bool
    gpus: Mapping[tuple[str, Work], int]

    def replicas(self, changes: Mapping[str, TypeChange]) -> Iterator[int]:
        """By work: replicas; units where nobody knows them."""
        for (gpu, (_, _, size)), count in self.gpus.items():
            yield max(1, -(-count // size) if size else count // changes[gpu].unit_gpus)

    @property
    def types(self) -> frozenset[str]:
        return frozenset(gpu for gpu, _ in self.gpus)


class Paths:
    """The search."""

    def __init__(
        self,
        changes: Sequence[TypeChange],
        caps: Sequence[Cap],
        shares_of: SharesOf,
        still: Mapping[str, int],
        staying: Sequence[Work] = (),
    ) -> None:
        """Keep the question.

        Args:
            changes: by type.
            caps: limits on GPUs that stand at one time.
            shares_of: what parts of both fleets carry.
            still: GPUs by type whose number and work do not change.
            staying: work that stays as it is.
        """
        self._changes = {change.gpu: change for change in changes}
        self._caps, self._shares_of = caps, shares_of
        self._still, self._staying = dict(still), tuple(staying)
        self._tracks = _tracks(changes)
        most = [max(track.replicas(self._changes)) for track in self._tracks]
        self._portions = _portions(most)
        self._every_order = self._portions == most and all(len(track.gpus) == 1 for track in self._tracks)
        self._first: State = (0,) * len(self._tracks)
        self._last: State = tuple(self._portions)
        self._known: dict[State, Shares] = {}
        self._edges: dict[tuple[State, State], _Edge] = {}
        ends = [self.gpus(self._first), self.gpus(self._last)]
        self._allowed = [max(cap.most, *(cap.used(gpus) for gpus in ends)) for cap in caps]
        both = (self._shares(self._first), self._shares(self._last))
        self._floor = tuple(min(pair) for pair in zip(*both, strict=True))

    def gpus(self, state: State) -> dict[str, int]:
        """GPUs by type."""
        done = self._done(state)
        return {**self._still, **{gpu: change.count(*done[gpu]) for gpu, change in self._changes.items()}}

    def best(self) -> Way:
        """The best way; there always is one."""
        cost, path = self._in_turn()
        if cost.shortfall or cost.excess:
            cost, path = self._search()
        return self._way(cost, path)

    def _done(self, state: State) -> dict[str, tuple[int, int]]:
        """By type: GPUs that have left their work, and those that have taken up other."""
        found = {gpu: [0, 0] for gpu in self._changes}
        for track, done, portions in zip(self._tracks, state, self._portions, strict=True):
            for (gpu, _), count in track.gpus.items():
                found[gpu][track.comes] += count * done // portions
        return {gpu: (left, come) for gpu, (left, come) in found.items()}

    def _in_turn(self) -> tuple[_Cost, tuple[State, ...]]:
        """Everything at once: additions, other work, removals; nothing takes fewer steps."""
        retasks = {gpu for gpu, change in self._changes.items() if change.retasks}
        tracks = range(len(self._tracks))
        plain = [place for place in tracks if not self._tracks[place].types & retasks]
        order: list[tuple[int, ...]] = [(place,) for place in plain if self._tracks[place].comes]
        left = [place for place in tracks if place not in plain]
        while left:
            types = self._tracks[left[0]].types
            order.append(tuple(place for place in left if self._tracks[place].types & types))
            left = [place for place in left if place not in order[-1]]
        order += [(place,) for place in plain if not self._tracks[place].comes]
        path = [self._first]
        for places in order:
            state = path[-1]
            path.append(tuple(p if at in places else state[at] for at, p in enumerate(self._portions)))
        edges = [self._edge(state, other) for state, other in itertools.pairwise(path)]
        short = max((edge.shortfall for edge in edges), default=_NONE)
        excess = max((edge.excess for edge in edges), default=_NONE)
        return _Cost(short, excess, len(edges)), tuple(path)

    def _search(self) -> tuple[_Cost, tuple[State, ...]]:
        """The least shortfall of any order, the least excess of those, and of those the fewest steps."""
        short = self._least(lambda edge: edge.shortfall, _NO_BOUND)
        excess = self._least(lambda edge: edge.excess, _Edge(short, _NO_BOUND.excess, False))
        path = self._shortest(_Edge(short, excess, False))
        return _Cost(short, excess, len(path) - 1), path

    def _least(self, part: Callable[[_Edge], Fraction], bound: _Edge) -> Fraction:
        """The least largest part of a step on any order whose steps keep the bound."""
        tie = itertools.count()
        queue: list[tuple[Fraction, int, State]] = [(_NONE, next(tie), self._first)]
        best = {self._first: _NONE}
        while True:
            worst, _, state = heapq.heappop(queue)
            if state == self._last:
                return worst
            for other in self._next(state) if worst == best[state] else ():
                edge = self._edge(state, other)
                further = max(worst, part(edge))
                if edge.within(bound) and further < best.get(other, _INFINITE):
                    best[other] = further
                    heapq.heappush(queue, (further, next(tie), other))

    def _shortest(self, bound: _Edge) -> tuple[State, ...]:
        """Of all orders whose steps keep the bound: the fewest steps, additions first."""
        tie = itertools.count()
        first: tuple[int, int] = (0, 0)
        queue: list[tuple[tuple[int, int], int, State, tuple[State, ...]]] = [
            (first, next(tie), self._first, (self._first,))
        ]
        done: set[State] = set()
        while True:
            (steps, late), _, state, path = heapq.heappop(queue)
            if state == self._last:
                return path
            if state in done:
                continue
            done.add(state)
            for other in self._next(state):
                edge = self._edge(state, other)
                if other not in done and edge.within(bound):
                    cost = (steps + 1, late + (steps if edge.adds else 0))
                    heapq.heappush(queue, (cost, next(tie), other, (*path, other)))

    def _next(self, state: State) -> Iterator[State]:
        """One track further, or two of one type: what the GPUs of one leave they take up in the other."""
        for place, portions in enumerate(self._portions):
            for to in range(portions, state[place], -1):
                one = (*state[:place], to, *state[place + 1 :])
                yield one
                for other in self._partners(place) if not self._tracks[place].comes else ():
                    for till in range(self._portions[other], state[other], -1):
                        yield (*one[:other], till, *one[other + 1 :])

    def _partners(self, place: int) -> list[int]:
        types = self._tracks[place].types
        return [at for at, track in enumerate(self._tracks) if track.comes and track.types & types]

    def _edge(self, state: State, other: State) -> _Edge:
        if (state, other) not in self._edges:
            short = max(self._short(one) for one in self._on_the_way(state, other))
            now, then = sum(self.gpus(state).values()), sum(self.gpus(other).values())
            self._edges[state, other] = _Edge(short, self._excess(other), then > now)
        return self._edges[state, other]

    def _on_the_way(self, state: State, other: State) -> list[State]:
        """After the step; and while GPUs change from one work to another, which carry nothing then."""
        before, after = self._done(state), self._done(other)
        if not any(after[gpu][0] > before[gpu][0] and after[gpu][1] > before[gpu][1] for gpu in after):
            return [other]
        ends = zip(self._tracks, state, other, strict=True)
        return [other, tuple(old if track.comes else new for track, old, new in ends)]

    def _excess(self, state: State) -> Fraction:
        gpus = self.gpus(state)
        over = _NONE
        for cap, allowed in zip(self._caps, self._allowed, strict=True):
            used = cap.used(gpus)
            if used > allowed:
                over = max(over, (used - allowed) / (allowed or _ALL))
        return over

    def _short(self, state: State) -> Fraction:
        shares = self._shares(state)
        return max((floor - have for floor, have in zip(self._floor, shares, strict=True)), default=_NONE)

    def _shares(self, state: State) -> Shares:
        if state not in self._known:
            come: dict[Work, Fraction] = dict.fromkeys(self._staying, _ALL)
            kept = dict(come)
            for track, done, portions in zip(self._tracks, state, self._portions, strict=True):
                for (_, work), count in track.gpus.items():
                    come[work] = Fraction(count * done // portions, count)
                    kept[work] = 1 - come[work]
            self._known[state] = self._shares_of(kept, come)
        return self._known[state]

    def _way(self, cost: _Cost, path: tuple[State, ...]) -> Way:
        touched, least, gpus = [], [], [self.gpus(path[0])]
        for state, other in itertools.pairwise(path):
            before, after, counts = self._done(state), self._done(other), self.gpus(other)
            shares = [share for one in self._on_the_way(state, other) for share in self._shares(one)]
            for gpu in self._changes:
                if before[gpu] != after[gpu]:
                    left, come = (after[gpu][side] - before[gpu][side] for side in (0, 1))
                    touched.append((gpu, min(left, come)))
                    gpus.append({**gpus[-1], gpu: counts[gpu]})
                    least.append(min(shares, default=_ALL))
        return Way(tuple(gpus), tuple(touched), tuple(least), cost.shortfall, cost.excess, self._every_order)


def _tracks(changes: Sequence[TypeChange]) -> list[_Track]:
    """Every work on its own, else every type, else all types that retask and all that do not."""
    rows = [
        (change, comes, work, count)
        for change in changes
        for comes, side in ((True, change.comes), (False, change.leaves))
        for work, count in side.items()
    ]
    found: list[_Track] = []
    for level in range(3):
        groups: dict[tuple[object, ...], dict[tuple[str, Work], int]] = defaultdict(dict)
        for change, comes, work, count in rows:
            key = ((change.gpu, work), (change.gpu,), (change.retasks,))[level]
            groups[comes, *key][change.gpu, work] = count
        found = [_Track(bool(key[0]), gpus) for key, gpus in groups.items()]
        if len(found) <= _MOST_TRACKS:
            break
    return found


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
