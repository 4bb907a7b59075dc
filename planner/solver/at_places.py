"""Questions with workloads held to places, and what plans there cost at least."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.limit_rows import DayRow
from planner.schema.supply_lines import Site

Solve = Callable[[FleetProblem], FleetChoice]


def place_rows(problem: FleetProblem) -> tuple[DayRow, ...]:
    """The limits that let workloads stand at one place only."""
    rows = problem.limits.day
    return tuple(
        row for row in rows if row.counts == "places" and row.each and row.most == 1 and row.workload
    )


def places(row: DayRow) -> Mapping[str, frozenset[Site]]:
    """Sites by place."""
    names = sorted({name for _, name in row.sites})
    return {name: frozenset(site for site, place in row.sites if place == name) for name in names}


def without(problem: FleetProblem, rows: tuple[DayRow, ...]) -> FleetProblem:
    """The question without these limits."""
    day = tuple(row for row in problem.limits.day if row not in rows)
    return replace(problem, limits=replace(problem.limits, day=day))


def places_reached(problem: FleetProblem, row: DayRow) -> set[str]:
    """Places at which the row's workload has an option."""
    options = (option for option in problem.options if option.workload == row.workload)
    reached = {site for option in options for site in problem.sites_of(option)}
    return {place for site, place in row.sites if site in reached}


def only_at(question: FleetProblem, row: DayRow, sites: frozenset[Site]) -> FleetProblem:
    """The question with a workload at these sites, and at those that count as no place."""
    counted = {site for site, _ in row.sites} - sites
    every = {line.site for line in question.lines}
    demands = tuple(
        replace(
            demand,
            sites=tuple(sorted((every if demand.sites is None else set(demand.sites)) - counted)),
        )
        if demand.workload == row.workload
        else demand
        for demand in question.demands
    )
    placed = replace(question, demands=demands)
    kept = tuple(o for o in question.options if o.workload != row.workload or placed.sites_of(o))
    return replace(placed, options=kept)


def alone(question: FleetProblem, workload: str) -> FleetProblem:
    """The question of one workload; no plan of all costs less than its best one."""
    limits = question.limits
    return replace(
        question,
        options=tuple(option for option in question.options if option.workload == workload),
        demands=tuple(demand for demand in question.demands if demand.workload == workload),
        couplings=tuple(coupling for coupling in question.couplings if coupling.workload == workload),
        apis=tuple(api for api in question.apis if api.workload == workload),
        limits=replace(limits, day=tuple(row for row in limits.day if row.of(workload))),
    )


def hour_by_hour(question: FleetProblem) -> FleetProblem:
    """The question without what couples its hours: starts, terms of a day, and limits over the day."""
    options = tuple(replace(option, start_h=Fraction(0), drain_h=Fraction(0)) for option in question.options)
    lines = tuple(
        replace(line, term="on_demand") if line.term == "reserved" else line for line in question.lines
    )
    demands = tuple(replace(demand, mix=True) for demand in question.demands)
    rows = tuple(row for row in question.limits.rows if row.every_period)
    limits = replace(question.limits, rows=rows, day=(), must_use=())
    return replace(question, options=options, lines=lines, demands=demands, starts=(), limits=limits)


def least(question: FleetProblem, value: Solve) -> Fraction | None:
    """No plan of the day costs less; None: there is none.

    Args:
        question: of several hours.
        value: says what the best plan costs, or least costs.
    """
    if not question.options and not question.apis:
        return None
    found = value(hour_by_hour(question))
    if found.status == "infeasible":
        return None
    return (found.value if found.status == "optimal" else found.lower_bound) or Fraction(0)


def near(question: FleetProblem, choice: FleetChoice, most: Fraction) -> tuple[FleetProblem, bool]:
    """The question at the places of a choice; of one workload also at those where it may cost no more.

    Returns:
        It, and whether every plan that costs no more than ``most`` is among its plans.
    """
    rows, complete = place_rows(question) if choice.least_by_place else (), True
    for row in rows:
        kept = set[Site]()
        for name, sites in places(row).items():
            bound = choice.least_by_place.get((row.workload, name))
            used, low = _stands(question, choice, row.workload, sites), bound is not None and bound <= most
            kept |= sites if used or (low and len(rows) == 1) else set()
            complete = complete and (used or not low or len(rows) == 1)
        question = only_at(question, row, frozenset(kept))
    return question, complete


def _stands(question: FleetProblem, choice: FleetChoice, workload: str, sites: frozenset[Site]) -> bool:
    """It has replicas there."""
    mine = {option.id for option in question.options if option.workload == workload}
    used = (at for period in choice.periods for at, count in period.counts.items() if count)
    return any(name in mine and site in sites for name, site in used)
