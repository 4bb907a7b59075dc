"""From today's fleet to the new one: by hand, and against every order of single steps."""

import itertools
import random
from dataclasses import replace
from fractions import Fraction

import pytest
from plan_limits import budget_row, plan_limits, quota_row

from planner.explain.migration import migration, most_gpus, move
from planner.explain.move_parts import Cap, TypeChange
from planner.explain.move_path import Paths
from planner.schema.choice import Option, Share
from planner.schema.fleet import FleetChoice, FleetDemand, FleetProblem, Host, Line, PeriodChoice, Site
from planner.schema.fleet_answers import RatedPool, Today

F = Fraction
SITE = Site("dc")


def stock(gpu, most):
    return Cap(f"stock:{gpu}", F(most), {gpu: F(1)})


def everywhere(most, *gpus):
    return Cap("max-gpus", F(most), dict.fromkeys(gpus, F(1)))


def told(steps):
    return [(one.gpu, one.from_, one.to) for one in steps]


def test_additions_come_first():
    assert told(migration({"a100": 16}, {"h100": 8})) == [("h100", 0, 8), ("a100", 16, 0)]


def test_what_stays_is_no_step():
    assert migration({"a100": 16}, {"a100": 16}) == ()
    steps = migration({"a100": 16, "l4": 4}, {"a100": 16, "h100": 8})
    assert told(steps) == [("h100", 0, 8), ("l4", 4, 0)]


def test_growing_and_shrinking_types():
    steps = migration({"a100": 16, "h100": 8}, {"a100": 8, "h100": 16})
    assert told(steps) == [("h100", 8, 16), ("a100", 16, 8)]


def test_a_first_fleet_and_a_last():
    assert told(migration({}, {"h100": 8, "l4": 2})) == [("h100", 0, 8), ("l4", 0, 2)]
    assert told(migration({"h100": 8}, {})) == [("h100", 8, 0)]


# -- the whole move, with rates -----------------------------------------------------------------------------


def problem(rps=80, limits=None, unit=1, new_rate=20, periods=None, lead_h=0, price=4):
    """One workload on new GPUs ``h`` of 20 requests/s; the old ones ``a`` carry 10."""
    asked = periods or [rps]
    return FleetProblem(
        len(asked),
        (Option("h1", "chat", "serve", "h", "h", 1, (F(new_rate),), power_w=F(700)),
         Option("a1", "chat", "serve", "a", "a", 1, (F(10),), power_w=F(400))),
        (Host("h", "h"), Host("a", "a")),
        (Line("h/od", "h", "h", "on_demand", F(price), unit, site=SITE, lead_h=F(lead_h)),
         Line("a/od", "a", "a", "on_demand", F(1), 1, site=SITE)),
        (FleetDemand("chat", "serve", tuple((F(one),) for one in asked)),),
        limits or plan_limits(),
    )  # fmt: skip


def choice(count, periods=1):
    share = Share("chat", "serve", "all", "h1", F(1))
    return FleetChoice("optimal", (PeriodChoice({("h1", SITE): count}, {"h/od": count}, (share,)),) * periods)


def today(replicas=8, rate=10.0, **more):
    pool = RatedPool(
        gpu="a", replicas=replicas, gpus_per_replica=1, workload="chat", capacity_rps=rate, **more
    )
    return Today(pools=(pool,))


def test_both_fleets_at_once():
    found = move(problem(), choice(4), today(), {"h": F(1, 4)})
    assert told(found.steps) == [("h", 0, 4), ("a", 8, 0)]
    assert (found.keeps_demand, found.excess, found.assumed, found.period) == (True, (), "", None)
    assert [one.share for one in found.steps] == [1.0, 1.0]
    # Four new GPUs load for a quarter of an hour beside the old ones they replace.
    assert found.double_gpu_h == 1
    assert found.double_usd == 4
    assert found.hours == 0.25


