"""Plans from a table of measured worker rates: the same question and answer without predictions."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from planner.app.choosing import choose, told_in_any_case
from planner.app.document import best_value, inputs, solver_name
from planner.app.measured_pools import Solved, in_use, mean_utilization, pd_ratio, pools, routing
from planner.app.measured_reasons import removed, table_states
from planner.app.mode_choice import mode_choices
from planner.app.run import Run
from planner.app.size import refuse_too_large
from planner.app.states import market_states
from planner.explain.prefill_decode import prefill_decode_steps
from planner.loaders.named_files import place
from planner.loaders.worker_table import read_worker_files
from planner.performance.measured import measured_case
from planner.schema.catalog import Accelerator
from planner.schema.catalog_index import Catalog
from planner.schema.choice import Choice
from planner.schema.plan import Objective, Plan, Provenance
from planner.schema.problem import Problem
from planner.schema.workers import WorkerTable

MEASURED_CONFIDENCE = 0.5
"""Measured tables are taken at their word."""


def plan_from_table(
    problem: Problem, folder: Path, catalog: Catalog, run: Run, where: str = "problem"
) -> Plan:
    """The optimal plan over a table of workers; ``where`` names the problem in messages.

    Raises:
        InputError: everything wrong with the table, names that do not match the problem, or a demand that
            is too large.
    """
    with run.step("load", f"reading {', '.join(problem.worker_files)}"):
        table, sizes = read_table(problem, folder, catalog)
        case = measured_case(problem, table, sizes)
    refuse_too_large(case.problem, where)
    with run.step("solve", "choosing and proving"):
        choice = choose(case.problem, run)
    with run.step("explain", "explaining"):
        return told_in_any_case(run, lambda: documented(problem, folder, catalog, run, Solved(case, choice)))


def read_table(problem: Problem, folder: Path, catalog: Catalog) -> tuple[WorkerTable, dict[str, int]]:
    """The table of workers, and GPUs per server of the types that the catalog knows.

    Raises:
        InputError: everything wrong with the table.
    """
    table = read_worker_files([place(folder, name) for name in problem.worker_files])
    return table, {name: entry.host.node_size for name, entry in _known(catalog).items()}


def _known(catalog: Catalog) -> dict[str, Accelerator]:
    """Accelerators by every name that a table may use."""
    names = catalog.names("accelerators")
    return {name: entry for name in names if (entry := catalog.accelerator(name)) is not None}


def documented(problem: Problem, folder: Path, catalog: Catalog, run: Run, solved: Solved) -> Plan:
    """The plan document of a choice, or the honest no."""
    choice, case = solved.choice, solved.case
    feasible = choice.value is not None
    used = in_use(solved, problem) if feasible else ()
    documents = pools(problem, used)
    cost = float(choice.cost_usd_per_h) if feasible else None
    return Plan(
        problem=problem.name,
        inputs=inputs(problem, catalog, folder),
        status=choice.status,
        objective=_objective(problem, choice),
        cost_usd_per_hour=cost,
        cost_usd_per_million_output_tokens=None,
        cost_usd_per_million_tokens=None,
        mean_utilization=mean_utilization(documents),
        gpus=dict(sorted(choice.gpus.items())),
        pd_ratio=pd_ratio(used),
        pd_steps=prefill_decode_steps(case.problem, choice) if feasible else (),
        mode_choice=mode_choices(case.problem, choice, partial(best_value, run)) if feasible else (),
        pools=documents,
        routing=routing(used, documents),
        constraints=(*table_states(problem, [used]), *market_states(choice, case.problem.limits))
        if feasible
        else (),
        removed=() if feasible else removed(case, choice.in_the_way, problem),
        warnings=case.warnings,
        provenance=Provenance(
            planner=run.version,
            seed=run.seed,
            solver=solver_name(),
            confidence=float(problem.confidence or MEASURED_CONFIDENCE),
            candidates=len(case.problem.options),
            interrupted=run.interrupted,
            timing_s=run.timings(),
        ),
    )


def _objective(problem: Problem, choice: Choice) -> Objective:
    value, bound, gap = choice.value, choice.lower_bound, choice.gap
    return Objective(
        name=problem.objective,
        value=float(value) if value is not None else None,
        lower_bound=float(bound) if bound is not None else None,
        gap=float(gap) if gap is not None else None,
    )
