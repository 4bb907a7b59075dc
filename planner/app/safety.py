"""The stack of safety at its optima: the problem solved again without one layer after the other."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from planner import numbers
from planner.app.loaded_problem import LoadedProblem
from planner.candidates.space import WHOLE_SERVERS
from planner.errors import StoppedError, input_error
from planner.performance.evaluate import latency_limits_s
from planner.planning.documents.safety import MEDIAN
from planner.planning.formulation.shape import places_matter
from planner.planning.run import Run
from planner.planning.workload.resized import mean_limits_s
from planner.schema.plan import Plan
from planner.schema.safety import SafetyName, SafetyStep
from planner.schema.slo import Slo
from planner.schema.workload import Workload

Changes = dict[str, Any]
"""Values by path; None takes a key away."""
LAYERS = 5
"""Steps before the plan."""


def safety_optima(session: LoadedProblem, plan: Plan, run: Run) -> tuple[SafetyStep, ...]:
    """The cheapest fleet at every step, from the bare need to the plan.

    What keeps more layers keeps fewer: where a limit of time leaves a worse fleet than the next step has, or
    a limit on a mean is tighter than the percentile that it is read from, the next step's fleet stands.
    Steps that the time does not suffice for are left out.

    Args:
        session: the problem.
        plan: its plan.
        run: limits of all searches together.

    Raises:
        InputError: as for `refuse_without_layers`.
    """
    refuse_without_layers(session)
    best = plan
    steps = [_step("purchase", plan)]
    changed = session
    todo = list(_layers(session))
    try:
        for place, (name, changes) in enumerate(todo):
            looser = changed.changed(changes)
            if looser.stated != changed.stated:
                best = _better(looser.plan(run.part(len(todo) - place)), best)
            steps.append(_step(name, best))
            changed = looser
    except StoppedError:
        pass
    return tuple(reversed(steps))


def refuse_without_layers(session: LoadedProblem) -> None:
    """Say why a problem has no stack of safety.

    Raises:
        InputError: it has none.
    """
    session.refuse_throughput()
    problem, where = session.problem, session.where
    if problem.workers is not None:
        found = "a table of measured workers, whose rates hold for the limits that they were measured at"
        raise input_error(where, "workers", found, "a problem that is planned from predictions")
    if any(workload.demand.free for workload in problem.workloads):
        raise input_error(where, "workloads", "free demand, which has no bare need", "a demand")


def _layers(session: LoadedProblem) -> Iterator[tuple[SafetyName, Changes]]:
    """The layers that are taken away, the last one first; what a problem does not ask for is no change."""
    problem = session.problem
    alone: Changes = {}
    if not places_matter(problem):
        alone = {"fleet.purchase": "gpu", "search.rules_off": [*problem.search.rules_off, WHOLE_SERVERS]}
    yield "redundancy", alone
    fewer: Changes = {"fleet.redundancy": None, "fleet.min_replicas": None}
    room: Changes = {"fleet.headroom.capacity": "0 %", "fleet.max_utilization": None}
    means: Changes = {}
    for workload in problem.workloads:
        at = f"workloads.{workload.name}"
        fewer |= {f"{at}.redundancy": None, f"{at}.min_replicas": None}
        if workload.own_capacity_headroom is not None:
            room[f"{at}.headroom.capacity"] = None
        means[f"{at}.slo"] = _means(session, workload)
    yield "headroom", fewer
    yield "confidence", room
    yield "percentiles", {"confidence": numbers.share(MEDIAN)}
    yield "means", means


def _means(session: LoadedProblem, workload: Workload) -> dict[str, str]:
    """The limits of a workload, its own or its archetype's, read as limits on means."""
    archetype = session.catalog.archetype(workload.archetype) if workload.archetype else None
    slo = workload.slo if workload.slo != Slo() or archetype is None else archetype.slo
    limits_s = mean_limits_s(latency_limits_s(slo))
    return {name: f"{Decimal(repr(limit_s)):f} s" for name, limit_s in limits_s.items()}


def _better(found: Plan, above: Plan) -> Plan:
    """The plan of a step, or that of the next one where it is no worse."""
    if found.objective.value is None:
        return above if above.objective.value is not None else found
    if above.objective.value is None or found.objective.value <= above.objective.value:
        return found
    return above


def _step(name: SafetyName, plan: Plan) -> SafetyStep:
    """A plan as a step: all that it buys."""
    if plan.cost_usd_per_hour is None:
        return SafetyStep(step=name, gpus=None, cost_usd_per_hour=None)
    return SafetyStep(
        step=name,
        gpus=sum(plan.gpus.values()),
        cost_usd_per_hour=plan.cost_usd_per_hour,
        gap=plan.objective.gap,
        by_workload=plan.safety[-1].by_workload if plan.safety else {},
    )