def test_lead_time_moves_the_schedule_and_costs_nothing():
    found = move(problem(lead_h=48), choice(4), today(), {"h": F(1, 4)})
    assert (found.hours, found.double_gpu_h) == (48.25, 1)


def test_replaced_in_portions_under_max_gpus():
    """10 GPUs at most: 2 new ones free 4 old ones, and so on; capacity never below 80."""
    found = move(problem(limits=plan_limits(max_gpus=10)), choice(4), today())
    assert told(found.steps) == [("h", 0, 2), ("a", 8, 4), ("h", 2, 4), ("a", 4, 0)]
    assert found.excess == ()
    assert found.keeps_demand


def test_the_smallest_excess_where_a_limit_blocks():
    """8 GPUs stand and 8 are allowed: one more is needed, in whatever portions."""
    found = move(problem(limits=plan_limits(max_gpus=8)), choice(4), today())
    assert [(one.id, one.most, one.needed, one.unit) for one in found.excess] == [
        ("max-gpus", 8.0, 9.0, "GPUs")
    ]
    assert told(found.steps)[:2] == [("h", 0, 1), ("a", 8, 6)]
    assert found.keeps_demand


def test_the_smallest_excess_is_a_server_where_servers_are_bought():
    found = move(problem(limits=plan_limits(max_gpus=8), unit=4), choice(4), today())
    assert [one.needed for one in found.excess] == [12.0]


def test_money_and_power_block_too():
    """Old 8 USD/h, new 16 USD/h; at the end 3 new, 2 old and the last new one cost 12 + 2 + 4 = 18."""
    loose = plan_limits(budgets=(budget_row("budget", F(18)),))
    assert move(problem(limits=loose), choice(4), today()).excess == ()
    dear = plan_limits(budgets=(budget_row("budget", F(16)),))
    found = move(problem(limits=dear), choice(4), today())
    assert [(one.id, one.most, one.needed, one.unit) for one in found.excess] == [
        ("budget", 16.0, 18.0, "USD/h")
    ]
    tight = plan_limits(power_w=F(3200))
    found = move(problem(limits=tight), choice(4), today())
    assert [(one.id, one.most, one.needed) for one in found.excess] == [("power", 3200.0, 3900.0)]


def test_the_quietest_hour_makes_room():
    """At night 40 of 80 are asked: four old GPUs may go before any new one comes."""
    limits = plan_limits(max_gpus=8)
    found = move(problem(periods=[80, 40], limits=limits), choice(4, 2), today())
    assert (found.period, found.excess, found.keeps_demand) == (1, (), True)
    assert told(found.steps)[0][0] == "a"


def test_a_quota_counts_types_wholly_under_it():
    limits = plan_limits(quotas=(quota_row("quota:dc", ("h/od", "a/od"), 9),))
    assert move(problem(limits=limits), choice(4), today()).excess == ()
    part = plan_limits(quotas=(quota_row("quota:dc", ("h/od",), 4),))
    assert len(move(problem(limits=part), choice(4), today()).steps) == 2


def test_todays_option_is_rated_by_the_problem():
    known = move(problem(limits=plan_limits(max_gpus=10)), choice(4), today(rate=None, option="a1"))
    assert known.assumed == ""
    assert told(known.steps)[0] == ("h", 0, 2)


def test_only_gpus_are_known():
    found = move(problem(), choice(4), Today(gpus={"a": 8}))
    assert told(found.steps) == [("h", 0, 4), ("a", 8, 0)]
    assert "equal part" in found.assumed
    assert [one.share for one in found.steps] == [None, None]


def test_a_short_fleet_of_today_gets_no_worse():
    """40 of 80 are carried today: it never falls below that."""
    found = move(problem(limits=plan_limits(max_gpus=5)), choice(4), today(4))
    assert found.keeps_demand
    assert min(one.share for one in found.steps) >= 0.5


