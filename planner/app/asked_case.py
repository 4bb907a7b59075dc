"""The question behind a plan, formulated again as the plan settled it."""

from __future__ import annotations

from planner.app.loaded_problem import LoadedProblem
from planner.planning.answering.fleet_plan import answer_fleet, formulated_settings
from planner.planning.formulation.fleet_case import FleetCase
from planner.planning.formulation.tiers import Setting
from planner.planning.run import Run
from planner.schema.plan import Plan


def asked_case(session: LoadedProblem, plan: Plan, run: Run) -> FleetCase:
    """The question under the setting of its tiers and engines that the plan took.

    Where length classes mix, rates depend on the pools: then it is answered again.

    Args:
        session: the problem of the plan.
        plan: the plan.
        run: whom to tell about progress, and how long to search at most.

    Raises:
        InputError: everything wrong with the problem that only its catalog and files show.
        StoppedError: no time is left for a search that is needed.
    """
    with run.step("evaluate", "evaluating configurations"):
        _, formulation = formulated_settings(session.study, session.problem)
        taken = [case for setting, case in formulation if _is_taken(plan, setting)]
    if len(taken) == 1 and not taken[0].classes:
        return taken[0]
    return answer_fleet(session.study, session.problem, run.part(2)).best.case


def _is_taken(plan: Plan, setting: Setting) -> bool:
    named = {tier.name: tier.setting for tier in plan.tiers}
    engines = next((tried.engines for tried in plan.engines if tried.taken), {})
    return engines == dict(setting.engines) and all(
        named.get(item.tier.name) == item.name for item in setting.tiers
    )
