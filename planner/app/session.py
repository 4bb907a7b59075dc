"""A problem in memory: what the Python interface works with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from planner.app.plan import answered
from planner.app.run import Run
from planner.app.study import Study
from planner.loaders.catalog import load_catalog
from planner.loaders.named_files import roots
from planner.loaders.problem import load_problem_document, problem_in
from planner.loaders.rules import load_planning_rules
from planner.loaders.set_path import with_changes
from planner.loaders.yaml_source import read_asked_document
from planner.schema.answers import Plans, Sweep, WhatIf
from planner.schema.catalog_index import Catalog
from planner.schema.plan import Plan
from planner.schema.problem import Problem
from planner.schema.rules import PlanningRule


class Session:
    """A checked problem with the catalog and the rules that answer it.

    What was computed for one question is kept for the next.
    """

    def __init__(
        self,
        problem: Problem,
        values: Mapping[str, Any],
        folder: Path,
        catalog: Catalog,
        rules: Sequence[PlanningRule],
        where: str = "problem",
        inside: tuple[Path, ...] = (),
    ) -> None:
        """Keep the problem and the plain values that it was read from; ``where`` names them in messages.

        ``inside``: folders in which files must lie that changes name (see `named_files.roots`).
        """
        self.problem, self.values, self.folder = problem, values, folder
        self.catalog, self.rules, self.where = catalog, tuple(rules), where
        self.inside = inside

    @classmethod
    def load(cls, path: Path, overlays: tuple[Path, ...] = (), confined: bool | None = None) -> Session:
        """Read the catalog, the rules and the problem.

        ``confined``: files that the problem names must lie in its folder; None: as the command line says.

        Raises:
            InputError: everything wrong with them.
        """
        catalog, rules = load_catalog(overlays), load_planning_rules(overlays)
        document, inside = read_asked_document(path), roots(path.parent, confined)
        problem = problem_in(document, path.parent, catalog, [rule.id for rule in rules], inside)
        return cls(problem, document.value, path.parent, catalog, rules, document.name, inside)

    @cached_property
    def study(self) -> Study:
        """What is kept between questions."""
        return Study(self.catalog, self.rules, self.folder, self.where)

    def by_power(self) -> Session:
        """The same problem for plans that are compared by their power: unknown power is left aside."""
        other = Session(self.problem, self.values, self.folder, self.catalog, self.rules, self.where)
        other.__dict__["study"] = Study(self.catalog, self.rules, self.folder, self.where, by_power=True)
        return other

    def changed(self, changes: Mapping[str, Any], flag: str = "--set") -> Session:
        """The problem with values put in at paths; it shares what was computed.

        Raises:
            InputError: paths that lead nowhere, and everything wrong with the changed problem.
        """
        values = with_changes(self.values, changes, flag)
        ids = [rule.id for rule in self.rules]
        problem = load_problem_document(values, self.catalog, self.where, self.folder, ids, self.inside)
        other = Session(problem, values, self.folder, self.catalog, self.rules, self.where, self.inside)
        other.__dict__["study"] = self.study
        return other

    def solve(self, *, time_limit_s: float | None = None, seed: int = 0, workers: int = 1) -> Plan:
        """The optimal plan, proved or with its gap."""
        return self.plan(Run(time_limit_s, seed, workers))

    def plan(self, run: Run) -> Plan:
        """The plan under the limits of a run."""
        return answered(self.study, self.problem, run)

    def whatif(self, changes: Mapping[str, Any], *, run: Run | None = None) -> WhatIf:
        """The plans before and after changes by path, and what differs.

        Raises:
            InputError: as for `changed`.
        """
        from planner.app.what_if import what_if

        return what_if(self, changes, run or Run())

    def sweep(self, axes: Mapping[str, Sequence[Any]], *, run: Run | None = None) -> Sweep:
        """A plan for every combination of values along paths.

        Raises:
            InputError: as for `changed`.
        """
        from planner.app.what_if import sweep

        return sweep(self, axes, run or Run())

    def relax(self, *, run: Run | None = None) -> Plan:
        """The plan with its conflicts, its cheapest relaxations and the price of every limit."""
        from planner.app.relax import relax

        return relax(self, run or Run())

    def pareto(
        self,
        axes: Sequence[str] = ("cost", "itl"),
        *,
        max_cost_ratio: float | None = 2.0,
        run: Run | None = None,
    ) -> Plans:
        """Plans of which none is better than another on every axis.

        Where cost is an axis, plans at more than ``max_cost_ratio`` times the cheapest are left out (None:
        none is).

        Raises:
            InputError: an unknown axis.
        """
        from planner.app.pareto import pareto

        return pareto(self, tuple(axes), run or Run(), max_cost_ratio)

    def alternatives(self, k: int = 3, *, run: Run | None = None) -> Plans:
        """The k best plans that differ in what they buy."""
        from planner.app.alternatives import alternatives

        return alternatives(self, k, run or Run())