def test_gpus_that_get_other_work():
    """Four GPUs of two-GPU replicas turn into single ones: nothing carries them meanwhile but a new GPU."""
    asked = FleetProblem(
        1,
        (Option("h1", "chat", "serve", "h", "h", 1, (F(10),)),),
        (Host("h", "h"),),
        (Line("h/od", "h", "h", "on_demand", F(4)),),
        (FleetDemand("chat", "serve", ((F(30),),)),),
    )
    share = Share("chat", "serve", "all", "h1", F(1))
    new = FleetChoice("optimal", (PeriodChoice({("h1", Site()): 4}, {"h/od": 4}, (share,)),))
    old = Today(pools=(RatedPool(gpu="h", replicas=2, gpus_per_replica=2, workload="chat", capacity_rps=20),))
    # One more GPU for a while: add it, give two others their work, and so on; at last one goes.
    for most, needed in ((5, []), (4, [("stock:h", 4.0, 5.0)])):
        found = move(replace(asked, limits=plan_limits(stock_gpus={"h": most})), new, old)
        assert found.keeps_demand
        assert (found.steps[0].from_, found.steps[0].to) == (4, 5)
        assert (found.steps[-1].from_, found.steps[-1].to) == (5, 4)
        assert any(one.retasked for one in found.steps)
        assert [(one.id, one.most, one.needed) for one in found.excess] == needed
    # Without a limit four come first, and then four go.
    assert told(move(asked, new, old).steps) == [("h", 4, 8), ("h", 8, 4)]


def test_most_gpus_of_any_period():
    asked = problem(periods=[80, 40])
    day, night = choice(4).periods[0], choice(2).periods[0]
    assert most_gpus(asked, FleetChoice("optimal", (day, night))) == {"h": 4}


# -- against every order ------------------------------------------------------------------------------------


def drawn(seed):
    """Two or three types with work of two workloads: ends, GPUs by work, and what a GPU of each carries."""
    draw = random.Random(seed)
    gpus = ("a", "b", "c")[: draw.choice([1, 2, 2, 3])]
    kinds = [(gpu, name, 1) for gpu in gpus for name in ("x", "y")][: draw.choice([2, 3, 4])]
    old, new = ({kind: draw.randint(0, 3) for kind in kinds} for _ in range(2))
    rate = {kind: F(draw.randint(1, 5)) for kind in kinds}
    need = {name: F(draw.randint(2, 9)) for name in ("x", "y")}
    return gpus, kinds, old, new, rate, need, draw.choice([0, 0, 1, 2])


def limit(gpus, kinds, old, new, rate, need, room):
    """GPUs that may stand at one time."""
    return max(sum(old.values()), sum(new.values())) + room


def shortfalls(kinds, old, new, rate, need):
    """Of a state (GPUs that run, by work): what is carried of a workload, below what both ends carry."""

    def least(running):
        sums = {name: sum(rate[k] * n for k, n in running.items() if k[1] == name) for name in need}
        return {name: min(F(1), total / need[name]) for name, total in sums.items()}

    floor = {name: min(least(old)[name], least(new)[name]) for name in need}

    def short(state):
        carried = least(dict(zip(kinds, state, strict=True)))
        return max(F(0), *(floor[name] - share for name, share in carried.items()))

    return short


def next_states(kinds, state, last):
    """After one GPU more, one fewer, or one that gets other work; with what runs on the way."""
    down = [i for i in range(len(kinds)) if state[i] > last[i]]
    up = [i for i in range(len(kinds)) if state[i] < last[i]]

    def moved(one, i, by):
        return (*one[:i], one[i] + by, *one[i + 1 :])

    for i in down:
        yield moved(state, i, -1), [moved(state, i, -1)]
    for i in up:
        yield moved(state, i, 1), [moved(state, i, 1)]
    for i, k in itertools.product(down, up):
        if kinds[i][0] == kinds[k][0]:
            middle = moved(state, i, -1)
            yield moved(middle, k, 1), [middle, moved(middle, k, 1)]


