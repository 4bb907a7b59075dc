"""The large engine against a second model of the same sentences, by another solver, and hand-made traps."""

import itertools
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from fleet_direct import Direct
from fleet_random import small_fleet
from fleet_samples import fleet
from plan_limits import plan_limits

import planner.solver.mip.solve as solve_module
from planner.constraints.fleet_check import broken
from planner.constraints.fleet_check_waiting import in_time
from planner.schema.choice import Option, Spares
from planner.schema.fleet import Api, Deferrable, FleetDemand, FleetProblem, Host, Line, Site
from planner.solver.covers import Pooled
from planner.solver.cp.solve import solve_cp
from planner.solver.mip.borrow import borrowed
from planner.solver.mip.cheaper import worth_pricing
from planner.solver.mip.columns import Columns, Pricer
from planner.solver.mip.exact import Short, settle
from planner.solver.mip.finish import used_by, with_bound
from planner.solver.mip.jobs import relax
from planner.solver.mip.levels import spread
from planner.solver.mip.plan import BlockPlan
from planner.solver.mip.prepared import prepare
from planner.solver.mip.pricing import price
from planner.solver.mip.solve import solve_mip
from planner.solver.mip.splits import split
from planner.solver.mip.state import State
from planner.solver.work import Limit

NEAR = 1e-6


@pytest.mark.parametrize("seed", [*range(36), 127, 136, 226, 280, 440, 478])
def test_same_optimum_as_a_second_model(seed):
    problem = small_fleet(seed)
    best = Direct(problem).value()
    choice = solve_mip(problem, time_limit_s=30)
    assert broken(problem, choice) == []
    if best is None:
        assert choice.status == "infeasible"
    else:
        assert choice.status == "optimal"
        assert float(choice.value) == pytest.approx(best, rel=NEAR, abs=NEAR)


@pytest.mark.parametrize("seed", [1, 4, 8, 16, 20, 33, 42])
def test_the_search_for_large_fleets_proves_and_plans_no_nonsense(seed, monkeypatch):
    monkeypatch.setattr(solve_module, "QUICK_SIZE", 0)
    problem = small_fleet(seed)
    best = Direct(problem).value()
    choice = solve_mip(problem, time_limit_s=60)
    assert broken(problem, choice) == []
    if best is None:
        assert choice.status == "infeasible"
    else:
        assert choice.status in ("optimal", "feasible")
        assert float(choice.lower_bound) <= best * (1 + NEAR) + NEAR
        assert float(choice.value) >= best * (1 - NEAR) - NEAR


def one_pool(rates, demand, *, prices=None, gpus=None, spares=None, lines=None, hosts=None, **kw):
    """One workload; option k has rates[k] on each bucket and stands on a host of its own."""
    prices = prices or [1] * len(rates)
    gpus = gpus or [1] * len(rates)
    hosts = hosts or [Host(f"h{k}", f"g{k}") for k in range(len(rates))]
    lines = lines or [
        Line(f"g{k}/on_demand", f"g{k}", f"h{k}", "on_demand", Fraction(price))
        for k, price in enumerate(prices)
    ]
    options = tuple(
        Option(f"o{k}", "w", "serve", host.id, host.gpu, gpus[k], tuple(Fraction(rate) for rate in mine))
        for k, mine in enumerate(rates)
        for host in (hosts[min(k, len(hosts) - 1)],)
    )
    buckets = tuple(f"b{b}" for b in range(len(demand)))
    asked = FleetDemand(
        "w", "serve", (tuple(Fraction(d) for d in demand),), buckets, spares=spares or Spares(), **kw
    )
    return FleetProblem(1, options, tuple(hosts), tuple(lines), (asked,))


@pytest.mark.parametrize(
    ("demand", "replicas"),
    [
        ("10", 2),
        ("10.0000000001", 3),
        ("9.9999999999", 2),
        ("3.3333333333", 1),
        ("1000000.0000000001", 200001),
    ],
)
def test_capacity_is_compared_exactly(demand, replicas):
    choice = solve_mip(one_pool([[5]], [Fraction(demand)]), time_limit_s=10)
    assert (choice.status, dict(choice.periods[0].replicas())) == ("optimal", {"o0": replicas})


def test_a_mix_that_floats_take_for_enough_is_not():
    # 3 a + 7 b >= 10 + 1e-12: one of each is short by a trillionth.
    problem = one_pool([[3], [7]], [10 + Fraction(1, 10**12)], prices=[3, 7])
    choice = solve_mip(problem, time_limit_s=10)
    assert broken(problem, choice) == []
    assert (choice.status, choice.value) == ("optimal", 12)


