"""Options in use go back to those that depart from fewer preferences, where the plan still holds."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest

from planner.constraints.fleet_check import broken
from planner.planning.answering.preferred import with_preferred
from planner.schema.choice import Option, Spares
from planner.schema.fleet import FleetDemand, FleetProblem, Host, Line, Site
from planner.solver.solve import solve_fleet


def question(rps, small=10, spares=0):
    """Replicas of one GPU that carry 12, or ``small`` with the preferred share of memory."""
    options = (
        Option("chat: a large", "chat", "serve", "a", "a", 1, (Fraction(12),), slack=-1.0),
        Option("chat: a small", "chat", "serve", "a", "a", 1, (Fraction(small),)),
        Option("chat: a small wide", "chat", "serve", "a", "a", 2, (Fraction(25),)),
    )
    return FleetProblem(
        periods=1,
        options=options,
        hosts=(Host("a", "a"),),
        lines=(Line("a/on_demand", "a", "a", "on_demand", Fraction(2), 1, None, Site()),),
        demands=(FleetDemand("chat", "serve", ((Fraction(rps),),), spares=Spares("replicas", spares)),),
    )


@pytest.mark.parametrize(
    ("rps", "spares", "used"),
    [
        (12, 0, "large"),
        (11, 0, "large"),
        (10, 0, "small"),
        (5, 0, "small"),
        (10, 1, "small"),
        (11, 1, "large"),
    ],
)
def test_the_larger_share_stays_only_where_it_is_needed(rps, spares, used):
    asked = question(rps, spares=spares)
    found = solve_fleet(asked, goal="plan", time_limit_s=None, seed=0, workers=1)
    told = with_preferred(asked, found)
    assert {option for period in told.periods for option, _ in period.counts} == {f"chat: a {used}"}
    assert (told.value, told.cost_usd) == (found.value, found.cost_usd)
    assert broken(asked, told) == []


def test_nothing_changes_without_preferences_or_without_a_plan():
    asked = question(12)
    plain = dataclasses.replace(
        asked, options=tuple(dataclasses.replace(option, slack=0.0) for option in asked.options)
    )
    found = solve_fleet(plain, goal="plan", time_limit_s=None, seed=0, workers=1)
    assert with_preferred(plain, found) is found
    none = dataclasses.replace(found, status="infeasible", periods=(), value=None)
    assert with_preferred(asked, none) is none


@pytest.mark.parametrize(("rps", "large", "small"), [(34, 2, 1), (22, 1, 1), (18, 1, 1)])
def test_options_that_take_and_cost_the_same_are_not_mixed(rps, large, small):
    """Searches that settle no ties mix them."""
    asked = question(rps)
    plain = tuple(dataclasses.replace(option, slack=0.0) for option in asked.options)
    asked = dataclasses.replace(asked, options=plain)
    found = solve_fleet(asked, goal="plan", time_limit_s=None, seed=0, workers=1)
    period, total = found.periods[0], large + small
    site, share = next(iter(period.counts))[1], period.shares[0]
    counts = {"chat: a large": large, "chat: a small": small}
    mixed = dataclasses.replace(
        period,
        counts={(name, site): count for name, count in counts.items()},
        bought={"a/on_demand": total},
        shares=tuple(
            dataclasses.replace(share, option=name, share=Fraction(count, total))
            for name, count in counts.items()
        ),
    )
    told = with_preferred(asked, dataclasses.replace(found, periods=(mixed,)))
    assert broken(asked, told) == []
    assert len(told.periods[0].counts) == 1
    assert sum(told.periods[0].counts.values()) == total
