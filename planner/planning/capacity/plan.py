"""The largest load that a given fleet carries within all limits, as a plan at that load."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from fractions import Fraction

from planner.candidates.demand import peak_and_mean_rps
from planner.errors import Fault, InputError, StoppedError, input_error, nearest
from planner.loaders.traces import named_trace
from planner.numbers import as_decimal
from planner.performance.traffic import arrival_scv_ratio
from planner.planning.answering.answer import Answered
from planner.planning.answering.fleet_plan import fleet_plan, told_plan
from planner.planning.capacity.largest import LEAST, Largest, largest
from planner.planning.capacity.probing import Found, Probing, at_load
from planner.planning.capacity.stops import stops
from planner.planning.capacity.what_is_there import of_what_is_there
from planner.planning.formulation.read_table import read_table
from planner.planning.formulation.study import Study
from planner.planning.run import Run
from planner.planning.told import told_in_any_case
from planner.schema.capacity import Capacity
from planner.schema.demand import Demand
from planner.schema.lengths import Lengths
from planner.schema.plan import Objective, Plan
from planner.schema.problem import Problem
from planner.schema.workload import Workload

TOLERANCE = Fraction(1, 10_000)
"""Relative, between the load that is carried and one that is proved to be too large."""
_STOPS_PART = 4
"""Of the time that is left after the search one over this goes to what stops the fleet."""


def capacity_plan(study: Study, problem: Problem, run: Run, names: Collection[str] = ()) -> Plan:
    """The plan at the largest load that a given fleet carries, proved within the tolerance.

    The stated demand is a mix: all workloads grow alike, or some and the others stay as they are. The load is
    found by asking for plans at other loads (`planner.planning.capacity.largest`), each as `planner plan`
    would be asked; the fleet at the largest load is then the one of least cost.

    Args:
        study: what is kept between questions.
        problem: with the demand as the mix.
        run: limits of the search.
        names: workloads whose demand is raised; none: all.

    Raises:
        InputError: nothing limits the fleet, an unknown workload, or no mix.
        StoppedError: the time ended before anything was known.
    """
    asked, aside = _asked(study, problem)
    growing = frozenset(names or (workload.name for workload in asked.workloads))
    _check_names(growing, asked, study.where)
    probing = Probing(study.for_many_loads, asked, growing, run)
    with run.step("capacity", "finding the largest load"):
        found = largest(probing, TOLERANCE)
    if found.endless:
        raise input_error(
            study.where, "fleet", "nothing that limits the load", "stock, owned, max_gpus or a budget"
        )
    plan = _told(study.for_many_loads, asked, growing, found, run)
    helping: Mapping[str, tuple[str, ...]] = {}
    factor = LEAST if found.fits is None else found.fits
    if found.answer is not None and found.breaks is not None and not run.over:
        with run.step("stops", "asking what stops it"):
            helping = stops(study.for_many_loads, asked, found.answer, factor, growing, run.part(_STOPS_PART))
    return _with_capacity(plan, asked, growing, found, helping, aside)


def _check_names(names: Collection[str], problem: Problem, where: str) -> None:
    known = [workload.name for workload in problem.workloads]
    faults = [
        Fault(where, "workloads", f'"{name}"', f"one of {', '.join(known)}", nearest(name, known))
        for name in sorted(names)
        if name not in known
    ]
    if faults:
        raise InputError(faults)


def _asked(study: Study, problem: Problem) -> tuple[Problem, tuple[str, ...]]:
    """The problem over what is there, its demand as rates; and what was left aside, in words."""
    table_gpus: Collection[str] = ()
    stock: Mapping[str, int] = {}
    rate_rps: Fraction | None = None
    if problem.workers is not None:
        table, _ = read_table(problem, study.folder, study.catalog)
        table_gpus, stock, rate_rps = {row.gpu for row in table.rows}, table.stock_gpus, table.rate_rps
    workloads = tuple(_rated(workload, problem, study, rate_rps) for workload in problem.workloads)
    rated = problem.model_copy(update={"workloads": workloads, "objective": "throughput"})
    find = study.catalog.accelerator if problem.workers is None else lambda _: None
    return of_what_is_there(rated, find, table_gpus, stock, study.where)


def _rated(workload: Workload, problem: Problem, study: Study, table_rps: Fraction | None) -> Workload:
    """The workload with a demand that can be multiplied."""
    demand = workload.demand
    if demand.free:
        if len(problem.workloads) > 1:
            raise input_error(
                study.where,
                f"workloads.{workload.name}.demand",
                "free demand beside other workloads",
                "rates: they are the mix that is raised",
                "peak_rps: 1",
            )
        stated = Demand(peak_rps=Decimal(1), burstiness=demand.burstiness)
        return workload.model_copy(update={"demand": stated})
    if table_rps is not None:
        return workload.model_copy(update={"demand": Demand(peak_rps=as_decimal(table_rps))})
    if demand.trace is None:
        return workload
    return _of_trace(workload, study)


def _of_trace(workload: Workload, study: Study) -> Workload:
    """The rates of a trace beside the lengths of its requests."""
    demand = workload.demand
    assert demand.trace is not None
    trace = named_trace(demand.trace, study.folder)
    peak, mean = peak_and_mean_rps(demand, trace)
    stated = Demand(
        peak_rps=as_decimal(peak),
        mean_rps=min(as_decimal(mean), as_decimal(peak)),
        burstiness=Decimal(repr(round(arrival_scv_ratio(workload, trace), 6))),
    )
    update: dict[str, object] = {"demand": stated}
    if workload.lengths is None and workload.archetype is None:
        update["lengths"] = Lengths(trace=demand.trace)
    return workload.model_copy(update=update)


def _told(study: Study, problem: Problem, names: Collection[str], found: Largest[Found], run: Run) -> Plan:
    """The cheapest plan at the largest load; where time ends that search, the one that was found there."""
    at = LEAST if found.fits is None else found.fits
    scaled = at_load(problem, at, names)
    if found.answer is None:
        return fleet_plan(study, scaled, run)
    try:
        plan = fleet_plan(study, scaled, run.part(2))
        if plan.pools or plan.api:
            return plan
    except StoppedError:
        pass
    answer = found.answer.answer
    known = Answered(scaled, found.answer.today, [answer], answer)
    return told_in_any_case(run, lambda: told_plan(study, known, run))


def _with_capacity(
    plan: Plan,
    problem: Problem,
    names: Collection[str],
    found: Largest[Found],
    helping: Mapping[str, tuple[str, ...]],
    aside: tuple[str, ...],
) -> Plan:
    """The plan with what it carries, how far that is proved, and what stops it."""
    if found.fits is None or found.answer is None:
        rps = {workload.name: 0.0 for workload in problem.workloads if workload.name in names}
        stopped: dict[str, str | None] = dict.fromkeys(rps)
        nothing = Capacity(rps=rps, stopped_by=stopped, tolerance=float(TOLERANCE))
        return plan.model_copy(update={"capacity": nothing, "warnings": (*aside, *plan.warnings)})
    exact = found.answer.answer.case.peaks_rps
    proved = found.proved(TOLERANCE)
    value = float(sum(exact.values(), Fraction(0)))
    up = Fraction(0) if found.breaks is None else found.breaks / found.fits
    breaks = {name: float(rate * up) for name, rate in exact.items() if name in names} if up else {}
    capacity = Capacity(
        rps={name: float(rate) for name, rate in exact.items()},
        stopped_by={name: next(iter(helping.get(name, ())), None) for name in sorted(names)},
        helps=dict(helping),
        of_demand=float(found.fits),
        breaks_rps=breaks,
        tolerance=float(TOLERANCE),
    )
    gap = 0.0 if proved else float(1 - 1 / up) if up else None
    objective = Objective(name="throughput", value=value, lower_bound=value, gap=gap)
    update: dict[str, object] = {
        "capacity": capacity,
        "objective": objective,
        "status": "optimal" if proved else "feasible",
        "warnings": (*aside, *plan.warnings),
    }
    return plan.model_copy(update=update)
