"""The best plans of a fleet that differ in what they run on."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction

from planner.constraints.fleet_check import bill
from planner.explain.variants import without_kinds
from planner.planning.answering.several import FleetChoices, Solve, found, suppliers_of
from planner.schema.choice import Option
from planner.schema.fleet import FleetChoice, FleetProblem

Kinds = frozenset[str]
"""A kind of options is known by the first of their ids; an outside supplier by its own."""
Kind = Callable[[Option], Hashable]
"""What makes two options the same."""

_MOST_SOLVES = 200
_NOISE = Fraction(1, 10**6)
"""Values that differ by this part only are the same: shares of buckets are floats to one of the engines."""


def _own_id(option: Option) -> Hashable:
    return option.id


def fleet_alternatives(
    question: FleetProblem,
    k: int,
    solve: Solve,
    kind: Kind = _own_id,
    most_solves: int = _MOST_SOLVES,
    first: FleetChoice | None = None,
) -> FleetChoices:
    """The k best plans that differ in the kinds in use, best first.

    Kinds are sets of options that ``kind`` does not tell apart, and outside suppliers. The first plan is the
    optimum; each next one is the best of those that do without some kind of every plan before it, and has no
    kind for nothing (but for the last one, where plans are equally good). It is found by forbidding one kind
    of each earlier plan: a tree of sets of forbidden kinds, the best optimum first, that branches on the
    kinds of an earlier plan of which a set forbids none. Exact as far as every solve is proved.

    Args:
        question: what is asked.
        k: how many plans at most.
        solve: answers questions.
        kind: what makes two options the same; by default nothing does.
        most_solves: questions at most; a list that they end is not exhausted.
        first: the plan that the list begins with as it is, where it is known.

    Source: Reiter, A theory of diagnosis from first principles, Artificial Intelligence 32 (1987): the tree
    of hitting sets.
    """
    tree = _Tree(question, solve, kind, most_solves)
    if first is not None:
        tree.begin(first)
    tree.node(frozenset())
    plans: list[FleetChoice] = []
    used: list[Kinds] = []
    while tree.open and len(plans) < k:
        node = heapq.heappop(tree.open)
        missed = next((kinds for kinds in used if not kinds & node.forbidden), None)
        if missed is None:
            # The children of the last plan are not looked at, so nothing is known of its ties.
            given = first is not None and not plans
            plan = node.choice if given or len(plans) + 1 == k else tree.without_needless(node)
            plans.append(plan)
            missed = tree.in_use(plan)
            used.append(missed)
        if len(plans) < k:
            for one in sorted(missed):
                tree.node(node.forbidden | {one})
    return FleetChoices(tuple(plans), exhausted=tree.proved and len(plans) < k)


@dataclass(frozen=True, order=True)
class _Node:
    """The optimum without some kinds; of equally good ones that with fewer and smaller names."""

    key: tuple[Fraction, Fraction]
    """Objective, then what is paid."""
    size: int
    names: tuple[str, ...]
    choice: FleetChoice

    @property
    def forbidden(self) -> Kinds:
        return frozenset(self.names)


class _Tree:
    """Sets of forbidden kinds that were solved and not looked at."""

    def __init__(self, question: FleetProblem, solve: Solve, kind: Kind, most_solves: int) -> None:
        self.question, self.solve, self.left = question, solve, most_solves
        self.open: list[_Node] = []
        self.proved = True
        """Every set that matters was solved to a proof."""
        alike: dict[Hashable, list[str]] = defaultdict(list)
        for option in sorted(question.options, key=lambda one: one.id):
            alike[kind(option)].append(option.id)
        self.members = {ids[0]: frozenset(ids) for ids in alike.values()}
        self.kind_of = {name: ids[0] for ids in alike.values() for name in ids}
        self.kinds: Kinds = frozenset({*self.members, *(api.id for api in question.apis)})
        self._known: dict[Kinds, _Node | None] = {}
        self._opened: set[Kinds] = set()

    def begin(self, choice: FleetChoice) -> None:
        """Take a plan for the optimum without forbidding anything."""
        self._keep(frozenset(), choice)

    def in_use(self, choice: FleetChoice) -> Kinds:
        """Kinds with replicas in any period, and outside suppliers that serve anything."""
        used = {option for period in choice.periods for option, count in period.replicas() if count}
        apis = {api.id for api in self.question.apis} & suppliers_of(self.question, choice)
        return frozenset(apis | {self.kind_of[option] for option in used})

    def node(self, forbidden: Kinds) -> _Node | None:
        """The optimum without some kinds, put among the open ones once; None where there is none."""
        node = self._best(forbidden)
        if node is not None and forbidden not in self._opened:
            self._opened.add(forbidden)
            heapq.heappush(self.open, node)
        return node

    def without_needless(self, node: _Node) -> FleetChoice:
        """An equally good plan of which no kind can be left out without loss."""
        kinds = self.in_use(node.choice)
        for kind in sorted(kinds):
            child = self.node(node.forbidden | {kind})
            if child is None or not _same(child, node):
                continue
            fewer = self._best(self.kinds - kinds | {kind})
            if fewer is not None and _same(fewer, node):
                return self.without_needless(fewer)
        return node.choice

    def _best(self, forbidden: Kinds) -> _Node | None:
        if forbidden not in self._known:
            if not self.left:
                self.proved = False
                return None
            self.left -= 1
            self._keep(forbidden, self.solve(self._without(forbidden)))
        return self._known[forbidden]

    def _keep(self, forbidden: Kinds, choice: FleetChoice) -> None:
        self.proved = self.proved and choice.status in ("optimal", "infeasible")
        names = tuple(sorted(forbidden))
        key = self._key(choice)
        self._known[forbidden] = None if key is None else _Node(key, len(names), names, choice)

    def _key(self, choice: FleetChoice) -> tuple[Fraction, Fraction] | None:
        if not found(choice) or choice.value is None:
            return None
        return choice.value, bill(self.question, choice.periods).usd

    def _without(self, forbidden: Kinds) -> FleetProblem:
        gone = frozenset(name for kind in forbidden for name in self.members.get(kind, {kind}))
        return without_kinds(self.question, gone, frozenset())


def _same(one: _Node, other: _Node) -> bool:
    return all(abs(a - b) <= _NOISE * abs(b) for a, b in zip(one.key, other.key, strict=True))
