"""Days with limits on their layouts: few are chosen together, and the plan made of them keeps every limit."""

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from day_toy import day
from fleet_random import small_fleet
from test_day_programs import longer
from test_day_search import company

from planner.constraints.fleet_check import broken
from planner.constraints.packing import rooms_are_exact
from planner.constraints.plan.fixed_layouts import FixedLayouts
from planner.constraints.plan.max_changes_per_day import MaxChangesPerDay
from planner.constraints.plan.max_layouts import MaxLayouts
from planner.constraints.plan.min_layout_hours import MinLayoutHours
from planner.constraints.plan.places import Places, counted
from planner.schema.choice import Coupling, Option
from planner.schema.fleet import FleetDemand, FleetLimits, FleetProblem, Host, Line, Site
from planner.solver.mip.finish import finish
from planner.solver.mip.given_replicas import bought_for
from planner.solver.mip.hours.by_hours import by_hours
from planner.solver.mip.hours.few_layouts import most_used
from planner.solver.mip.hours.fewer_pools import FewerPools
from planner.solver.mip.hours.limited_days import FewLayoutDays, limits_layouts
from planner.solver.mip.prepared import prepare
from planner.solver.mip.run import Run
from planner.solver.mip.solve import solve_mip
from planner.solver.mip.state import State
from planner.solver.rebuy import with_replicas
from planner.solver.simple_counts import counts_of
from planner.solver.solve import solve_fleet

F = Fraction
INF = float("inf")
AT = Site("p", "r")
ONE, TWO = MaxLayouts().row(1), MaxLayouts().row(2)
LIVES = MinLayoutHours().row(3)


def planned(problem, most_usd=INF, layouts=2, near=None):
    return FewLayoutDays(problem, near, 0).of(layouts, (), most_usd, lambda: False)


def with_rows(problem, *rows):
    return replace(problem, limits=replace(problem.limits, day=rows))


def test_two_layouts_take_turns_and_one_alone_costs_more():
    assert planned(day(TWO)).value == F(21, 2)
    assert planned(day(ONE)).value == 12


def test_layouts_live_as_long_as_they_must():
    """The large layout serves hours 2, 3 and 5: it stays for hour 4, or one layout serves all day."""
    found = planned(day(TWO, LIVES))
    assert broken(day(TWO, LIVES), found) == []
    assert found.value == solve_fleet(day(TWO, LIVES)).value


def test_a_day_that_may_not_change_has_one_layout():
    """Both of two layouts all day would cost more than one that serves alone."""
    for row in (MaxChangesPerDay().row(0, each=False), FixedLayouts().row(0, each=False, switch=True)):
        found = planned(day(row))
        assert broken(day(row), found) == []
        assert found.value == solve_fleet(day(row)).value


def test_no_plan_is_made_where_hours_alone_cost_more():
    assert planned(day(TWO), 10.0) is None
    assert planned(day(TWO), 10.5).value == F(21, 2)


def test_with_fewer_layouts_a_day_costs_more():
    assert planned(day(), 10.5, 1) is None
    assert planned(day(), 10.5, 2).value == F(21, 2)
    assert planned(day(), 12.0, 1).value == 12


def test_layouts_of_a_plan_are_begun_with():
    """Of the plan's layouts those with most GPU-hours: prefill and decode of one place count as one."""
    problem = served_by_turns()
    hours = [{("prefill", AT): 1, ("decode", AT): 1}] * 5 + [{("whole", AT): 8}] * 3
    plan = with_replicas(problem, hours)
    roles = [{role for _, role, _ in most_used(problem, plan, most)} for most in (1, 2)]
    assert roles == [{"serve"}, {"serve", "prefill", "decode"}]
    assert planned(with_rows(problem, TWO), near=plan).value == 4 * 1 + 4 * 3


def never():
    return False


