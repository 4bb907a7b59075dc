"""First plans of days whose hours are tied: they keep every limit, and are near the best."""

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction

import pytest
from fleet_direct import Direct
from fleet_random import small_fleet
from test_day_programs import longer
from test_replica_starts import RENTED, paid_starts

from planner.constraints.fleet_check import broken
from planner.schema.choice import Option, Spares
from planner.schema.fleet import Deferrable, FleetChoice, FleetDemand, FleetProblem, Host, Line, Site
from planner.schema.limit_rows import DayRow
from planner.solver.mip.crew import Crew
from planner.solver.mip.day_moves import move_days
from planner.solver.mip.day_search import simple_day, widths
from planner.solver.mip.finish import finish
from planner.solver.mip.hourly_bound import prove_by_hours
from planner.solver.mip.jobs import solve_whole
from planner.solver.mip.known_plan import from_known
from planner.solver.mip.prepared import prepare
from planner.solver.mip.run import Run
from planner.solver.mip.solve import DAY_NODES, DAY_WIDTHS
from planner.solver.mip.state import State
from planner.solver.mip.taken_over import take_over
from planner.solver.pool_sets import among
from planner.solver.promising import layouts_by_use
from planner.solver.rebuy import with_replicas
from planner.solver.solve import solve_fleet
from planner.solver.work import Limit

F = Fraction
PAID = Site("p", "r")


def begun(problem):
    """The first plan in exact numbers; None where there is none."""
    state = State(prepare(problem), 0)
    day = simple_day(state)
    return None if day is None else finish(problem, state.prepared, day.plan.blocks)


def searched(problem):
    """What moves over the day made of the first plan, and that."""
    state, run = State(prepare(problem), 0), Run(None)
    day = simple_day(state)
    with Crew(state.prepared, 0, 1) as crew:
        move_days(state, crew, run, day, day.plan.blocks, 0.5)
    return run, day


def wave(mean, swing, start):
    """A rate for each of 24 hours, in hundredths."""
    return [F(round(100 * (mean + swing * math.sin(math.pi * (t - start) / 12))), 100) for t in range(24)]


def company(spares=0, day=()):
    """Two workloads of 24 hours over two kinds of GPU, reserved and on demand."""
    lines = [
        Line(f"{gpu}/{term}", gpu, gpu, term, F(usd), site=PAID if term == "reserved" else RENTED)
        for gpu, term, usd in [("a", "reserved", 2), ("a", "on_demand", 4), ("b", "on_demand", 3)]
    ]
    options = [
        Option(f"{work}/{gpu}{gpus}", work, "serve", gpu, gpu, gpus, (F(rate),), start_h=F(1, 20))
        for work, gpu, gpus, rate in [
            ("chat", "a", 1, 3), ("chat", "a", 2, 7), ("chat", "b", 1, 2),
            ("code", "a", 4, 5), ("code", "b", 2, 2), ("code", "b", 4, 5),
        ]
    ]  # fmt: skip
    loads = {"chat": wave(20, 18, 8), "code": wave(9, 8, 11)}
    demands = [
        FleetDemand(work, "serve", tuple((n,) for n in mine), spares=Spares("replicas", spares))
        for work, mine in loads.items()
    ]
    found = FleetProblem(24, tuple(options), (Host("a", "a"), Host("b", "b")), tuple(lines), tuple(demands))
    limits = found.limits.__class__(day=day)
    return FleetProblem(24, found.options, found.hosts, found.lines, found.demands, limits)


def test_first_plans_of_random_days_keep_every_limit_and_are_no_better_than_the_best():
    known = 0
    for seed in range(80):
        r = random.Random(4_000 + seed)
        problem = paid_starts(r, longer(r, small_fleet(4_000 + seed)))
        found = begun(problem)
        if found is None:
            continue
        known += 1
        assert isinstance(found, FleetChoice)
        assert broken(problem, found) == []
        assert float(found.value) >= Direct(problem).value() - 1e-5
    assert known >= 8


def test_a_company_day_is_searched_from_its_first_plan_to_near_the_best():
    problem = company()
    best = solve_fleet(problem, time_limit_s=60)
    found = begun(problem)
    assert best.value <= found.value <= F(115, 100) * best.value
    moved, _ = searched(problem)
    assert float(best.value) * (1 - 1e-6) <= moved.value < float(found.value)
    assert broken(problem, finish(problem, prepare(problem), moved.blocks, moved.units)) == []
    state = State(prepare(problem), 0)
    day = simple_day(state)
    plan, value = day.plan, day.value
    for places in widths(day, DAY_WIDTHS):
        wider = solve_whole(state, Limit(60.0), 1e-4, plan, allowed=places, nodes=DAY_NODES)
        assert wider.value <= value + 1e-6
        plan, value = wider.plan, wider.value
    assert value <= float(best.value) * 1.01


@pytest.mark.parametrize("spares", [0, 1])
def test_hours_on_their_own_bound_the_day(spares):
    problem = company(spares)
    run, day = searched(problem)
    prove_by_hours(day, run, 0, 1)
    best = solve_fleet(problem, time_limit_s=60)
    assert 0.9 * float(best.value) < run.bound <= float(best.value) * (1 + 1e-6)


def test_hours_of_random_days_never_bound_above_the_best():
    known = 0
    for seed in range(40):
        r = random.Random(4_000 + seed)
        problem = paid_starts(r, longer(r, small_fleet(4_000 + seed)))
        day = simple_day(State(prepare(problem), 0))
        if day is None:
            continue
        run = Run(None)
        prove_by_hours(day, run, 0, 1)
        known += run.bound > 0
        assert run.bound <= Direct(problem).value() + 1e-5
    assert known >= 4


