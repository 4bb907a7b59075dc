"""A problem in memory: what the Python interface works with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from planner.app.plan import solve_problem
from planner.app.run import Run
from planner.loaders.catalog import load_catalog
from planner.loaders.problem import load_problem
from planner.loaders.rules import load_planning_rules
from planner.schema.catalog_index import Catalog
from planner.schema.plan import Plan
from planner.schema.problem import Problem
from planner.schema.rules import PlanningRule


@dataclass(frozen=True, eq=False)
class Session:
    """A checked problem with the catalog and the rules that answer it."""

    path: Path
    problem: Problem
    catalog: Catalog
    rules: tuple[PlanningRule, ...]

    @classmethod
    def load(cls, path: Path, overlays: tuple[Path, ...] = ()) -> Session:
        """Read the catalog, the rules and the problem.

        Raises:
            InputError: everything wrong with them.
        """
        catalog, rules = load_catalog(overlays), load_planning_rules(overlays)
        problem = load_problem(path, catalog, [rule.id for rule in rules])
        return cls(path, problem, catalog, rules)

    def solve(self, *, time_limit_s: float | None = None, seed: int = 0, workers: int = 1) -> Plan:
        """The optimal plan, proved or with its gap."""
        run = Run(time_limit_s, seed, workers)
        return solve_problem(self.problem, self.path.parent, self.catalog, self.rules, run, str(self.path))
