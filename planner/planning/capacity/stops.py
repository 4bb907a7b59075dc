"""What keeps a fleet from carrying more: the limits of which each alone, taken away, would let it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

from planner.constraints.plan.registry import BY_KIND
from planner.errors import StoppedError
from planner.explain.oracle import Oracle
from planner.planning.answering.answer import Answered, FleetAnswer
from planner.planning.asking.asker import FleetAsker
from planner.planning.asking.limits import given_name
from planner.planning.asking.oracle import asker_of_fleet
from planner.planning.capacity.probing import Found, at_load
from planner.planning.formulation.study import Study
from planner.planning.run import Run
from planner.schema.fleet import FleetChoice
from planner.schema.problem import Problem
from planner.schema.reasons import NamedLimit

MORE = Fraction(102, 100)
"""A limit counts where without it the fleet carries so much more."""
_KINDS = ("latency", "memory")
"""What keeps a replica from carrying more comes before what keeps more replicas away."""
_MOST_ASKS = 40


def stops(
    study: Study,
    problem: Problem,
    found: Found,
    factor: Fraction,
    names: Collection[str],
    run: Run,
) -> Mapping[str, tuple[str, ...]]:
    """By workload, the ids of limits on it or on the fleet that stop it, each alone; its own limits first.

    Args:
        study: formulates the problems.
        problem: with the demand at factor 1.
        found: the plan at the largest load; it tells the setting of tiers.
        factor: of the largest load.
        names: workloads whose demand was raised.
        run: the time for all questions; what it does not suffice for is left out.
    """
    more = at_load(problem, factor * MORE, names)
    try:
        asker = _asker(study, more, found, run)
        helping = list(_helping(asker, _promising(asker.limits, names)))
    except StoppedError:
        helping = []
    owners = {name: _owned_by(name, names) for name in helping}
    return {name: tuple(limit for limit in helping if owners[limit] in ("", name)) for name in sorted(names)}


def _asker(study: Study, problem: Problem, found: Found, run: Run) -> FleetAsker:
    """Asks about a load that is too large, under the setting of the plan."""
    from planner.planning.answering.fleet_plan import formulated_settings

    today, cases = formulated_settings(study, problem)
    taken = [item.name for item in found.answer.setting.tiers]
    setting, case = next(
        (setting, case)
        for setting, case in cases
        if [item.name for item in setting.tiers] == taken and setting.engines == found.answer.setting.engines
    )
    best = FleetAnswer(setting, case, FleetChoice("infeasible"))
    return asker_of_fleet(study, Answered(problem, today, [best], best), run)


def _promising(limits: Sequence[NamedLimit], names: Collection[str]) -> list[NamedLimit]:
    """What may stop a workload, in the order in which it is told."""
    own = [limit for kind in _KINDS for limit in limits if limit.kind == kind and _owned_by(limit.id, names)]
    plan = [limit for limit in limits if limit.kind in BY_KIND]
    return [*own, *plan][:_MOST_ASKS]


def _helping(asker: FleetAsker, limits: Sequence[NamedLimit]) -> list[str]:
    oracle = Oracle.of(asker)
    return [given_name(limit) for limit in limits if oracle.feasible({limit.id: None})]


def _owned_by(limit: str, names: Collection[str]) -> str:
    """The workload that a limit is of; empty: the whole fleet."""
    owner = limit.partition(":")[2]
    return owner if owner in names else ""
