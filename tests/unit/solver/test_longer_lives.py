"""Layouts that live longer, hour by hour; and hours in which a layout has to stay."""

from dataclasses import replace
from fractions import Fraction

from day_toy import day

from planner.constraints.plan.day_usage import DayUsage
from planner.constraints.plan.min_layout_hours import MinLayoutHours
from planner.solver.mip.hours.fewer_pools import FewerPools
from planner.solver.mip.hours.hour_replicas import at_places
from planner.solver.mip.hours.longer_lives import with_longer_lives
from planner.solver.rebuy import with_replicas
from planner.solver.solve import solve_fleet

ROW = MinLayoutHours().row(3)


def lengthened(problem, best):
    """The plan whose layouts live three hours; None where it is not found."""
    days = FewerPools(problem, best, (), 0)
    longer = with_longer_lives(days._replicas, days.days, 3, lambda: False)
    return None if longer is None else with_replicas(problem, days._counts(longer))


def limited(problem):
    return replace(problem, limits=replace(problem.limits, day=(*problem.limits.day, ROW)))


def test_the_cheapest_of_leaving_out_and_keeping_is_taken():
    """Small ones in all hours, or large ones for three hours and two more: 12 USD, and nothing is cheaper."""
    best = solve_fleet(day())
    found = lengthened(day(), best)
    assert (best.value, found.value) == (Fraction(21, 2), solve_fleet(limited(day())).value)
    assert not DayUsage(day(), found.periods).breaks(ROW)


def test_layouts_that_live_long_enough_stay():
    known = solve_fleet(limited(day()))
    assert lengthened(day(), known).value == known.value


def test_a_layout_stays_that_has_to():
    """A small one would do in the first hour."""
    days = FewerPools(day(), solve_fleet(day()), (), 0)
    (large,) = (at for (_, at), name in days._name.items() if name[1] == "large")
    allowed = {0: frozenset(at for _, at in days._name)}
    free, held = (days._replicas.hour(0, allowed, kept)[0] for kept in ((), [(0, frozenset([large]))]))
    assert large not in at_places(free)
    assert at_places(held) == {large: 1}


def test_nothing_is_begun_when_time_is_over():
    days = FewerPools(day(), solve_fleet(day()), (), 0)
    assert with_longer_lives(days._replicas, days.days, 3, lambda: True) is None
