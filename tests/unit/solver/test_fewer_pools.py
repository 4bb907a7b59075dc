"""A known day with fewer pools, and layouts that live as long as they have to."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from day_toy import EAST, HOURS, WEST, day
from fleet_random import small_fleet

from planner.constraints.fleet_check import broken
from planner.constraints.packing import rooms_are_exact
from planner.constraints.plan.day_usage import DayUsage
from planner.constraints.plan.min_layout_hours import MinLayoutHours
from planner.schema.choice import Option
from planner.schema.fleet import FleetDemand, FleetProblem, Host, Line, Site
from planner.solver.fewer import CalmDays
from planner.solver.mip.hours.fewer_pools import FewerPools
from planner.solver.rebuy import with_replicas
from planner.solver.simple_counts import counts_of
from planner.solver.solve import solve_fleet
from planner.solver.work import Limit, Timer

F = Fraction
LARGE = F(12) - F(21, 2)
"""USD of a day of large replicas alone, more than with both in turn; of small ones alone it is as much."""


def fewer(problem, more, rows=(), work_s=20.0):
    """The plan with fewer pools, from the best one."""
    best = solve_fleet(problem)
    counts = CalmDays(problem, rows, Timer(Limit(work_s))).with_fewer_pools(best, F(more))
    return best, None if counts is None else with_replicas(problem, counts)


@pytest.mark.parametrize(("more", "pools", "usd"), [(LARGE, 1, 12), (LARGE - F(1, 100), 2, F(21, 2))])
def test_a_pool_goes_where_it_costs_no_more_than_that(more, pools, usd):
    best, found = fewer(day(), more)
    assert (best.value, found.value) == (F(21, 2), usd)
    assert counts_of(day(), found)["pools"] == pools


def test_the_pool_that_is_missed_least_goes_first():
    """For nothing the one goes that serves for the same price in others."""
    problem = day()
    twin = Option("twin", "chat", "serve", "g", "g", 2, (F(4),))
    problem = replace(problem, options=(*problem.options, twin))
    counts = [{("small", EAST): 1}, {("twin", EAST): 1, ("small", EAST): 1}] * 3
    known = with_replicas(replace(problem, demands=(_needing(2, 6, 2, 6, 2, 6),)), counts)
    asked = replace(problem, demands=(_needing(2, 6, 2, 6, 2, 6),))
    found = CalmDays(asked, (), Timer(Limit(20.0))).with_fewer_pools(known, F(0))
    assert {name for hour in found for name, _ in hour} == {"small"}


def _needing(*hours):
    return FleetDemand("chat", "serve", tuple((F(need),) for need in hours))


def test_what_a_day_costs_knows_what_part_of_its_type_spot_may_be():
    """Of 2, 6, 6, 2, 6, 2 GPUs half may be spot: 12 at 1 USD and 12 at 3 USD."""
    lines = (
        Line("spot", "g", "g", "spot", F(1), max_share=F(1, 2)),
        Line("dear", "g", "g", "on_demand", F(3)),
    )
    option = Option("one", "chat", "serve", "g", "g", 1, (F(1),))
    question = FleetProblem(len(HOURS), (option,), (Host("g", "g"),), lines, (_needing(2, 6, 6, 2, 6, 2),))
    best = solve_fleet(question)
    assert best.value == 48
    days = FewerPools(question, best, (), 0)
    assert days._usd() == pytest.approx(48.0)
    again = days._anew([0], 0)
    assert again.usd == pytest.approx(0.0)


def test_no_work_changes_nothing():
    best, found = fewer(day(), 100, work_s=0.0)
    assert found.value == best.value
    assert [hour.counts for hour in found.periods] == [hour.counts for hour in best.periods]


def test_lives_are_lengthened_for_what_they_cost():
    """The large replica of the fifth hour lives for one: it stays for longer, or small ones serve there."""
    row = MinLayoutHours().row(3)
    best, found = fewer(day(), 10, (row,))
    assert best.value == F(21, 2)
    assert found.value <= 12
    assert not counts_of(day(), found)["changes"] or _lives(found) >= 3


def _lives(choice):
    """Of the shortest-lived layout, around the day."""
    lives = []
    for name in ("small", "large"):
        used = [
            any(one == name and count for (one, _), count in hour.counts.items()) for hour in choice.periods
        ]
        if any(used) and not all(used):
            turned = used * 2
            begins = [t for t in range(1, len(used) + 1) if turned[t] and not turned[t - 1]]
            lives += [next(n for n in range(1, 20) if not (used * 3)[t + n]) for t in begins]
    return min(lives, default=len(HOURS))


def test_lives_that_cost_too_much_are_not_lengthened():
    assert fewer(day(), F(1, 100), (MinLayoutHours().row(3),))[1] is None


def test_a_day_changes_less_often_where_that_costs_little():
    """Three small replicas at noon cost 1.50 USD more a day than a large one, and nothing changes."""
    best = solve_fleet(day())
    assert counts_of(day(), best)["changes"] == 4
    for more, changes in ((F(1), 4), (F(3, 2), 0)):
        counts = CalmDays(day(), (), Timer(Limit(20.0))).with_fewer_changes(best, more)
        found = with_replicas(day(), counts)
        assert counts_of(day(), found)["changes"] == changes
        assert best.value <= found.value <= best.value + more


def test_pools_go_one_after_the_other():
    best = solve_fleet(day())
    steps = [
        with_replicas(day(), one) for one in CalmDays(day(), (), Timer(Limit(9.0))).ever_fewer(best, F(9))
    ]
    assert [(counts_of(day(), one)["pools"], one.value) for one in steps] == [(1, 12)]
    assert not list(CalmDays(day(), (), Timer(Limit(9.0))).ever_fewer(best, F(1)))


def test_what_waits_or_may_not_mix_is_left_alone():
    best = solve_fleet(day())
    fixed = replace(day(), demands=(replace(day().demands[0], mix=False),))
    assert CalmDays(fixed, (), Timer(Limit(9.0))).with_fewer_pools(best, F(9)) is None


def _of_two_places(hours):
    """Two workloads of one layout each, on two owned GPUs in one place and rented ones in another."""
    lines = (
        Line("owned", "g", "g", "owned", F(1), max_gpus=2, site=EAST),
        Line("rented", "g", "g", "on_demand", F(3), site=WEST),
    )
    names = ("calm", "busy")
    options = tuple(Option(name, name, "serve", "g", "g", 1, (F(1),)) for name in names)
    demands = tuple(
        FleetDemand(name, "serve", tuple((F(sum(hour[name].values())),) for hour in hours)) for name in names
    )
    counts = [{(name, site): n for name in names for site, n in hour[name].items()} for hour in hours]
    problem = FleetProblem(len(hours), options, (Host("g", "g"),), lines, demands)
    return problem, with_replicas(problem, counts)


def test_a_replica_that_need_not_move_stays():
    """What the busy workload takes of the owned GPUs in one hour it can take of the rented ones."""
    moves = [
        {"calm": {EAST: 1}, "busy": {EAST: 1}},
        {"calm": {WEST: 1}, "busy": {EAST: 2, WEST: 1}},
        {"calm": {EAST: 1}, "busy": {EAST: 1, WEST: 1}},
    ]
    problem, known = _of_two_places(moves)
    found = CalmDays(problem, (), Timer(Limit(20.0))).at_fewer_places(known, known.value / 100)
    assert [hour["calm", EAST] for hour in found] == [1, 1, 1]
    assert with_replicas(problem, found).value == known.value
    assert counts_of(problem, with_replicas(problem, found))["pools"] == 3


def test_replicas_that_stand_still_are_left_there():
    still = [{"calm": {EAST: 1}, "busy": {EAST: 1, WEST: n}} for n in (1, 2, 0)]
    problem, known = _of_two_places(still)
    assert CalmDays(problem, (), Timer(Limit(20.0))).at_fewer_places(known, known.value / 100) is None


def test_a_gpu_taken_by_another_workload_is_not_taken_twice():
    """Four small replicas are sold: only one of two workloads can do without its large ones."""
    both = (_needing(*HOURS), replace(_needing(*HOURS), workload="code"))
    options = tuple(
        replace(option, id=f"{option.id}-{name}", workload=name)
        for option in day().options
        for name in ("chat", "code")
    )
    lines = (replace(day().lines[0], max_gpus=4), day().lines[1])
    problem = replace(day(), options=options, demands=both, lines=lines)
    best, found = fewer(problem, 100)
    assert broken(problem, found) == []
    assert counts_of(problem, found)["pools"] == 2 < counts_of(problem, best)["pools"]
    assert all(count for hour in found.periods for count in hour.counts.values())
    assert {site for hour in found.periods for _, site in hour.counts} <= {EAST, WEST}


def beside(*hours):
    """Chat and code on owned GPUs, chat on others too; what nobody sells enough of, and dear ones for code.

    ``hours`` name the replicas of chat and those of code, as ``gh g``.
    """
    names = ("chat", "code")
    by_hour = [dict(zip(names, hour.split(), strict=True)) for hour in hours]
    own, rent = Site("own", "r"), Site("cloud", "r")
    lines = (
        Line("g/owned", "g", "g", "owned", F(0), max_gpus=2, site=own),
        Line("h/on_demand", "h", "h", "on_demand", F(2), max_gpus=1, site=rent),
        Line("i/on_demand", "i", "i", "on_demand", F(9), site=rent),
    )
    options = tuple(
        Option(f"{name}/{gpu}", name, "serve", gpu, gpu, 1, (F(1),))
        for name, gpus in (("chat", "gh"), ("code", "ghi"))
        for gpu in gpus
    )
    demands = tuple(
        FleetDemand(name, "serve", tuple((F(len(hour[name])),) for hour in by_hour)) for name in names
    )
    problem = FleetProblem(
        len(hours), options, (Host("g", "g"), Host("h", "h"), Host("i", "i")), lines, demands
    )
    sites = {"g": own, "h": rent, "i": rent}
    counts = [
        Counter((f"{name}/{gpu}", sites[gpu]) for name, gpus in hour.items() for gpu in gpus)
        for hour in by_hour
    ]
    return problem, with_replicas(problem, counts)


def test_a_life_is_lengthened_together_with_who_has_what_it_lacks():
    """Chat needs two in the fourth hour; beside it, code has the only GPU that could be the second."""
    problem, known = beside("g g", "g g", "g h", "gh g", "g h", "g g")
    days = FewerPools(problem, known, (), 0)
    assert days._anew([0], 3) is None
    assert days.lengthen(3, 100.0, lambda: False)
    found = with_replicas(problem, days.counts)
    assert broken(problem, found) == []
    assert not DayUsage(problem, found.periods).breaks(MinLayoutHours().row(3))


def test_two_workloads_change_places_where_none_gains_alone():
    """Code pays 9 USD for what chat would get for 2, and has no GPU that chat does not hold."""
    problem, known = beside("h gg", "gg i", "gg i", "gg i")
    days = FewerPools(problem, known, (), 0)
    assert all(days._anew([work], 0).usd >= 0 for work in days.days)
    days.swap(0, lambda: False)
    found = with_replicas(problem, days.counts)
    assert broken(problem, found) == []
    assert found.value == solve_fleet(problem).value < known.value


@pytest.mark.parametrize("seed", range(60))
def test_random_days_keep_every_limit(seed):
    problem = small_fleet(seed)
    if problem.periods == 1 or not rooms_are_exact(problem):
        return
    best = solve_fleet(problem)
    if best.value is None:
        return
    counts = CalmDays(problem, (), Timer(Limit(10.0))).with_fewer_pools(best, best.value / 4)
    found = None if counts is None else with_replicas(problem, counts)
    if found is not None:
        assert broken(problem, found) == []
        assert counts_of(problem, found)["pools"] <= counts_of(problem, best)["pools"]


@pytest.mark.parametrize(("spot", "beside"), [(1, 3), (2, 3), (4, 2), (4, 6)])
def test_more_than_its_share_of_a_line_is_paid_with_idle_gpus(spot, beside):
    """Spot GPUs may be 40 % of their type: others are bought and stay idle, as the plan's purchase says."""
    sites = {term: Site("p", "r", lot=term) for term in ("spot", "on_demand")}
    lines = (
        Line("g/spot", "g", "g", "spot", F(1), max_gpus=8, max_share=F(2, 5), site=sites["spot"]),
        Line("g/on_demand", "g", "g", "on_demand", F(2), max_gpus=20, site=sites["on_demand"]),
    )
    problem = FleetProblem(
        1,
        (Option("o", "chat", "serve", "g", "g", 1, (F(1),)),),
        (Host("g", "g"),),
        lines,
        (FleetDemand("chat", "serve", ((F(spot + beside),),)),),
    )
    plan = with_replicas(problem, [{("o", sites["spot"]): spot, ("o", sites["on_demand"]): beside}])
    assert FewerPools(problem, plan, (), 0)._usd() == pytest.approx(float(plan.value))
