"""The exact engine for small fleets against hand calculations, and which engine answers."""

from __future__ import annotations

import dataclasses
import random
import sys
import types
from dataclasses import replace
from fractions import Fraction

import pytest
from plan_limits import budget_row, changed, plan_limits, quota_row

from planner.errors import InputError
from planner.schema.choice import Option, PoolDemand, Share, Spares
from planner.schema.fleet import (
    Api,
    Changes,
    Deferrable,
    FleetChoice,
    FleetDemand,
    FleetProblem,
    Host,
    Line,
    PeriodChoice,
    Site,
    StartCharge,
)
from planner.solver.covers import Pooled, turning_covers
from planner.solver.cp.solve import solve_cp
from planner.solver.cp.supports import supports
from planner.solver.solve import better_of, solve_fleet

F = Fraction
HERE = Site()


def replica(workload="w", gpu="g", rate=1, gpus=1, name=None, **more):
    return Option(name or f"{workload}/{gpu}", workload, "serve", gpu, gpu, gpus, (F(rate),), **more)


def line(term, usd, gpu="g", **more):
    return Line(f"{gpu}/{term}", gpu, gpu, term, F(usd), **more)


def hourly(rates, workload="w", **more):
    return FleetDemand(workload, "serve", tuple((F(rate),) for rate in rates), min_replicas=0, **more)


def fleet(options, lines, demands, limits=None, **more):
    hosts = tuple(Host(gpu, gpu) for gpu in sorted({one.gpu for one in lines}))
    periods = len(demands[0].demand_rps)
    return FleetProblem(
        periods, tuple(options), hosts, tuple(lines), tuple(demands), limits or plan_limits(), **more
    )


@pytest.mark.parametrize("seed", range(12))
def test_reserved_gpus_are_the_quantile_of_the_demand(seed):
    """One GPU more is reserved as long as it is needed in at least p_res / p_od of the hours."""
    rng = random.Random(seed)
    need = [rng.randint(0, 40) for _ in range(24)]
    reserved, on_demand = rng.randint(1, 9), 10
    lines = [line("reserved", reserved), line("on_demand", on_demand)]
    choice = solve_cp(fleet([replica()], lines, [hourly(need)]))
    cost = {
        held: 24 * reserved * held + on_demand * sum(max(0, n - held) for n in need) for held in range(41)
    }
    assert choice.status == "optimal"
    assert choice.value == min(cost.values())
    held = choice.periods[0].bought.get("g/reserved", 0)
    assert cost[held] == choice.value
    # Busy hours of the last reserved GPU and of the next one, on both sides of the quantile.
    assert held == 0 or sum(n >= held for n in need) * on_demand >= 24 * reserved
    assert sum(n > held for n in need) * on_demand <= 24 * reserved
    for n, period in zip(need, choice.periods, strict=True):
        assert period.bought.get("g/on_demand", 0) == max(0, n - held)


def test_the_scarce_gpu_goes_where_it_saves_most():
    """Each workload alone would take the scarce GPU; only one can."""
    options = [
        replica("a", "new", 4), replica("a", "old", 2), replica("b", "new", 4), replica("b", "old", 1),
    ]  # fmt: skip
    lines = [line("owned", 1, "new", max_gpus=1), line("owned", 1, "old")]
    choice = solve_cp(fleet(options, lines, [hourly([4], "a"), hourly([4], "b")]))
    assert choice.periods[0].counts == {("a/old", HERE): 2, ("b/new", HERE): 1}
    assert choice.value == choice.lower_bound == 3


def test_terms_of_one_hour_by_hand():
    """Ten GPUs: four owned, spot for at most half with a quarter idle in reserve, the rest on demand."""
    lines = [
        line("owned", 0, max_gpus=4),
        line("spot", 1, max_share=F(1, 2), reserve=F(1, 4)),
        line("on_demand", 5),
    ]
    choice = solve_cp(fleet([replica()], lines, [hourly([10])]))
    # x spot GPUs carry 0.75 x; 4 + 0.75 x + y >= 10, x <= (4 + x + y) / 2: x = 6, y = 2 (4 + 4.5 + 2 >= 10).
    assert choice.periods[0].bought == {"g/owned": 4, "g/spot": 6, "g/on_demand": 2}
    assert choice.cost_usd == 16


