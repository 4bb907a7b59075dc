"""From today's fleet to the new one: by hand, and against every order of single steps."""

import itertools
import random
from fractions import Fraction

import pytest

from planner.explain.migration import migration, most_gpus, move
from planner.explain.move_parts import Cap, TypeChange
from planner.explain.move_path import Paths
from planner.schema.choice import Option, Share
from planner.schema.fleet import (
    Budget,
    FleetChoice,
    FleetDemand,
    FleetLimits,
    FleetProblem,
    Host,
    Line,
    PeriodChoice,
    Quota,
    Site,
)
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
        limits or FleetLimits(),
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
    found = move(problem(limits=FleetLimits(max_gpus=10)), choice(4), today())
    assert told(found.steps) == [("h", 0, 2), ("a", 8, 4), ("h", 2, 4), ("a", 4, 0)]
    assert found.excess == ()
    assert found.keeps_demand


def test_the_smallest_excess_where_a_limit_blocks():
    """8 GPUs stand and 8 are allowed: one more is needed, in whatever portions."""
    found = move(problem(limits=FleetLimits(max_gpus=8)), choice(4), today())
    assert [(one.id, one.most, one.needed, one.unit) for one in found.excess] == [
        ("max-gpus", 8.0, 9.0, "GPUs")
    ]
    assert told(found.steps)[:2] == [("h", 0, 1), ("a", 8, 6)]
    assert found.keeps_demand


def test_the_smallest_excess_is_a_server_where_servers_are_bought():
    found = move(problem(limits=FleetLimits(max_gpus=8), unit=4), choice(4), today())
    assert [one.needed for one in found.excess] == [12.0]


def test_money_and_power_block_too():
    """Old 8 USD/h, new 16 USD/h; at the end 3 new, 2 old and the last new one cost 12 + 2 + 4 = 18."""
    loose = FleetLimits(budgets=(Budget("budget", F(18)),))
    assert move(problem(limits=loose), choice(4), today()).excess == ()
    dear = FleetLimits(budgets=(Budget("budget", F(16)),))
    found = move(problem(limits=dear), choice(4), today())
    assert [(one.id, one.most, one.needed, one.unit) for one in found.excess] == [
        ("budget", 16.0, 18.0, "USD/h")
    ]
    tight = FleetLimits(power_w=F(3200))
    found = move(problem(limits=tight), choice(4), today())
    assert [(one.id, one.most, one.needed) for one in found.excess] == [("power", 3200.0, 3900.0)]


def test_the_quietest_hour_makes_room():
    """At night 40 of 80 are asked: four old GPUs may go before any new one comes."""
    limits = FleetLimits(max_gpus=8)
    found = move(problem(periods=[80, 40], limits=limits), choice(4, 2), today())
    assert (found.period, found.excess, found.keeps_demand) == (1, (), True)
    assert told(found.steps)[0][0] == "a"


def test_a_quota_counts_types_wholly_under_it():
    limits = FleetLimits(quotas=(Quota("quota:dc", ("h/od", "a/od"), 9),))
    assert move(problem(limits=limits), choice(4), today()).excess == ()
    part = FleetLimits(quotas=(Quota("quota:dc", ("h/od",), 4),))
    assert len(move(problem(limits=part), choice(4), today()).steps) == 2


def test_todays_option_is_rated_by_the_problem():
    known = move(problem(limits=FleetLimits(max_gpus=10)), choice(4), today(rate=None, option="a1"))
    assert known.assumed == ""
    assert told(known.steps)[0] == ("h", 0, 2)


def test_only_gpus_are_known():
    found = move(problem(), choice(4), Today(gpus={"a": 8}))
    assert told(found.steps) == [("h", 0, 4), ("a", 8, 0)]
    assert "equal part" in found.assumed
    assert [one.share for one in found.steps] == [None, None]


def test_a_short_fleet_of_today_gets_no_worse():
    """40 of 80 are carried today: it never falls below that."""
    found = move(problem(limits=FleetLimits(max_gpus=5)), choice(4), today(4))
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
    found = move(asked, new, old)
    assert [(one.gpu, one.from_, one.to) for one in found.steps] == [("h", 4, 4)] * len(found.steps)
    assert sum(one.retasked for one in found.steps) == 4
    # Half of the old fleet is 20 of 30; the other half is loading.
    assert not found.keeps_demand
    assert found.steps[0].share == pytest.approx(20 / 30)


def test_most_gpus_of_any_period():
    asked = problem(periods=[80, 40])
    day, night = choice(4).periods[0], choice(2).periods[0]
    assert most_gpus(asked, FleetChoice("optimal", (day, night))) == {"h": 4}


# -- against every order ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_against_every_path_of_single_steps(seed):
    """The least shortfall, then the least excess, of all monotone paths between the two fleets."""
    draw = random.Random(seed)
    gpus = ("a", "b", "c")[: draw.choice([2, 3])]
    ends = {gpu: (draw.randint(0, 3), draw.randint(0, 3)) for gpu in gpus}
    old = {gpu: F(draw.randint(1, 5)) for gpu in gpus}
    new = {gpu: F(draw.randint(1, 5)) for gpu in gpus}
    need = F(draw.randint(3, 9))
    moved = {gpu: pair for gpu, pair in ends.items() if pair[0] != pair[1]}
    still = {gpu: pair[0] for gpu, pair in ends.items() if pair[0] == pair[1]}
    if not moved:
        return

    def shares(kept, come):
        total = sum(old[g] * ends[g][0] * kept[g] for g in moved)
        total += sum(new[g] * ends[g][1] * come[g] for g in gpus)
        return (min(F(1), total / need),)

    cap = everywhere(max(sum(p[0] for p in ends.values()), sum(p[1] for p in ends.values())), *gpus)
    way = Paths([TypeChange(g, *pair) for g, pair in moved.items()], [cap], shares, still).best()

    def state(counts):
        part = {g: F(counts[g] - p[0], p[1] - p[0]) for g, p in moved.items()}
        kept = {**dict.fromkeys(still, F(1)), **{g: 1 - one for g, one in part.items()}}
        return shares(kept, {**dict.fromkeys(still, F(1)), **part})[0]

    floor = min(state({g: p[0] for g, p in moved.items()}), state({g: p[1] for g, p in moved.items()}))
    best = None
    singles = [g for g, p in moved.items() for _ in range(abs(p[1] - p[0]))]
    for order in set(itertools.permutations(singles)):
        counts = {g: p[0] for g, p in moved.items()}
        short = over = F(0)
        # Steps of one type in a row may be one step; states between them can only be worse or equal.
        for place, gpu in enumerate(order):
            counts[gpu] += 1 if moved[gpu][1] > moved[gpu][0] else -1
            if place + 1 < len(order) and order[place + 1] == gpu:
                continue
            short = max(short, floor - state(counts))
            total = sum(counts.values()) + sum(still.values())
            over = max(over, F(max(0, total - cap.most), max(1, cap.most)))
        best = min(best or (short, over), (short, over))
    assert (way.shortfall, way.excess) == best


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