def best_of_all_orders(gpus, kinds, old, new, rate, need, room):
    """The least shortfall, then the least excess: states flooded below every threshold."""
    short, most = shortfalls(kinds, old, new, rate, need), limit(gpus, kinds, old, new, rate, need, room)
    first, last = tuple(old[k] for k in kinds), tuple(new[k] for k in kinds)
    ends = zip(first, last, strict=True)
    states = list(itertools.product(*(range(min(pair), max(pair) + 1) for pair in ends)))

    def over(state):
        return F(max(0, sum(state) - most), max(1, most))

    def reaches(most_short, most_over):
        seen, left = {first}, [first]
        while left:
            for other, on_the_way in next_states(kinds, left.pop(), last):
                fine = all(short(one) <= most_short for one in on_the_way) and over(other) <= most_over
                if fine and other not in seen:
                    seen.add(other)
                    left.append(other)
        return last in seen

    shorts, overs = (sorted({F(0), *map(of, states)}) for of in (short, over))
    least = next(value for value in shorts if reaches(value, overs[-1]))
    return least, next(value for value in overs if reaches(least, value))


@pytest.mark.parametrize("seed", range(60))
def test_against_every_order_of_single_steps(seed):
    """The least shortfall, then the least excess, of all orders in which GPUs come, go and get other work."""
    gpus, kinds, old, new, rate, need, room = drawn(seed)
    most = limit(gpus, kinds, old, new, rate, need, room)

    def shares(kept, come):
        running = {
            k: new[k] if old[k] == new[k] else old[k] * kept.get(k, F(0)) + new[k] * come.get(k, F(0))
            for k in kinds
        }
        sums = {name: sum(rate[k] * n for k, n in running.items() if k[1] == name) for name in need}
        return tuple(min(F(1), total / need[name]) for name, total in sorted(sums.items()))

    changes, still = [], {}
    for gpu in gpus:
        ends = [sum(n for k, n in fleet.items() if k[0] == gpu) for fleet in (old, new)]
        mine = [{k: n for k, n in fleet.items() if k[0] == gpu and n} for fleet in (old, new)]
        change = TypeChange.of(gpu, tuple(ends), *mine)
        if change.leaves or change.comes:
            changes.append(change)
        else:
            still[gpu] = ends[0]
    if not changes:
        return
    way = Paths(changes, [everywhere(most, *gpus)], shares, still).best()
    if way.every_order:
        assert (way.shortfall, way.excess) == best_of_all_orders(gpus, kinds, old, new, rate, need, room)


def test_large_fleets_are_moved_in_larger_portions():
    before, after = {"a": 1000, "b": 1000}, {"c": 500, "d": 500}
    steps = migration(before, after, [everywhere(2400, "a", "b", "c", "d")])
    assert len(steps) < 40
    total, most = dict(before), 0
    for step in steps:
        assert total.get(step.gpu, 0) == step.from_
        total[step.gpu] = step.to
        most = max(most, sum(total.values()))
        carried = sum(total.get(g, 0) for g in before) / 2000 + sum(total.get(g, 0) for g in after) / 1000
        assert carried >= 1
    assert {gpu: count for gpu, count in total.items() if count} == after
    assert most <= 2400


@pytest.mark.parametrize("most", [160, 100])
def test_many_types_move_in_groups(most):
    """Four old types of 20 GPUs for four new ones: at once under 160, in portions under 100."""
    before, after = dict.fromkeys("abcd", 20), dict.fromkeys("wxyz", 20)
    steps = migration(before, after, [everywhere(most, *"abcdwxyz")])
    total = dict(before)
    for step in steps:
        assert total.get(step.gpu, 0) == step.from_ != step.to
        total[step.gpu] = step.to
        assert 80 <= sum(total.values()) <= most
    assert {gpu: count for gpu, count in total.items() if count} == after
    assert (len(steps) == 8) is (most == 160)
