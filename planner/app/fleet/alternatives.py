"""The best plans of a fleet that differ in what they run on."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from planner.app.fleet.several import FleetChoices, Solve, found, suppliers_of, without_kinds
from planner.schema.fleet import FleetChoice, FleetProblem

By = Literal["options", "gpus"]
Kinds = frozenset[str]

_MOST_SOLVES = 200
_NONE = Fraction(0)
_NOISE = Fraction(1, 10**6)
"""Values that differ by this part only are the same: shares of buckets are floats to one of the engines."""


def fleet_alternatives(
    question: FleetProblem, k: int, solve: Solve, by: By = "options", most_solves: int = _MOST_SOLVES
) -> FleetChoices:
    """The k best plans that differ in the kinds in use, best first.

    Kinds are options and outside suppliers, or GPU types and outside suppliers. The first plan is the
    optimum; each next one is the best of those that do without some kind of every plan before it, and has no
    kind for nothing (but for the last one, where plans are equally good). It is found by forbidding one kind
    of each earlier plan: a tree of sets of forbidden kinds, the best optimum first, that branches on the
    kinds of an earlier plan of which a set forbids none. Exact as far as every solve is proved.

    Args:
        question: what is asked.
        k: how many plans at most.
        solve: answers questions.
        by: what makes two plans the same.
        most_solves: questions at most; a list that they end is not exhausted.

    Source: Reiter, A theory of diagnosis from first principles, Artificial Intelligence 32 (1987): the tree
    of hitting sets.
    """
    tree = _Tree(question, solve, by, most_solves)
    tree.node(frozenset())
    plans: list[FleetChoice] = []
    used: list[Kinds] = []
    while tree.open and len(plans) < k:
        node = heapq.heappop(tree.open)
        missed = next((kinds for kinds in used if not kinds & node.forbidden), None)
        if missed is None:
            # The children of the last plan are not looked at, so nothing is known of its ties.
            plan = tree.without_needless(node) if len(plans) + 1 < k else node.choice
            plans.append(plan)
            missed = in_use(question, plan, by)
            used.append(missed)
        if len(plans) < k:
            for kind in sorted(missed):
                tree.node(node.forbidden | {kind})
    return FleetChoices(tuple(plans), exhausted=tree.proved and len(plans) < k)


@dataclass(frozen=True, order=True)
class _Node:
    """The optimum without some kinds; equal values in the order of fewer and smaller names."""

    value: Fraction
    size: int
    names: tuple[str, ...]
    choice: FleetChoice

    @property
    def forbidden(self) -> Kinds:
        return frozenset(self.names)


class _Tree:
    """Sets of forbidden kinds that were solved and not looked at."""

    def __init__(self, question: FleetProblem, solve: Solve, by: By, most_solves: int) -> None:
        self.question, self.solve, self.by, self.left = question, solve, by, most_solves
        self.open: list[_Node] = []
        self.proved = True
        """Every set that matters was solved to a proof."""
        used = {option.gpu if by == "gpus" else option.id for option in question.options}
        self.kinds: Kinds = frozenset(used | {api.id for api in question.apis})
        self._known: dict[Kinds, _Node | None] = {}
        self._opened: set[Kinds] = set()

    def node(self, forbidden: Kinds) -> _Node | None:
        """The optimum without some kinds, put among the open ones once; None where there is none."""
        node = self._best(forbidden)
        if node is not None and forbidden not in self._opened:
            self._opened.add(forbidden)
            heapq.heappush(self.open, node)
        return node

    def without_needless(self, node: _Node) -> FleetChoice:
        """An equally good plan of which no kind can be left out without loss."""
        kinds = in_use(self.question, node.choice, self.by)
        for kind in sorted(kinds):
            child = self.node(node.forbidden | {kind})
            if child is None or not _same(child.value, node.value):
                continue
            fewer = self._best(self.kinds - kinds | {kind})
            if fewer is not None and _same(fewer.value, node.value):
                return self.without_needless(fewer)
        return node.choice

    def _best(self, forbidden: Kinds) -> _Node | None:
        if forbidden not in self._known:
            if not self.left:
                self.proved = False
                return None
            self.left -= 1
            choice = self.solve(self._without(forbidden))
            self.proved = self.proved and choice.status in ("optimal", "infeasible")
            names = tuple(sorted(forbidden))
            good = found(choice) and choice.value is not None
            self._known[forbidden] = _Node(choice.value or _NONE, len(names), names, choice) if good else None
        return self._known[forbidden]

    def _without(self, forbidden: Kinds) -> FleetProblem:
        if self.by == "options":
            return without_kinds(self.question, forbidden, frozenset())
        options = {option.id for option in self.question.options if option.gpu in forbidden}
        options |= {api.id for api in self.question.apis if api.id in forbidden}
        lines = frozenset(line.id for line in self.question.lines if line.gpu in forbidden)
        return without_kinds(self.question, frozenset(options), lines)


def _same(one: Fraction, other: Fraction) -> bool:
    return abs(one - other) <= _NOISE * abs(other)


def in_use(question: FleetProblem, choice: FleetChoice, by: By = "options") -> Kinds:
    """Options or GPU types with replicas in any period, and outside suppliers that serve anything."""
    gpus = {option.id: option.gpu for option in question.options}
    used = {option for period in choice.periods for option, count in period.replicas() if count}
    apis = {api.id for api in question.apis} & suppliers_of(question, choice)
    return frozenset(apis | ({gpus[option] for option in used} if by == "gpus" else used))
