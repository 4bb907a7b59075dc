"""What the fleet would cost behind other routers."""

from __future__ import annotations

from planner.planning.answering.fleet_plan import answer_fleet
from planner.planning.formulation.study import Study
from planner.planning.run import Run
from planner.schema.plan import Plan
from planner.schema.problem import Problem
from planner.schema.routing import RouterCost, RoutingPolicy
from planner.schema.stated import RouterChoice

_ASKED: tuple[RoutingPolicy, ...] = ("random", "least-loaded", "shared-queue")
"""From the one that looks at nothing to the one that no router can beat."""


def other_routers(study: Study, problem: Problem, plan: Plan, run: Run) -> tuple[RouterCost, ...]:
    """The cheapest fleet behind every other router, each with its own optimum.

    Asked where requests may go anywhere: not with tables of workers, whose rates hold as they are, nor where
    sessions or prefix caches decide where a request goes.
    """
    sticky = any(one.demand.sessions is not None or one.prefix_cache is not None for one in problem.workloads)
    mine = {pool.routing.policy for pool in plan.pools if pool.routing is not None}
    usd_per_hour = plan.cost_usd_per_hour
    if (
        problem.workers is not None
        or sticky
        or not mine
        or plan.objective.name != "cost"
        or usd_per_hour is None
    ):
        return ()
    asked = [policy for policy in _ASKED if mine != {policy}]
    found = []
    for place, policy in enumerate(asked):
        answer = answer_fleet(study, _behind(problem, policy), run.part(len(asked) - place)).best.choice
        if answer.status == "unknown":
            continue
        cost = None if answer.value is None else float(answer.cost_usd) / len(answer.periods)
        saves = None if cost is None else usd_per_hour - cost
        found.append(
            RouterCost(
                policy=policy,
                cost_usd_per_hour=cost,
                saves_usd_per_hour=saves,
                proved=answer.status in ("optimal", "infeasible"),
            )
        )
    return tuple(found)


def _behind(problem: Problem, policy: RoutingPolicy) -> Problem:
    fleet = problem.fleet.model_copy(update={"routing": RouterChoice(policy=policy)})
    workloads = tuple(workload.model_copy(update={"routing": None}) for workload in problem.workloads)
    return problem.model_copy(update={"fleet": fleet, "workloads": workloads})