def test_a_start_charge_keeps_gpus_through_a_short_dip():
    lines = [line("on_demand", 2)]
    need = [5, 3, 5, 1, 1, 1]
    question = fleet([replica()], lines, [hourly(need)], starts=(StartCharge(("g/on_demand",), F(3)),))
    choice = solve_cp(question)
    # A dip of one hour costs 2 to bridge and 3 to restart; the night of three hours costs 6 to bridge.
    assert [period.bought["g/on_demand"] for period in choice.periods] == [5, 5, 5, 1, 1, 1]
    assert choice.cost_usd == 18 * 2 + 4 * 3


def test_whole_servers_hold_rooms_of_several_workloads():
    options = [replica("a", gpus=3, name="a"), replica("b", gpus=2, name="b")]
    server = (Host("g", "g", 8),)
    question = replace(
        fleet(options, [line("on_demand", 1, unit_gpus=8)], [hourly([2], "a"), hourly([4], "b")]),
        hosts=server,
    )
    choice = solve_cp(question)
    # Three GPUs take half a server: two halves and four quarters fill two servers.
    assert choice.periods[0].bought == {"g/on_demand": 16}


def test_changes_and_budgets_can_make_a_plan_impossible():
    lines = [line("on_demand", 2)]
    question = fleet([replica()], lines, [hourly([5])])
    limits = plan_limits(
        {"g": 9}, (quota_row("quota:eu", ("g/on_demand",), 9),), (budget_row("budget", F(10)),),
        changes=Changes({"g": 1}, 3),
    )  # fmt: skip
    choice = solve_cp(replace(question, limits=limits))
    assert choice.status == "infeasible"
    assert choice.in_the_way == ("stock:g", "quota:eu", "budget", "changes")
    fewer = replace(limits, changes=Changes({"g": 2}, 3))
    assert solve_cp(replace(question, limits=fewer)).value == 10
    poor = changed(fewer, budgets=(budget_row("budget", F("9.99")),))
    assert solve_cp(replace(question, limits=poor)).status == "infeasible"


def test_today_may_have_to_be_kept():
    """Nine GPUs stand there today and at most two may go: seven are paid though five are enough."""
    limits = plan_limits(changes=Changes({"g": 9}, 2))
    choice = solve_cp(fleet([replica()], [line("on_demand", 2)], [hourly([5])], limits))
    assert choice.periods[0].bought == {"g/on_demand": 7}


def test_buckets_that_nobody_serves_are_named():
    eu, us = Site("p", "eu"), Site("p", "us")
    question = fleet([replica()], [line("owned", 1, site=us)], [hourly([0, 3], sites=(eu,))])
    assert solve_cp(question).in_the_way == ("unservable:w/all",)
    assert solve_fleet(question).in_the_way == ("unservable:w/all",)
    asleep = replace(question, demands=(hourly([0, 0], sites=(eu,)),))
    assert solve_cp(asleep).value == 0


def everything(seed):
    rng = random.Random(seed)
    options = [
        replica(w, gpu, rng.randint(1, 5), rng.choice([1, 2]), f"{w}/{gpu}/{n}")
        for w in "ab"
        for gpu in ("g", "h")
        for n in range(2)
    ]
    lines = [line(term, rng.randint(1, 6), gpu) for gpu in ("g", "h") for term in ("reserved", "on_demand")]
    demands = [hourly([rng.randint(0, 9) for _ in range(4)], w, spares=Spares("replicas", 1)) for w in "ab"]
    limits = plan_limits({"g": 12}, (quota_row("quota:x", ("g/on_demand", "h/on_demand"), 9),))
    return fleet(options, lines, demands, limits)


