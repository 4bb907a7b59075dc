"""All minimal conflicts: the smallest sets of limits that cannot hold together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from planner.explain.hitting_sets import HittingSets, Names, in_order
from planner.explain.oracle import Oracle
from planner.schema.reasons import Asker, NamedLimit

_MOST = 100
_MOST_ASKS = 1000
_MOST_HITTING_SETS = 10_000
_FEW = 2
"""Up to so many limits of one kind are tried one by one at once."""

_TRIED_FIRST: tuple[str, ...] = (
    "rule", "service", "precision", "quality", "memory", "changes", "quota", "stock", "max-gpus", "latency",
    "budget",
)  # fmt: skip
"""Kinds of limits in the order in which a conflict tries to do without them: rarest in conflicts first."""


@dataclass(frozen=True)
class Conflicts:
    """Why nothing is feasible."""

    feasible: bool = False
    """The problem is feasible: there is nothing to explain."""
    given: bool = False
    """Infeasible even without every limit that somebody could grant."""
    sets: tuple[tuple[str, ...], ...] = ()
    """Minimal conflicts: the rest is feasible without any one member. The smaller first, then by name."""
    corrections: tuple[tuple[str, ...], ...] = ()
    """Minimal sets of grantable limits without which the problem is feasible, in the same order."""
    complete: bool = True
    """False: there may be more, because a limit of time or number ended the search."""


def minimal_conflicts(asker: Asker, most: int = _MOST, most_asks: int = _MOST_ASKS) -> Conflicts:
    """All minimal sets of grantable limits that nothing satisfies together while given limits hold.

    A minimal hitting set of the conflicts known so far is taken away: either the rest is feasible, and
    it is a minimal correction, or the rest holds a new conflict, which is found by deletion. When every
    minimal hitting set is a correction, all conflicts are known. ``unknown`` is never taken as infeasible.

    Questions at most: 2 + corrections + conflicts x (grantable limits + 1 for each kind with more than two);
    what is known of looser and tighter problems usually halves that.

    Args:
        asker: the problem.
        most: conflicts at most; ``complete`` says when there may be more.
        most_asks: questions at most. Conflicts come early; the proof that there are no more takes many
            questions where many conflicts have no member in common.

    Source: Liffiton, Previti, Malik and Marques-Silva, Fast, flexible MUS enumeration, Constraints 21 (2016);
    de Kleer and Williams, Diagnosing multiple faults, Artificial Intelligence 32 (1987).
    """
    oracle = Oracle.of(asker)
    if oracle.feasible({}):
        return Conflicts(feasible=True)
    search = _Search(oracle, most, oracle.asks + most_asks)
    if oracle.feasible(search.without(search.names)) is False:
        return Conflicts(given=True)
    return search.run()


class _Search:
    """Conflicts and corrections found so far."""

    def __init__(self, oracle: Oracle, most: int, last_ask: int) -> None:
        self.oracle, self.most, self.last_ask = oracle, most, last_ask
        grantable = [limit for limit in oracle.limits if limit.grantable]
        self.names: Names = frozenset(limit.id for limit in grantable)
        by_kind: dict[str, list[str]] = defaultdict(list)
        for limit in sorted(grantable, key=_tried):
            by_kind[limit.kind].append(limit.id)
        self.groups: Sequence[Sequence[str]] = tuple(by_kind.values())
        self.hitting = HittingSets()
        self.conflicts: list[Names] = []
        self.corrections: set[Names] = set()
        self.open: set[Names] = set()
        """Hitting sets of which no answer says whether they are corrections."""
        self.proved = True

    def without(self, names: Names) -> dict[str, None]:
        """The changes that take limits away."""
        return dict.fromkeys(sorted(names))

    def holds(self, kept: Names) -> bool | None:
        """Whether something keeps these limits and the given ones."""
        return self.oracle.feasible(self.without(self.names - kept))

    def run(self) -> Conflicts:
        """Conflicts until every minimal hitting set is a correction."""
        while (candidate := self._candidate()) is not None:
            if self.oracle.asks >= self.last_ask or len(self.hitting.sets) > _MOST_HITTING_SETS:
                return self._found(complete=False)
            rest = self.names - candidate
            answer = self.holds(rest)
            if answer:
                self.corrections.add(candidate)
            elif answer is None:
                self.open.add(candidate)
            elif len(self.conflicts) == self.most:
                return self._found(complete=False)
            else:
                self._add(rest)
        return self._found(complete=self.proved and not self.open)

    def _candidate(self) -> Names | None:
        """The smallest hitting set that has not been tried."""
        tried = self.corrections | self.open
        return next((found for found in self.hitting.sets if found not in tried), None)

    def _add(self, infeasible: Names) -> None:
        conflict, minimal = self._shrunk(infeasible)
        self.hitting.add(conflict)
        if minimal:
            self.conflicts.append(conflict)
        else:
            self.proved = False

    def _shrunk(self, infeasible: Names) -> tuple[Names, bool]:
        """A conflict among limits that are infeasible together, and whether each member is proved needed."""
        kept = infeasible
        for group in self.groups:
            present = [name for name in group if name in kept]
            if len(present) > _FEW and self.holds(kept - frozenset(present)) is False:
                kept -= frozenset(present)
                continue
            for name in present:
                if self.holds(kept - {name}) is False:
                    kept -= {name}
        return kept, all(self.holds(kept - {name}) for name in kept)

    def _found(self, complete: bool) -> Conflicts:
        return Conflicts(
            sets=tuple(tuple(sorted(found)) for found in sorted(self.conflicts, key=in_order)),
            corrections=tuple(tuple(sorted(found)) for found in sorted(self.corrections, key=in_order)),
            complete=complete,
        )


def _tried(limit: NamedLimit) -> tuple[int, str, str]:
    kind = limit.kind
    return (_TRIED_FIRST.index(kind) if kind in _TRIED_FIRST else len(_TRIED_FIRST), kind, limit.id)