@pytest.mark.parametrize("buckets", [1, 2])
@pytest.mark.parametrize("lost", [1, 2, 3])
def test_any_replicas_may_be_lost(buckets, lost):
    rng = random.Random(10 * buckets + lost)
    rates = [[rng.randint(1, 6) for _ in range(buckets)] for _ in range(3)]
    demand = [rng.randint(4, 9) for _ in range(buckets)]
    prices = [sum(mine) + rng.randint(0, 2) for mine in rates]
    problem = one_pool(rates, demand, prices=prices, spares=Spares("replicas", lost))
    pool = Pooled(problem.demands[0].in_period(0), problem.options)
    best = min(
        sum(count * usd for count, usd in zip(counts, prices, strict=True))
        for counts in itertools.product(range(9), repeat=3)
        if sum(counts) >= lost and pool.missing(counts) is None
    )
    choice = solve_mip(problem, time_limit_s=20)
    assert broken(problem, choice) == []
    assert (choice.status, choice.value) == ("optimal", best)


def test_idle_hours_keep_the_replicas_that_may_be_lost():
    problem = one_pool([[5]], [0], spares=Spares("replicas", 2), min_replicas=1)
    assert dict(solve_mip(problem).periods[0].replicas()) == {"o0": 2}


def test_each_zone_may_be_lost():
    sites = [Site("p", "r", zone) for zone in "abc"]
    lines = [
        Line(f"g0/on_demand#{k}", "g0", "h0", "on_demand", Fraction(1), site=site)
        for k, site in enumerate(sites)
    ]
    problem = one_pool([[5]], [20], spares=Spares("zones", 1), lines=lines, hosts=[Host("h0", "g0")])
    choice = solve_mip(problem)
    assert broken(problem, choice) == []
    assert choice.value == 6  # two in each of three zones: four are left
    alone = replace(problem, lines=tuple(lines[:1]))
    assert solve_mip(alone).status == "infeasible"


def test_cheap_spot_may_bring_idle_neighbors():
    lines = [
        Line("g0/on_demand", "g0", "h0", "on_demand", Fraction(1, 10)),
        Line(
            "g0/spot", "g0", "h0", "spot", Fraction(1, 100), max_share=Fraction(1, 2), reserve=Fraction(1, 5)
        ),
    ]
    problem = one_pool([[1]], [9], lines=lines, hosts=[Host("h0", "g0")])
    choice = solve_mip(problem)
    # d + 0.8 s >= 9 with s <= d: five of each.
    assert choice.periods[0].bought == {"g0/on_demand": 5, "g0/spot": 5}


def test_reserved_pays_when_it_is_used_enough():
    lines = [
        Line("g0/on_demand", "g0", "h0", "on_demand", Fraction(3)),
        Line("g0/reserved", "g0", "h0", "reserved", Fraction(2)),
    ]
    problem = one_pool([[1]], [1], lines=lines, hosts=[Host("h0", "g0")])
    demand = replace(problem.demands[0], demand_rps=tuple((Fraction(d),) for d in (5, 5, 2)))
    choice = solve_mip(replace(problem, periods=3, demands=(demand,)))
    # The first two run all day; three more in two of three hours cost 6 either way.
    assert (choice.status, choice.value) == ("optimal", 12 + 18)


def test_input_order_does_not_matter():
    problem = small_fleet(6)
    rng = random.Random(1)

    def mixed(items):
        return tuple(rng.sample(items, len(items)))

    other = replace(
        problem, options=mixed(problem.options), hosts=mixed(problem.hosts), lines=mixed(problem.lines),
        demands=mixed(problem.demands), apis=mixed(problem.apis),
    )  # fmt: skip
    assert other != problem
    assert solve_mip(other).periods == solve_mip(problem).periods


@pytest.mark.parametrize("seed", [1, 5, 7])
def test_dropping_dominated_options_costs_nothing(seed, monkeypatch):
    problem = fleet(2, 3, 2, seed=seed, mean_gpus=12.0)
    assert len(prepare(problem).works[0].pools[0].options) < len(
        [o for o in problem.options if o.workload == "w00"]
    )
    small = solve_mip(problem, time_limit_s=30)
    monkeypatch.setattr(solve_module, "prepare", lambda p: prepare(p, dominance=False))
    assert solve_mip(problem, time_limit_s=30).value == small.value


