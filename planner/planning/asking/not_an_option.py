"""Why something cannot serve: a GPU type without options, a refused configuration, rows of a table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.constraints.registry import verdicts
from planner.explain.why_not import found_in_words, why_not_gpu
from planner.planning.formulation.fleet_case import FleetCase
from planner.planning.formulation.study import Formulation, Study
from planner.planning.workload.case import Evaluated
from planner.schema.candidates import Verdict


def no_option(study: Study, case: FleetCase, gpu: str) -> Iterator[str]:
    """Why no configuration of a GPU type is an option, a sentence for each workload."""
    formulation = case.formulation
    if formulation is None:
        yield "No row of the table on it serves anything within the limits."
        return
    if gpu in formulation.aside:
        yield f"{gpu}: {formulation.aside[gpu]}, so it was not considered."
        return
    if not any(lot.name == gpu for lot in formulation.lots):
        yield "It is not among the accelerators of the problem, or nobody sells it."
        return
    for name, workload in formulation.cases.items():
        part = study.everything(workload, formulation.problem, formulation.lots)
        line = (
            None
            if part is None
            else why_not_gpu(part.evaluation, _judged(part, formulation), formulation.lots, gpu)
        )
        yield f"{name}: {line or 'no layout of this model has a place on it'}."


def refused(study: Study, case: FleetCase, candidate: str) -> Iterator[str]:
    """The constraints that an evaluated configuration breaks, by its name."""
    formulation = case.formulation
    for name, workload in ({} if formulation is None else formulation.cases).items():
        assert formulation is not None
        part = study.everything(workload, formulation.problem, formulation.lots)
        if part is None or candidate not in part.evaluation.candidates.names:
            continue
        index = part.evaluation.candidates.names.index(candidate)
        broken = [verdict for verdict in _judged(part, formulation) if verdict.violated[index]]
        yield from (f"{verdict.id}: {found_in_words(verdict, index)}." for verdict in broken)
        if not broken:
            batch = int(np.max(part.evaluation.capacities.max_batch[index]))
            yield f"{name}: it keeps every limit with a batch of {batch}; another option takes the same room."


def _judged(part: Evaluated, formulation: Formulation) -> tuple[Verdict, ...]:
    return verdicts(part.evaluation, formulation.rules)


def no_rows_left(case: FleetCase, candidate: str) -> tuple[str, ...]:
    """The limits that the rows of a GPU type or an option break, where none of its rows is left."""
    mine = [o for o in case.question.options if candidate in (o.gpu, o.id, o.label)]
    return () if any(any(option.rates_rps) for option in mine) else broken_rows(case, candidate)


def broken_rows(case: FleetCase, candidate: str) -> tuple[str, ...]:
    """The limits that rows of a GPU type or an option break; empty where there is no table."""
    excluded = () if case.measured is None else case.measured.excluded
    rows = [(row, ids) for row, ids in excluded if candidate in (row.gpu, row.option)]
    return tuple(
        f"{row.option} ({row.where.rpartition('/')[2]}) breaks {', '.join(ids)}." for row, ids in rows
    )
