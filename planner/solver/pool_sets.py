"""Which options a simple plan needs at least: sets of options, and what every plan must hold one of.

A question with fewer options has fewer plans. Where a set of options has none, no part of it has one, so
every plan uses one of the options that are missing in it: a cut. The smallest set that meets all cuts is
the next to be asked about; its size bounds the options of any plan from below.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from planner.schema.fleet import FleetChoice, FleetProblem
from planner.solver.cp_sat import cp_model, run

Names = frozenset[str]
Oracle = Callable[[Names], FleetChoice]
"""A plan with these options, ``infeasible``, or ``unknown``."""


def among(question: FleetProblem, names: Collection[str]) -> FleetProblem:
    """The question with these options alone."""
    return replace(question, options=tuple(option for option in question.options if option.id in names))


class PoolSets:
    """The cuts of one question that are known so far."""

    def __init__(
        self, question: FleetProblem, elements: Sequence[str], needed: Sequence[Sequence[Sequence[Names]]]
    ) -> None:
        """Nothing known yet.

        Args:
            question: what is asked.
            elements: options that plans may need, those that promise most first.
            needed: by workload that needs replicas its serving modes, each with sets of options of which it
                takes one at least.
        """
        self.elements = tuple(elements)
        self.needed = needed
        self.cuts: list[Names] = []
        self.plain: list[Names] = []
        """Those of them that hold whatever else is asked."""
        self._grown: Names = frozenset()
        self._works: Mapping[str, list[str]] = defaultdict(list)
        by_id = {option.id: option.workload for option in question.options}
        for name in elements:
            self._works[by_id[name]].append(name)

    def copied(self) -> PoolSets:
        """The same cuts for questions that ask for more: what has no plan then has none now."""
        found = object.__new__(PoolSets)
        found.elements, found.needed, found._works = self.elements, self.needed, self._works
        found.cuts, found.plain, found._grown = list(self.cuts), [], frozenset()
        return found

    def smallest(self, most: int) -> Names | None:
        """The smallest set that meets all cuts, first promising ones; None: all have more."""
        model, rank = cp_model.CpModel(), {name: place for place, name in enumerate(self.elements)}
        takes = {name: model.new_bool_var(name) for name in self.elements}
        for cut in self.cuts:
            model.add_bool_or([takes[name] for name in sorted(cut)])
        for modes in self.needed:
            chosen = [model.new_bool_var("mode") for _ in modes]
            model.add_bool_or(chosen)
            for mode, one in zip(modes, chosen, strict=True):
                for names in mode:
                    model.add_bool_or([takes[name] for name in sorted(names)]).only_enforce_if(one)
        model.add(sum(takes.values()) <= most)
        room = len(self.elements) ** 2 + 1
        model.minimize(sum((room + rank[name]) * one for name, one in takes.items()))
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        status, interrupted = run(solver, model)
        if interrupted:
            raise KeyboardInterrupt
        if status == cp_model.INFEASIBLE:
            return None
        return frozenset(name for name, one in takes.items() if solver.value(one))

    def learn(self, names: Names, ask: Oracle, *, plain: bool) -> None:
        """A cut from a set without a plan: it is grown as far as short questions show that it may."""
        self._grown = names
        works = [[name for name in self._works[work] if name not in names] for work in sorted(self._works)]
        for mine in works:
            self._grow(mine, ask, split=False)
        for mine in works:
            self._grow([name for name in mine if name not in self._grown], ask, split=True)
        self.cuts.append(frozenset(self.elements) - self._grown)
        self.plain += self.cuts[-1:] if plain else []

    def learn_essential(self, names: Names, ask: Oracle) -> None:
        """Options of a plan that no other can do without."""
        every = frozenset(self.elements)
        for name in sorted(names & every):
            if ask(every - {name}).status == "infeasible":
                self.cuts.append(frozenset({name}))
                self.plain.append(frozenset({name}))

    def _grow(self, more: Sequence[str], ask: Oracle, *, split: bool) -> None:
        """Add these options where there is still no plan; else halves of them, the least promising first."""
        wider = self._grown | set(more)
        if not more:
            return
        if len(wider) < len(self.elements) and ask(wider).status == "infeasible":
            self._grown = wider
        elif split and len(more) > 1:
            half = len(more) // 2
            self._grow(more[half:], ask, split=True)
            self._grow(more[:half], ask, split=True)