@pytest.mark.parametrize("seed", [0, 1])
def test_any_prices_give_a_valid_bound(seed):
    problem = fleet(2, 3, 2, 2, seed=seed, mean_gpus=6.0)
    best = Direct(problem).value()
    state = State(prepare(problem), 0)
    pricer, good = Pricer(state.prepared), relax(state).prices
    rng = np.random.default_rng(seed)
    for prices in (good, good * rng.uniform(0.2, 2.0, good.size), np.zeros(good.size)):
        bounds = [price(state, n, prices, 0.0, Limit(10.0)).bound for n in range(len(state.prepared.blocks))]
        assert pricer.bound(prices, bounds) <= best * (1 + NEAR)
    assert pricer.bound(good, [price(state, n, good, 0, Limit(10)).bound for n in range(4)]) >= relax(
        state
    ).value * (1 - NEAR)


def test_options_left_at_given_prices_are_as_good_as_all(monkeypatch):
    state = State(prepare(fleet(3, 4, 5, seed=3, mean_gpus=10.0)), 0)
    prices = np.random.default_rng(1).uniform(0.5, 4.0, state.prepared.resources)
    few = [price(state, n, prices, 0.0, Limit(20.0)) for n in range(3)]
    assert any(
        len(worth_pricing(state.prepared, n, prices)) < len(state.prepared.works[n].pools[0].places)
        for n in range(3)
    )
    monkeypatch.setattr("planner.solver.mip.pricing.worth_pricing", lambda *_: None)
    for priced in few:
        assert price(state, priced.number, prices, 0.0, Limit(20.0)).value == pytest.approx(
            priced.value, rel=NEAR
        )
        assert used_by(state.prepared, [priced.plan]) @ prices == pytest.approx(priced.value, rel=NEAR)


@pytest.mark.parametrize("number", range(3))
def test_spare_replicas_are_priced_with_a_plan_that_survives_every_loss(number):
    made = fleet(3, 4, 5, seed=3, mean_gpus=10.0)
    spared = tuple(replace(demand, spares=Spares("replicas", 1)) for demand in made.demands)
    state = State(prepare(replace(made, demands=spared)), 0)
    prices = np.random.default_rng(1).uniform(0.5, 4.0, state.prepared.resources)
    settled = price(state, number, prices, 0.0, Limit(20.0))
    hasty = price(State(state.prepared, 0), number, prices, 0.05, Limit(0.01))
    pool = state.prepared.works[number].pools[0]
    for priced in (settled, hasty):
        counts = {pool.places[place].option: 0 for _, _, place in priced.plan.counts}
        for (_, _, place), count in priced.plan.counts.items():
            counts[pool.places[place].option] += count
        pooled = Pooled(pool.demand.in_period(0), [pool.options[option] for option in counts])
        assert pooled.missing(list(counts.values())) is None
        assert used_by(state.prepared, [priced.plan]) @ prices == pytest.approx(priced.value, rel=NEAR)
    assert settled.bound == pytest.approx(settled.value, rel=NEAR)
    assert hasty.bound <= settled.value * (1 + NEAR)
    assert hasty.value >= settled.value * (1 - NEAR)


def test_a_bound_from_earlier_prices_stays_valid():
    state = State(prepare(fleet(2, 3, 3, seed=5, mean_gpus=8.0)), 0)
    pricer, prices = Pricer(state.prepared), np.full(state.prepared.resources, 2.0)
    pricer.learn(0, prices, price(state, 0, prices, 0.0, Limit(10.0)).bound)
    assert pricer.known(0, prices) > 0
    rng = np.random.default_rng(2)
    for _ in range(5):
        other = rng.uniform(0.5, 3.0, prices.size)
        assert pricer.known(0, other) <= price(state, 0, other, 0.0, Limit(10.0)).value * (1 + NEAR)


@pytest.mark.parametrize("seed", range(8))
def test_guessed_shares_hold_and_guessed_rows_are_broken(seed):
    rng = random.Random(seed)
    rates = [[rng.choice([0, 2, 3, 5, 8]) for _ in range(4)] for _ in range(3)] + [[1, 1, 1, 1]]
    problem = one_pool(rates, [rng.randint(3, 9) for _ in range(4)])
    pool = Pooled(problem.demands[0].in_period(0), problem.options)
    for counts in itertools.product(range(4), repeat=4):
        exact, guessed = pool.split(counts), split(pool, counts)
        assert (guessed.factor >= 1) == (exact.factor >= 1)
        if guessed.factor >= 1:
            loads = [
                sum(
                    line[k] * need / rate[b]
                    for b, (line, need) in enumerate(zip(guessed.shares, pool.needs, strict=True))
                    if line[k]
                )
                for k, rate in enumerate(pool.rates)
            ]
            assert all(load <= count for load, count in zip(loads, counts, strict=True))
            assert all(sum(line) == 1 for line in guessed.shares)
        elif any(guessed.prices):
            cover = pool.cover([price * need for price, need in zip(guessed.prices, pool.needs, strict=True)])
            assert sum(w * n for w, n in zip(cover.weights, counts, strict=True)) < cover.needed


