"""Fleets of several places, first as if prefill and decode could work together wherever they stand.

No plan at the places is better than the best one without them. Where that one serves everything with whole
replicas, or has prefill and decode at one place anyway, it is the answer, and the exact engine finds it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from planner.constraints.fleet_check import broken
from planner.schema.choice import Option
from planner.schema.fleet import FleetChoice, FleetProblem, PeriodChoice, Placement, Site
from planner.solver.blocking_limits import gap
from planner.solver.cp.solve import solve_cp

Names = dict[str, str]
"""New ids of options by their old ones."""


def anywhere(problem: FleetProblem) -> FleetProblem:
    """The question without places, and without what pairs of one place owe each other.

    Options that only their place tells apart stay apart: spares may be counted by option.
    """
    placed = {option.workload for option in problem.options if option.place}
    return replace(
        problem,
        options=tuple(option.but(place="") for option in problem.options),
        couplings=tuple(one for one in problem.couplings if one.workload not in placed),
        places={},
        # One layout has a name at every place, and would count as several.
        limits=replace(problem.limits, day=()),
    )


def solve_anywhere(problem: FleetProblem, **asked: Any) -> FleetChoice:
    """The answer of the exact engine without places where it holds with them too, else its bound.

    Args:
        problem: what is asked.
        asked: as `solve_cp` takes it.
    """
    loose = anywhere(problem)
    found = solve_cp(loose, **asked)
    if not found.periods:
        return found
    placed = _at_places(problem, found)
    if not broken(problem, placed):
        return placed
    bound = FleetChoice(
        "unknown", lower_bound=found.lower_bound, engine=found.engine, interrupted=found.interrupted
    )
    if found.interrupted or not problem.couplings:
        return bound
    # Pairs that fit wherever they stand are often as cheap.
    coupled = replace(loose, couplings=problem.couplings)
    fitting = _at_places(problem, solve_cp(coupled, **asked))
    if not fitting.periods or broken(problem, fitting):
        return bound
    if fitting.value != bound.lower_bound:
        bound = _better(bound, _by_place(problem, coupled, asked))
        if bound.value is not None and bound.value < (fitting.value or 0):
            return bound
    proved = fitting.value == bound.lower_bound
    return replace(
        fitting,
        status="optimal" if proved else "feasible",
        lower_bound=bound.lower_bound,
        gap=gap(fitting.value or Fraction(0), bound.lower_bound),
    )


def _by_place(problem: FleetProblem, coupled: FleetProblem, asked: Mapping[str, Any]) -> FleetChoice:
    """The best plan whose pairs fit at each place, where that is one; else what it proves."""
    stands = _stands(problem)
    if not stands or asked.get("goal") == "any":
        return FleetChoice("unknown")
    found = solve_cp(coupled, places=stands, **{**asked, "goal": "value"})
    if found.periods and not broken(problem, found):
        return found
    return FleetChoice("unknown", lower_bound=found.lower_bound, interrupted=found.interrupted)


def _stands(problem: FleetProblem) -> Mapping[str, str]:
    """The place of every prefill and decode option; none where a host stands at several."""
    coupled = {coupling.workload for coupling in problem.couplings}
    split = [o for o in problem.options if o.role != "serve" and o.workload in coupled]
    hosts = {(option.supply, option.place) for option in split}
    if len(hosts) > len({supply for supply, _ in hosts}) or not all(option.place for option in split):
        return {}
    return {option.id: option.place for option in split}


def _better(known: FleetChoice, found: FleetChoice) -> FleetChoice:
    """The plan with the higher of both bounds."""
    bounds = [one.lower_bound for one in (known, found) if one.lower_bound is not None]
    interrupted = known.interrupted or found.interrupted
    return replace(found, lower_bound=max(bounds, default=None), interrupted=interrupted)


def _freed(option: Option) -> Option:
    return option.but(id=option.anywhere, place="")


def _at_places(problem: FleetProblem, found: FleetChoice) -> FleetChoice:
    """The plan with every workload's options named for the one place at which all of them stand, if any."""
    options = {option.id: option for option in problem.options}
    wanted = {options[name].anywhere for period in found.periods for name, _ in period.counts}
    twins = {
        (_freed(option), option.place): option.id
        for option in problem.options
        if option.place and option.anywhere in wanted
    }

    def named(used: Sequence[tuple[Option, Site]]) -> Names:
        """The names that all of these have at one place; none where there is no such place."""
        for place, sites in sorted(problem.places.items()):
            new = {
                option.id: twins.get((_freed(option), place), "") for option, site in used if site in sites
            }
            if all(new.get(option.id) and site in sites for option, site in used):
                return new
        return {}

    periods = []
    for period in found.periods:
        used = [(options[name], site) for name, site in period.counts if options[name].place]
        names: Names = {}
        for workload in sorted({option.workload for option, _ in used}):
            names |= named([one for one in used if one[0].workload == workload])
        periods.append(_renamed(period, names))
    return replace(found, periods=tuple(periods))


def _renamed(period: PeriodChoice, names: Names) -> PeriodChoice:
    counts: dict[Placement, int] = {
        (names.get(name, name), site): count for (name, site), count in period.counts.items()
    }
    return replace(
        period,
        counts=dict(sorted(counts.items())),
        shares=tuple(replace(share, option=names.get(share.option, share.option)) for share in period.shares),
        loss_shares=tuple(
            replace(
                loss,
                lost=tuple(sorted((names.get(name, name), count) for name, count in loss.lost)),
                shares=tuple(replace(s, option=names.get(s.option, s.option)) for s in loss.shares),
            )
            for loss in period.loss_shares
        ),
    )
