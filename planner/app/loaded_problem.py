"""A problem in memory with what it is answered with; changed, it shares what was computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from planner.app.plan import answered
from planner.errors import InputError, input_error
from planner.loaders.catalog import load_catalog
from planner.loaders.named_files import roots
from planner.loaders.problem import load_problem_document, problem_in
from planner.loaders.rules import load_planning_rules
from planner.loaders.set_path import with_changes
from planner.loaders.yaml_source import Document, read_asked_document
from planner.planning.answering.people import settled_demand
from planner.planning.formulation.said_demand import SaidDemand
from planner.planning.formulation.study import Study
from planner.planning.run import Run
from planner.schema.catalog_index import Catalog
from planner.schema.plan import Plan
from planner.schema.problem import Problem
from planner.schema.rules import PlanningRule


class LoadedProblem:
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
        document: Document | None = None,
    ) -> None:
        """Keep the problem and the plain values that it was read from; ``where`` names them in messages.

        ``inside``: folders in which files must lie that changes name (see `named_files.roots`).
        ``document``: the file that they stand in, for lines of messages.
        """
        self.stated, self.values, self.folder = problem, values, folder
        self.catalog, self.rules, self.where = catalog, tuple(rules), where
        self.inside, self.document = inside, document

    @classmethod
    def load(cls, path: Path, overlays: tuple[Path, ...] = (), confined: bool | None = None) -> Self:
        """Read the catalog, the rules and the problem.

        ``confined``: files that the problem names must lie in its folder; None: as the command line says.

        Raises:
            InputError: everything wrong with them.
        """
        catalog, rules = load_catalog(overlays), load_planning_rules(overlays)
        return cls.of_document(read_asked_document(path), path.parent, catalog, rules, confined)

    @classmethod
    def of_values(
        cls, values: Mapping[str, Any], overlays: tuple[Path, ...] = (), confined: bool | None = None
    ) -> Self:
        """The problem in plain values; files that it names lie in the folder of the process.

        Raises:
            InputError: everything wrong with them.
        """
        catalog, rules = load_catalog(overlays), load_planning_rules(overlays)
        folder, ids = Path(), [rule.id for rule in rules]
        inside = roots(folder, confined)
        problem = load_problem_document(values, catalog, "problem", folder, ids, inside)
        return cls(problem, values, folder, catalog, rules, inside=inside)

    @classmethod
    def of_document(
        cls,
        document: Document,
        folder: Path,
        catalog: Catalog,
        rules: Sequence[PlanningRule],
        confined: bool | None = None,
    ) -> Self:
        """The problem in a document that was read; ``folder``: where files lie that it names.

        Raises:
            InputError: everything wrong with it.
        """
        inside = roots(folder, confined)
        problem = problem_in(document, folder, catalog, [rule.id for rule in rules], inside)
        return cls(problem, document.value, folder, catalog, rules, document.name, inside, document)

    @cached_property
    def problem(self) -> Problem:
        """With a rate for every workload, however the demand is stated."""
        return self.said.problem

    @cached_property
    def said(self) -> SaidDemand:
        """What is said of the demand, and the rates that follow."""
        with self.placed():
            return settled_demand(self.study, self.stated, Run())

    @cached_property
    def study(self) -> Study:
        """What is kept between questions."""
        return Study(self.catalog, self.rules, self.folder, self.where, document=self.document)

    def by_power(self) -> Self:
        """The same problem for plans that are compared by their power: unknown power is left aside."""
        other = type(self)(self.stated, self.values, self.folder, self.catalog, self.rules, self.where)
        other.__dict__["study"] = Study(
            self.catalog, self.rules, self.folder, self.where, by_power=True, document=self.document
        )
        return other

    def changed(self, changes: Mapping[str, Any], flag: str = "--set") -> Self:
        """The problem with values put in at paths; it shares what was computed.

        Raises:
            InputError: paths that lead nowhere, and everything wrong with the changed problem.
        """
        values = with_changes(self.values, changes, flag)
        ids = [rule.id for rule in self.rules]
        problem = load_problem_document(values, self.catalog, self.where, self.folder, ids, self.inside)
        other = type(self)(problem, values, self.folder, self.catalog, self.rules, self.where, self.inside)
        other.__dict__["study"] = self.study
        return other

    def refuse_throughput(self) -> None:
        """Refuse a question about the least of something where the most is looked for.

        Raises:
            InputError: the problem asks for the largest load.
        """
        if self.problem.objective == "throughput":
            found = "throughput, of which this command tells nothing"
            expected = "cost, cost_per_token, gpus or power (planner capacity tells what stops more load)"
            raise self.study.placed(input_error(self.where, "objective", found, expected))

    @contextmanager
    def placed(self) -> Iterator[None]:
        """A block whose faults name the problem's file too."""
        try:
            yield
        except InputError as problems:
            raise self.study.placed(problems) from None

    def solve(self, *, time_limit_s: float | None = None, seed: int = 0, workers: int = 1) -> Plan:
        """The optimal plan, proved or with its gap."""
        return self.plan(Run(time_limit_s, seed, workers))

    def plan(self, run: Run) -> Plan:
        """The plan under the limits of a run."""
        return answered(self.study, self.stated, run)