@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_the_input_does_not_show(seed):
    question, rng = everything(seed), random.Random(seed)

    def mixed(things):
        return tuple(rng.sample(things, len(things)))

    other = replace(
        question, options=mixed(question.options), hosts=mixed(question.hosts), lines=mixed(question.lines),
        demands=mixed(question.demands),
        limits=changed(question.limits, quotas=(quota_row("quota:x", ("h/on_demand", "g/on_demand"), 9),)),
    )  # fmt: skip
    mine, theirs = solve_cp(question), solve_cp(other)
    assert mine.status == "optimal"
    assert replace(mine, trace=()) == replace(theirs, trace=())


def test_the_number_of_workers_does_not_change_the_plan():
    for seed in range(3):
        question = everything(seed)
        assert replace(solve_cp(question), trace=()) == replace(solve_cp(question, workers=3), trace=())


@pytest.mark.parametrize("seed", range(6))
def test_more_freedom_never_costs_more(seed):
    question = everything(seed)
    before = solve_cp(question, goal="value").value
    freer = [
        replace(question, limits=changed(question.limits, stock_gpus={"g": 13})),
        replace(question, limits=changed(question.limits, quotas=())),
        replace(question, options=(*question.options, replica("a", "g", 6, 1, "a/new"))),
        replace(question, demands=tuple(replace(d, spares=Spares()) for d in question.demands)),
    ]
    tighter = [
        replace(question, limits=changed(question.limits, stock_gpus={"g": 6})),
        replace(question, options=question.options[1:]),
    ]
    assert before is not None
    assert all((solve_cp(one, goal="value").value or before + 1) <= before for one in freer)
    for one in tighter:
        after = solve_cp(one, goal="value")
        assert after.status == "infeasible" or (after.value is not None and after.value >= before)


def test_equal_hours_cost_what_each_costs_alone():
    question = everything(1)
    on_demand = tuple(one for one in question.lines if one.term == "on_demand")
    question = replace(question, lines=on_demand, limits=plan_limits())
    doubled = tuple(replace(d, demand_rps=d.demand_rps * 2) for d in question.demands)
    twice = solve_cp(replace(question, periods=8, demands=doubled))
    once = solve_cp(question)
    assert once.value is not None
    assert twice.value == twice.lower_bound == 2 * once.value
    assert twice.periods == once.periods * 2


# -- which engine answers -----------------------------------------------------------------------------------


def test_what_the_exact_engine_leaves_to_the_other():
    question = fleet([replica()], [line("owned", 1)], [hourly([3])])
    assert supports(question)
    waiting = replace(question.demands[0], deferrable=Deferrable((F(1),), 1))
    assert not supports(replace(question, demands=(waiting,)))
    zoned = replace(question.demands[0], spares=Spares("zones", 1))
    assert not supports(replace(question, demands=(zoned,)))
    assert not supports(replace(question, apis=(Api("api", "w", ((F(1),),)),)))
    with pytest.raises(ValueError, match="other engine"):
        solve_cp(replace(question, demands=(waiting,)))


def test_spares_in_servers():
    demand = hourly([3], spares=Spares("servers", 1))
    for solver in (solve_cp, solve_fleet):
        with pytest.raises(InputError, match="not bought by the server"):
            solver(fleet([replica()], [line("owned", 1)], [demand]))
    whole = replace(
        fleet([replica(gpus=3)], [line("owned", 1, unit_gpus=4)], [demand]), hosts=(Host("g", "g", 4),)
    )
    assert solve_fleet(whole).periods[0].bought == {"g/owned": 16}
    shared = replace(whole, options=(replace(whole.options[0], gpus=2),))
    # Three replicas carry the load; a server holds two: five in three servers.
    assert sum(solve_fleet(shared).periods[0].counts.values()) == 5
    assert solve_fleet(shared).periods[0].bought == {"g/owned": 12}
    waiting = replace(shared, demands=(replace(demand, deferrable=Deferrable((F(1),), 1)),))
    with pytest.raises(InputError, match="beside work that may wait"):
        solve_fleet(waiting)


@pytest.fixture
def other_engine(monkeypatch):
    """Stands for the large engine and records what it is asked."""
    module = types.ModuleType("planner.solver.mip.solve")
    module.asked = []

    def solve_mip(problem, **more):
        module.asked.append(more)
        return module.answer

    module.solve_mip = solve_mip
    monkeypatch.setitem(sys.modules, "planner.solver.mip.solve", module)
    return module