def test_a_day_of_few_places_is_one_program():
    """Lives of three hours, one workload after the other: together they cost no more."""
    problem = company(day=(TWO, LIVES))
    loose = planned(with_rows(problem, TWO))
    usd = []
    for together in (False, True):
        days = FewerPools(problem, loose, [LIVES], 0)
        went = days.together(3, never) if together else days.lengthen(3, INF, never)
        found = bought_for(problem, days.counts)
        assert went
        assert broken(with_rows(problem, LIVES), found) == []
        usd.append(found.value)
    assert usd[1] <= usd[0] * F(101, 100)


def test_other_limits_are_left_to_others():
    sites = counted(day().lines)
    assert limits_layouts((ONE, LIVES, MaxChangesPerDay().row(2, each=False)))
    assert not limits_layouts((ONE, Places().row(1, "chat", sites=sites)))
    assert planned(day(Places().row(1, "chat", sites=sites))) is None


def served_by_turns():
    """Whole replicas are cheaper for 1 request/s, prefill with decode for 8; each takes one layout or two."""
    hours = (1, 1, 1, 8, 8, 8, 8, 1)
    options = [
        Option("whole", "chat", "serve", "g", "g", 1, (F(1),)),
        Option("prefill", "chat", "prefill", "g", "g", 1, (F(8),), kv="x"),
        Option("decode", "chat", "decode", "g", "g", 2, (F(8),), kv="x"),
        Option("other", "chat", "decode", "g", "g", 1, (F(8),), kv="y"),
    ]
    return FleetProblem(
        len(hours),
        tuple(options),
        (Host("g", "g"),),
        (Line("g/on_demand", "g", "g", "on_demand", F(1), site=Site("p", "r")),),
        tuple(
            FleetDemand("chat", role, tuple((F(need),) for need in hours))
            for role in ("serve", "prefill", "decode")
        ),
        FleetLimits(),
        (Coupling("chat", F(1)),),
    )


def test_a_day_may_turn_from_whole_replicas_to_prefill_and_decode():
    """4 hours of 1 GPU and 4 of 3, where one layout alone takes 3 in every hour."""
    problem = served_by_turns()
    assert planned(with_rows(problem, TWO, LIVES)).value == 4 * 1 + 4 * 3
    assert planned(with_rows(problem, ONE, LIVES)).value == 8 * 3
    used = {name for hour in planned(with_rows(problem, TWO)).periods for name, _ in hour.counts}
    assert used == {"whole", "prefill", "decode"}


def test_a_day_of_two_companies_is_near_the_best():
    """24 hours, reserved and on demand, starts paid: within 2 % of what HiGHS finds with all its time."""
    problem = company(day=(TWO, LIVES))
    found, best = planned(problem), solve_fleet(problem)
    assert broken(problem, found) == []
    assert counts_of(problem, found)["pools"] <= 8
    assert best.value <= found.value <= best.value * F(51, 50)


def test_the_large_engine_begins_at_such_a_day():
    problem = company(day=(ONE,))
    state, run = State(prepare(problem), 0), Run(None)
    assert by_hours(state, run, solve_mip)
    assert run.bound <= run.value < INF
    assert all(state.fine([block]) for block in run.blocks)


@pytest.mark.parametrize("first", range(0, 80, 20))
def test_random_days_keep_every_limit(first):
    made = 0
    for seed in range(first, first + 20):
        r = random.Random(seed)
        problem = longer(r, small_fleet(seed))
        fewer = MaxChangesPerDay().row(2, each=False)
        problem = with_rows(problem, *r.choice([(ONE,), (TWO,), (TWO, LIVES), (LIVES,), (fewer, TWO)]))
        if problem.periods == 1 or not rooms_are_exact(problem) or any(d.deferrable for d in problem.demands):
            continue
        state, run = State(prepare(problem), 0), Run(None)
        run.enough = -1.0
        by_hours(state, run, solve_mip)
        if run.blocks is None:
            continue
        made += 1
        best = solve_fleet(problem, time_limit_s=20)
        assert best.status != "infeasible"
        assert float(best.lower_bound) <= run.value * (1 + 1e-9)
        assert broken(problem, finish(problem, state.prepared, run.blocks, run.units)) == []
    assert made > 3