def test_levels_keep_every_deadline():
    waits = Deferrable((Fraction(3), Fraction(0), Fraction(1)), 2)
    assert spread(waits, {0: Fraction(1), 1: Fraction(2), 2: Fraction(1)}, None) == {0: 1, 1: 2, 2: 1}
    assert spread(waits, {0: Fraction(1), 1: Fraction(1), 2: Fraction(2)}, None) is None
    assert spread(waits, {0: None, 1: None, 2: None}, {0: 3.0, 1: 0.0, 2: 1.0}) == {0: 3, 1: 0, 2: 1}


@pytest.mark.parametrize("seed", range(60))
def test_levels_are_found_exactly_where_the_windows_have_room(seed):
    r = random.Random(seed)
    periods = r.randint(1, 6)
    waits = Deferrable(
        tuple(Fraction(r.randint(0, 6), r.choice([1, 3, 7])) for _ in range(periods)), r.randint(1, periods)
    )
    caps = {t: Fraction(r.randint(0, 9), r.choice([1, 2, 3])) for t in range(periods)}
    levels = spread(waits, caps, None)
    assert (levels is not None) == room_in_arcs(waits, caps)
    if levels is not None:
        assert all(levels[t] <= caps[t] for t in range(periods))
        assert in_time(waits, [levels[t] for t in range(periods)])


def room_in_arcs(waits, caps):
    """Any set of arrivals fits into the periods that its windows reach."""
    count = len(waits.arrivals)
    for chosen in itertools.product((False, True), repeat=count):
        starts = [s for s in range(count) if chosen[s]]
        reached = {(s + step) % count for s in starts for step in range(waits.deadline)}
        if sum(waits.arrivals[s] for s in starts) > sum(caps[t] for t in reached):
            return False
    return True


def test_three_replicas_do_what_arrives_at_three_a_second():
    # Arrivals 3, 0, 2 over their mean 5/3: levels 9/5, 0, 6/5 use 3, 0, 2 replicas up to the last digit.
    mean = Fraction(5, 3)
    waits = Deferrable((3 / mean, Fraction(0), 2 / mean), 1)
    hosts = (Host("x", "x"), Host("y", "y"))
    lines = (
        Line("x/on_demand", "x", "x", "on_demand", Fraction("4.18"), max_gpus=2),
        Line("y/on_demand", "y", "y", "on_demand", Fraction("3.66"), max_gpus=4),
        Line("y/owned", "y", "y", "owned", Fraction("0.86"), max_gpus=3),
        Line("y/reserved", "y", "y", "reserved", Fraction("1.96"), max_gpus=4),
    )
    options = tuple(
        Option(f"{host.id}/{name}", name, "serve", host.id, host.gpu, 1, (Fraction(rate),))
        for name, rate in (("chat", 3), ("b", 1))
        for host in hosts
    )
    demands = (
        FleetDemand("chat", "serve", tuple((Fraction(rate),) for rate in (6, 4, 4))),
        FleetDemand("b", "serve", ((mean,),) * 3, min_replicas=0, deferrable=waits),
    )
    choice = solve_mip(FleetProblem(3, options, hosts, lines, demands), time_limit_s=10)
    # 5, 2 and 4 GPUs of type y: one reserved, 3, 1 and 3 owned, one on demand in the first hour.
    usd = 3 * Fraction("1.96") + 7 * Fraction("0.86") + Fraction("3.66")
    assert (choice.status, choice.value) == ("optimal", usd)
    assert [period.levels["b"] for period in choice.periods] == [Fraction(9, 5), 0, Fraction(6, 5)]


@pytest.mark.parametrize("seed", range(8))
def test_work_that_waits_beside_an_outside_supplier_costs_the_least(seed):
    r = random.Random(seed)
    periods, buckets = r.choice([2, 3, 4]), r.choice([1, 2, 3])
    rates = [[Fraction(r.randint(2, 9), 3) for _ in range(buckets)] for _ in range(2)]
    mean = [Fraction(r.randint(1, 9), 7) for _ in range(buckets)]
    arrivals = tuple(Fraction(r.randint(0, 9), 5) for _ in range(periods))
    base = one_pool(
        rates,
        mean,
        prices=[r.randint(2, 5), r.randint(2, 5)],
        max_utilization=r.choice([Fraction(1), Fraction(7, 10)]),
    )
    waits = replace(
        base.demands[0],
        demand_rps=base.demands[0].demand_rps * periods,
        min_replicas=r.randint(0, 2),
        deferrable=Deferrable(arrivals, r.randint(1, periods)),
    )
    price = tuple(tuple(Fraction(r.randint(3, 30), 10) for _ in range(buckets)) for _ in range(periods))
    apis = (Api("api", "w", price),) if seed % 4 else ()
    problem = replace(base, periods=periods, demands=(waits,), apis=apis)
    choice = solve_mip(problem, time_limit_s=20)
    assert broken(problem, choice) == []
    assert choice.status == "optimal"
    assert float(choice.value) == pytest.approx(Direct(problem).value(), rel=NEAR, abs=NEAR)