def test_work_that_may_wait_has_a_simple_day_too():
    """Alone it costs what its layouts do; the day of both is moved to no more than the first plan costs."""
    plain = company()
    chat, code = plain.demands
    waits = Deferrable(tuple(F(1) for _ in range(24)), 8)
    problem = replace(plain, demands=(chat, replace(code, deferrable=waits, demand_rps=((F(9),),) * 24)))
    found = begun(problem)
    assert broken(problem, found) == []
    moved, day = searched(problem)
    assert moved.value <= day.value
    assert broken(problem, finish(problem, prepare(problem), moved.blocks, moved.units)) == []
    run = Run(None)
    prove_by_hours(day, run, 0, 1)
    assert 0 < run.bound <= moved.value * (1 + 1e-6)


def test_a_known_plan_goes_on_with_fewer_options():
    """Workloads that lose nothing keep their day; one that lost a layout in use begins with a simple one."""
    problem = company()
    state = State(prepare(problem), 0)
    best = solve_fleet(problem, time_limit_s=60)
    (gone, *_) = layouts_by_use(problem, best)
    lost = next(option.workload for option in problem.options if option.id in gone)
    few = among(problem, [option.id for option in problem.options if option.id not in gone])
    state = State(prepare(few), 0)
    blocks = from_known(state, simple_day(state), best)
    assert state.fine(blocks)
    for block in blocks:
        work = state.prepared.works[state.prepared.blocks[block.number][0]]
        names = {work.pools[pool].options[work.pools[pool].places[place].option].id
                 for _, pool, place in block.counts}  # fmt: skip
        kept = {name for period in best.periods for (name, _), n in period.counts.items()
                if n and name.startswith(work.name)}  # fmt: skip
        assert names == kept if work.name != lost else not names & gone


def test_what_other_searches_left_open_is_known_beforehand():
    """Their plan and bound are where the large search begins, not what it finds again."""
    problem = company()
    state, run = State(prepare(problem), 0), Run(None)
    left = replace(begun(problem), lower_bound=F(1, 3))
    take_over(state, run, left)
    assert (run.value, run.bound) == (pytest.approx(float(left.value)), pytest.approx(1 / 3))
    assert finish(problem, state.prepared, run.blocks, run.units).value == left.value
    without = Run(None)
    take_over(state, without, FleetChoice("unknown", lower_bound=F(2)))
    assert (without.blocks, without.bound) == (None, 2.0)


def test_good_plans_begin_from_what_is_known():
    problem = company()
    best = solve_fleet(problem, time_limit_s=60)
    found = solve_fleet(problem, goal="good", work_s=10, start=best)
    assert broken(problem, found) == []
    assert best.value <= found.value <= best.value * F(1005, 1000)


def test_spares_stand_beside_the_first_plan():
    bare, spared = begun(company()), begun(company(1))
    assert broken(company(1), spared) == []
    assert spared.value > bare.value


def test_the_first_plan_keeps_limits_on_the_layouts_of_a_day():
    rows = (
        DayRow("one", "max-layouts", "", "", 1, "layouts", each=True),
        DayRow("life", "min-layout-hours", "", "", 24, "hours", each=True),
    )
    problem = company(day=rows)
    found = begun(problem)
    assert broken(problem, found) == []
    assert all(len({name for name, _ in period.counts}) == 2 for period in found.periods)


@pytest.mark.parametrize("more", [{"mix": False}, {"min_replicas": 4}, {"mix": False, "min_replicas": 9}])
def test_the_first_plan_keeps_what_pools_ask(more):
    """Quiet hours need fewer replicas than asked for, and two layouts cost less than one."""
    plain = company()
    demands = tuple(replace(demand, **more) for demand in plain.demands)
    found = begun(replace(plain, demands=demands))
    assert broken(replace(plain, demands=demands), found) == []
    assert found.value >= begun(plain).value


def test_wider_searches_hold_the_layouts_of_the_first_plan():
    state = State(prepare(company()), 0)
    day = simple_day(state)
    parts = widths(day, (2, 4))
    for places, wider in itertools.pairwise(parts):
        assert all(a <= b for a, b in zip(places, wider, strict=True))
    for block, places in zip(day.plan.blocks, parts[0], strict=True):
        assert {key[1:] for key in block.counts} <= places


def test_a_day_of_one_period_has_no_simple_day():
    problem = company()
    hour = tuple(FleetDemand(d.workload, d.role, d.demand_rps[:1]) for d in problem.demands)
    one = FleetProblem(1, problem.options, problem.hosts, problem.lines, hour)
    assert simple_day(State(prepare(one), 0)) is None


def test_replicas_that_are_given_are_bought_for_the_least():
    problem = company()
    best = solve_fleet(problem, time_limit_s=60)
    again = with_replicas(problem, [period.counts for period in best.periods])
    assert again.cost_usd == best.cost_usd
    assert broken(problem, again) == []


def test_replicas_that_nobody_sells_are_no_plan():
    problem = company()
    capped = tuple(
        Line(o.id, o.gpu, o.host, o.term, o.usd_per_gpu_h, max_gpus=1, site=o.site) for o in problem.lines
    )
    few = FleetProblem(24, problem.options, problem.hosts, capped, problem.demands)
    counts = [{("chat/a2", PAID): 20, ("code/a4", PAID): 5}] * 24
    assert with_replicas(few, counts) is None