def test_a_small_problem_never_reaches_the_large_engine(other_engine):
    seen = []
    choice = solve_fleet(everything(0), progress=seen.append)
    assert choice.engine == "CP-SAT"
    assert not other_engine.asked
    assert seen[-1].value == float(choice.value)


def test_a_problem_with_suppliers_goes_to_the_large_engine(other_engine):
    question = replace(
        fleet([replica()], [line("owned", 20)], [hourly([3])]), apis=(Api("api", "w", ((F(5),),)),)
    )
    period = PeriodChoice(shares=(Share("w", "serve", "all", "api", F(1)),))
    other_engine.answer = FleetChoice("optimal", (period,), F(5), F(5), F(5), F(0), engine="HiGHS")
    assert solve_fleet(question, seed=3, time_limit_s=50) == other_engine.answer
    (asked,) = other_engine.asked
    assert asked["seed"] == 3
    assert 40 < asked["time_limit_s"] <= 50
    other_engine.answer = dataclasses.replace(other_engine.answer, cost_usd=F(4))
    with pytest.raises(RuntimeError, match="bill"):
        solve_fleet(question)


def test_the_better_plan_and_the_better_bound_are_kept():
    period = (PeriodChoice(),)
    one = FleetChoice("feasible", period, F(12), F(12), F(8), F(1, 3), engine="CP-SAT")
    two = FleetChoice("feasible", period, F(10), F(10), F(7), F(3, 10), engine="HiGHS")
    kept = better_of(one, two)
    assert (kept.value, kept.lower_bound, kept.gap, kept.engine) == (10, 8, F(1, 5), "HiGHS")
    proved = better_of(replace(one, lower_bound=F(10)), two)
    assert (proved.status, proved.value, proved.gap) == ("optimal", 10, 0)
    nothing = better_of(FleetChoice("unknown", lower_bound=F(3)), FleetChoice("unknown"))
    assert (nothing.status, nothing.lower_bound) == ("unknown", 3)
    assert (
        better_of(FleetChoice("unknown", lower_bound=F(3)), FleetChoice("infeasible")).status == "infeasible"
    )
    # A plan that was read again is there, whatever an engine in floats says.
    assert better_of(one, FleetChoice("infeasible")).value == 12
    assert better_of(one, FleetChoice("unknown", lower_bound=F(13))).lower_bound == 12


def test_no_time_gives_no_plan_and_no_claim():
    choice = solve_cp(everything(0), time_limit_s=0.0)
    assert (choice.status, choice.periods, choice.value) == ("unknown", (), None)


@pytest.mark.parametrize("seed", range(40))
def test_two_buckets_need_no_other_rows(seed):
    """The rows where an option turns from one bucket to the other tell exactly what is enough."""
    rng = random.Random(seed)
    options = [
        Option(f"o{n}", "w", "serve", "h", "g", 1, (F(rng.randint(0, 9)), F(rng.randint(0, 9))))
        for n in range(rng.randint(1, 4))
    ]
    demand = PoolDemand("w", "serve", (F(rng.randint(1, 30)), F(rng.randint(1, 30))), ("a", "b"))
    pool = Pooled(demand, options)
    rows = [*pool.first_covers(), *turning_covers(pool)]
    for _ in range(20):
        counts = [rng.randint(0, 4) for _ in options]
        kept = all(sum(w * n for w, n in zip(row.weights, counts, strict=True)) >= row.needed for row in rows)
        assert kept == (pool.missing(counts) is None)


def test_slices_share_gpus():
    """Four thirds and three halves fill three GPUs less a sixth."""
    options = [replica("a", slices=3, name="a"), replica("b", slices=2, name="b")]
    choice = solve_cp(fleet(options, [line("on_demand", 1)], [hourly([4], "a"), hourly([3], "b")]))
    assert choice.periods[0].bought == {"g/on_demand": 3}
    assert choice.periods[0].counts == {("a", HERE): 4, ("b", HERE): 3}
