"""A day of six hours in which two layouts of one workload take turns, and both engines' plans of it."""

from __future__ import annotations

from fractions import Fraction

from planner.constraints.fleet_check import broken
from planner.constraints.fleet_check_market import broken_limits
from planner.constraints.plan.day_usage import day_usage
from planner.schema.choice import Option
from planner.schema.fleet import FleetDemand, FleetLimits, FleetProblem, Host, Line, PeriodChoice, Site
from planner.solver.cp.solve import solve_cp
from planner.solver.mip.solve import solve_mip

F = Fraction
EAST, WEST = Site("p", "east"), Site("q", "west")
HOURS = (2, 6, 6, 2, 6, 2)
"""Small replicas carry 2 for 1 USD, large ones 6 for 2.50 USD: 10.50 USD with both in turn, 12 with one."""


def day(*rows, hours=HOURS):
    """The question with limits on its day."""
    return FleetProblem(
        len(hours),
        (
            Option("small", "chat", "serve", "g", "g", 1, (F(2),)),
            Option("large", "chat", "serve", "h", "h", 1, (F(6),)),
        ),
        (Host("g", "g"), Host("h", "h")),
        (
            Line("g/on_demand", "g", "g", "on_demand", F(1), site=EAST),
            Line("h/on_demand", "h", "h", "on_demand", F(5, 2), site=WEST),
        ),
        (FleetDemand("chat", "serve", tuple((F(need),) for need in hours)),),
        FleetLimits(day=rows),
    )


def plan(layouts):
    """``sLL``: hour by hour a small replica, a large one, both (``b``) or none (``-``)."""
    sites = {"small": EAST, "large": WEST}
    names = {"s": ("small",), "L": ("large",), "b": ("small", "large"), "-": ()}
    return [PeriodChoice({(name, sites[name]): 3 for name in names[hour]}) for hour in layouts]


def used(question, layouts):
    """What a plan takes of the limits on its day, by id."""
    return day_usage(question, plan(layouts))


def faults(question, layouts):
    """What the check without a solver says."""
    periods = plan(layouts)
    found = broken_limits(question, periods, [F(0)] * len(periods), [{}] * len(periods))
    return list(found)


def best(question):
    """What the cheapest day costs, by both engines, which agree."""
    values = set()
    for solve in (solve_cp, solve_mip):
        choice = solve(question)
        assert choice.status == "optimal"
        assert broken(question, choice) == []
        values.add(choice.value)
    (value,) = values
    return value