def test_no_time_and_no_plan_is_unknown():
    choice = solve_mip(fleet(3, 3, 3), time_limit_s=0.0)
    assert (choice.status, choice.value, choice.periods) == ("unknown", None, ())


def test_an_interrupt_gives_the_best_plan_so_far(monkeypatch):
    told = []

    def interrupted(state, crew, run, goal):
        plan = solve_module.solve_whole(state, Limit(10.0), 0.05).plan
        run.propose(plan.blocks, 1e9, plan.units)
        raise KeyboardInterrupt

    monkeypatch.setattr(solve_module, "QUICK_SIZE", 0)
    # Its single hour would be proved at once.
    monkeypatch.setattr(solve_module, "by_hours", lambda state, run, solve: False)
    monkeypatch.setattr(solve_module, "search_large", interrupted)
    problem = fleet(2, 2, 2, mean_gpus=8.0)
    choice = solve_mip(problem, progress=told.append)
    assert (choice.status, broken(problem, choice)) == ("feasible", [])
    assert choice.trace[-1].value is not None
    assert len(told) == 1


def test_any_plan_will_do():
    problem = fleet(4, 3, 3, 2, mean_gpus=10.0)
    choice = solve_mip(problem, goal="any", time_limit_s=20)
    assert choice.status in ("feasible", "optimal")
    assert broken(problem, choice) == []


def test_bounds_are_rounded_down_and_near_proofs_are_proofs():
    choice = solve_mip(one_pool([[5]], [10]))
    assert with_bound(choice, 2.0).status == "optimal"
    assert with_bound(choice, 2.0 - 1e-7).gap == 0
    below = with_bound(choice, 1.9)
    assert (below.status, below.lower_bound < Fraction(1.9)) == ("feasible", True)
    assert with_bound(choice, float("-inf")).lower_bound == 0


def test_limits_that_leave_nothing():
    problem = one_pool([[5]], [100])
    assert solve_mip(replace(problem, limits=plan_limits(max_gpus=19))).status == "infeasible"
    assert solve_mip(replace(problem, limits=plan_limits(max_gpus=20))).value == 20


def test_many_lines_of_one_type_share_its_gpus():
    """Thirty spot lines may each be a tenth of all GPUs: the exact engine, which names every line, agrees."""
    spot = [
        Line(f"g0/spot#{k}", "g0", "h0", "spot", Fraction(k + 1, 10), max_gpus=3, max_share=Fraction(1, 10))
        for k in range(30)
    ]
    lines = (*spot, Line("g0/od", "g0", "h0", "on_demand", Fraction(5)))
    problem = one_pool([[5]], [Fraction(50)], lines=lines)
    assert solve_mip(problem).value == solve_cp(problem).value


def test_hours_that_are_not_priced_borrow_plans_of_those_that_are():
    """Every block gets a plan that carries it, from two of twelve hours."""
    state = State(prepare(fleet(3, 2, 3, 12)), 0)
    prices = relax(state).prices
    columns = Columns(state.prepared)
    for number, (_, periods) in enumerate(state.prepared.blocks):
        if periods[0] in (0, 6):
            columns.add(price(state, number, prices, 0.01, Limit(5.0)).plan)
    plans = borrowed(state.prepared, columns, prices)
    assert [plan.number for plan in plans] == list(range(len(state.prepared.blocks)))
    assert state.fine(plans)
    assert sum(map(len, columns.plans)) == 6


def test_a_row_is_made_where_it_is_asked_for(monkeypatch):
    """Whoever mends a plan wants no rows: making them took most of the time of a first plan."""
    made = []
    monkeypatch.setattr("planner.solver.mip.exact.cut_for", lambda *given: made.append(given))
    prepared = prepare(fleet(1, 3, 2, 1))
    short = settle(prepared, BlockPlan(0, {}), evidence=False)
    assert isinstance(short, Short)
    assert not made
    assert short.cut is None
    assert len(made) == 1
