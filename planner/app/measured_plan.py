"""Plans from a table of measured worker rates: the same question and answer without predictions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from planner.app.document import inputs, solver_name
from planner.app.measured_pools import Solved, in_use, mean_utilization, pd_ratio, pools, routing
from planner.app.measured_reasons import latency_states, removed
from planner.app.run import Run
from planner.app.states import market_states
from planner.loaders.worker_table import read_workers
from planner.performance.measured import measured_cases
from planner.schema.catalog import Accelerator
from planner.schema.catalog_index import Catalog
from planner.schema.choice import Choice
from planner.schema.plan import Objective, Plan, Provenance
from planner.schema.problem import Problem
from planner.schema.workers import WorkerTable
from planner.solver.solve import solve

MEASURED_CONFIDENCE = 0.5
"""Measured tables are taken at their word."""


def plan_from_table(problem: Problem, folder: Path, catalog: Catalog, run: Run) -> Plan:
    """The optimal plan over a table of workers; every combination of serving modes is tried.

    Raises:
        InputError: everything wrong with the table, or names that do not match the problem.
    """
    with run.step("load", f"reading {problem.workers}"):
        table, sizes = read_table(problem, folder, catalog)
        cases = measured_cases(problem, table, sizes)
    with run.step("solve", "choosing and proving"):
        solved = [
            Solved(
                case,
                solve(case.problem, time_limit_s=run.time_limit_s, seed=run.seed, workers=run.workers),
            )
            for case in cases
        ]
    with run.step("explain", "explaining"):
        return documented(problem, catalog, run, solved)


def read_table(problem: Problem, folder: Path, catalog: Catalog) -> tuple[WorkerTable, dict[str, int]]:
    """The table of workers, and GPUs per server of the types that the catalog knows.

    Raises:
        InputError: everything wrong with the table.
    """
    assert problem.workers is not None
    table = read_workers(folder / Path(problem.workers).expanduser())
    return table, {name: entry.host.node_size for name, entry in _known(catalog).items()}


def _known(catalog: Catalog) -> dict[str, Accelerator]:
    """Accelerators by every name that a table may use."""
    names = catalog.names("accelerators")
    return {name: entry for name in names if (entry := catalog.accelerator(name)) is not None}


def _best(solved: Sequence[Solved]) -> Solved:
    """The case with the smallest value; of equal ones the first."""
    found = [item for item in solved if item.choice.value is not None]
    if not found:
        unknown = [item for item in solved if item.choice.status == "unknown"]
        return (unknown or list(solved))[0]
    return min(
        found, key=lambda item: (item.choice.value, item.choice.gpus and sum(item.choice.gpus.values()))
    )


def documented(problem: Problem, catalog: Catalog, run: Run, solved: Sequence[Solved]) -> Plan:
    """The plan of the best combination of serving modes."""
    best = _best(solved)
    choice, case = best.choice, best.case
    feasible = choice.value is not None
    used = in_use(best, problem) if feasible else ()
    documents = pools(problem, used)
    bound = _lower_bound(solved) if feasible else None
    status = choice.status
    if status == "optimal" and bound is not None and choice.value is not None and bound < choice.value:
        status = "feasible"
    cost = float(choice.cost_usd_per_h) if feasible else None
    return Plan(
        problem=problem.name,
        inputs=inputs(problem, catalog),
        status=status,
        objective=_objective(problem, choice, bound),
        cost_usd_per_hour=cost,
        cost_usd_per_million_output_tokens=None,
        cost_usd_per_million_tokens=None,
        mean_utilization=mean_utilization(documents),
        gpus=dict(sorted(choice.gpus.items())),
        pd_ratio=pd_ratio(used),
        pools=documents,
        routing=routing(used, documents),
        constraints=(*latency_states(problem, used), *market_states(choice, case.problem.limits))
        if feasible
        else (),
        removed=() if feasible else removed(solved, problem),
        warnings=case.warnings,
        provenance=Provenance(
            planner=run.version,
            seed=run.seed,
            solver=solver_name(),
            confidence=float(problem.confidence or MEASURED_CONFIDENCE),
            candidates=sum(len(item.case.problem.options) for item in solved),
            timing_s=run.timings(),
        ),
    )


def _lower_bound(solved: Sequence[Solved]) -> Fraction | None:
    """The smallest bound of all cases that may hold a plan."""
    bounds = []
    for item in solved:
        if item.choice.status == "unknown":
            return Fraction(0)
        if item.choice.lower_bound is not None:
            bounds.append(item.choice.lower_bound)
    return min(bounds, default=None)


def _objective(problem: Problem, choice: Choice, bound: Fraction | None) -> Objective:
    value = choice.value
    gap = float((value - bound) / value) if value and bound is not None else (0.0 if value == 0 else None)
    return Objective(
        name=problem.objective,
        value=float(value) if value is not None else None,
        lower_bound=float(bound) if bound is not None else None,
        gap=gap,
    )
