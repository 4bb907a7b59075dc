"""Length classes: requests cut by their prompts, so that short and long ones may go to different pools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from planner.candidates.class_options import ClassRates, class_options
from planner.errors import input_error
from planner.planning.formulation.demands import roles
from planner.planning.formulation.length_class import LengthClasses
from planner.planning.formulation.length_cuts import Cutter
from planner.planning.formulation.study import Formulation, Granted, Study
from planner.planning.formulation.tokens import RequestTokens
from planner.planning.workload.case import Case, Enumerated
from planner.planning.workload.evaluate import evaluated, selected
from planner.schema.choice import ChoiceProblem, PoolDemand
from planner.schema.problem import Problem


@dataclass(frozen=True, eq=False)
class ClassedPose:
    """A problem formulated with length classes."""

    formulation: Formulation
    """Its question has one bucket a class; its options are indices into configurations that serve a class."""
    classes: Mapping[str, LengthClasses]
    """By workload; those with one class are left out."""
    remarks: tuple[str, ...]

    @property
    def question(self) -> ChoiceProblem:
        """Options and demands of the busiest hour."""
        return self.formulation.question

    def tokens(self, workload: str) -> dict[str, RequestTokens] | None:
        """Mean tokens of a request by class; None for a workload with one class."""
        found = self.classes.get(workload)
        return None if found is None else found.tokens()


def by_class(study: Study, problem: Problem, granted: Granted) -> ClassedPose:
    """Pose a problem with the length classes that ``search.length_classes`` asks for (``one``: as it is).

    A gateway sees the length of a prompt and not that of its answer, so classes are ranges of prompt tokens
    (after trimming, with images). Of percentiles the answers of every class are distributed like all
    answers; of a trace or of stated buckets they are those of the requests in the class. Each class is
    evaluated like a workload of its own, with the limits of the workload for its requests alone, and
    configurations are joined by name: an option has one rate for each class, 0 where it cannot serve it. A
    pool may serve several classes: its load is the sum over classes of rps / rate, which
    `planner.planning.answering.class_mixes` checks against the traffic that the pool really gets.

    ``stated``: the buckets of ``lengths``. A number: so many classes of equal work (tokens read and written).
    ``auto``: the requests are cut into 16 classes of equal work; for n = 1, 2 … 8 the best grouping of
    neighbors is found by dynamic programming over sum of share x price / rate, busy times of the classes of
    a group added up; the groups are evaluated, and the smallest n is taken whose cost at the cheapest rates
    is at most 1 % above that of the 16. What nobody can serve alone within the limits joins its shorter
    neighbor.

    Raises:
        InputError: as `Study.pose`, and ``stated`` where no workload states buckets.
    """
    if problem.search.length_classes == "stated" and not any(
        workload.lengths is not None and workload.lengths.buckets for workload in problem.workloads
    ):
        raise input_error(
            study.where, "search.length_classes", "stated, and no workload states lengths.buckets",
            "lengths.buckets, or auto, or a number of classes",
        )  # fmt: skip
    formulation = study.formulate(problem, granted)
    if problem.search.length_classes == "one":
        return ClassedPose(formulation, {}, ())
    classes: dict[str, LengthClasses] = {}
    remarks: list[str] = []
    for name, case in formulation.cases.items():
        found = Cutter(study, problem, formulation, case, granted).classes()
        remarks += [f"{name}: {line}" for line in found.remarks]
        if found.classes is not None and found.rates is not None:
            classes[name] = found.classes
            formulation = _with_classes(study, formulation, case, found.classes, found.rates, granted)
    if classes and any(role != "serve" for role in roles(problem)):
        named = ", ".join(classes)
        remarks.append(f"{named}: with length classes only prompts and answers served together are looked at")
    return ClassedPose(formulation, classes, tuple(remarks))


def _with_classes(
    study: Study,
    formulation: Formulation,
    case: Case,
    classes: LengthClasses,
    rates: ClassRates,
    granted: Granted,
) -> Formulation:
    """The question with the options and the demand of one workload by class."""
    name, question = case.workload.name, formulation.question
    whole = study.takes_whole_servers(case, formulation.problem, granted)
    mine = class_options(name, rates, formulation.lots, whole)
    found = {key: value for key, value in formulation.found.items() if value[0].workload != name} | mine
    before = formulation.evaluated[name]
    refused = before.refused_gpus if before is not None else {}
    every = Enumerated(rates.candidates, {}, refused)
    part = evaluated(
        case,
        every,
        selected(every, np.ones(len(rates.candidates), dtype=bool)),
        formulation.problem.search,
        formulation.rules,
        granted.memory_factor.get(name, 1.0),
    )
    return replace(
        formulation,
        evaluated={**formulation.evaluated, name: part},
        disaggregated={**formulation.disaggregated, name: None},
        found=found,
        question=replace(
            question,
            options=tuple(option for option, _ in found.values()),
            demands=tuple(
                _by_class(demand, classes) if demand.workload == name else demand
                for demand in question.demands
                if demand.workload != name or demand.role == "serve"
            ),
            couplings=tuple(item for item in question.couplings if item.workload != name),
        ),
    )


def _by_class(demand: PoolDemand, classes: LengthClasses) -> PoolDemand:
    whole = sum(demand.demand_rps, Fraction(0))
    return replace(demand, demand_rps=tuple(whole * share for share in classes.shares), buckets=classes.names)
