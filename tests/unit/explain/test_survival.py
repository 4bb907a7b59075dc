"""What a fleet survives, against sums by hand and against every set of replicas that may go."""

import itertools
import random
from dataclasses import replace
from fractions import Fraction

import pytest

from planner.constraints.shares import best_split
from planner.explain.carrying import Carrying
from planner.explain.near_split import near_factor
from planner.explain.survival import survival
from planner.schema.choice import Option, Share
from planner.schema.fleet import (
    Api,
    Deferrable,
    FleetChoice,
    FleetDemand,
    FleetProblem,
    Host,
    Line,
    PeriodChoice,
    Site,
)

F = Fraction
HERE, THERE = Site("dc", "eu", "a"), Site("dc", "eu", "b")
CLOUD = Site("cloud", "us", "c")


def option(name, *rates, workload="chat", gpus=1, host="box", role="serve"):
    return Option(name, workload, role, host, host, gpus, tuple(F(rate) for rate in rates))


def line(name, term="owned", host="box", site=HERE, unit=1, **more):
    return Line(name, host, host, term, F(1), unit, site=site, **more)


def demand(*needs, workload="chat", role="serve", **more):
    """One bucket; a need per period."""
    return FleetDemand(workload, role, tuple((F(need),) for need in needs), **more)


def share(name, workload="chat", part=1, bucket="all", role="serve"):
    return Share(workload, role, bucket, name, F(part))


BOX = (Host("box", "box"),)


def fleet(options, lines, demands, periods, hosts=BOX, **more):
    return FleetProblem(len(periods), tuple(options), tuple(hosts), tuple(lines), tuple(demands), **more), (
        FleetChoice("optimal", tuple(periods))
    )


def rows(found):
    return {(one.loss, one.name): one for one in found}


def test_one_replica_at_its_worst_hour():
    """4 replicas of 10 for 35, and 3 for 20: without one 30/35 and 20/20."""
    periods = [
        PeriodChoice({("a", HERE): 3}, {"l": 3}, (share("a"),)),
        PeriodChoice({("a", HERE): 4}, {"l": 4}, (share("a"),)),
    ]
    found = survival(*fleet([option("a", 10)], [line("l")], [demand(20, 35)], periods))
    lost = rows(found)["replica", "chat/serve"]
    assert (lost.period, lost.lost_gpus, lost.lost_replicas) == (1, 1, 1)
    assert lost.share == pytest.approx(30 / 35)
    assert not lost.survives
    assert not lost.is_lower_bound


def test_headroom_is_what_a_loss_may_eat():
    """Demand 30 with 20 % headroom is 36: 30 is five sixths of it, and all that really comes."""
    periods = [PeriodChoice({("a", HERE): 4}, {"l": 4}, (share("a"),))]
    lost = rows(
        survival(*fleet([option("a", 10)], [line("l")], [demand(36)], periods), headroom={"chat": F("0.2")})
    )["replica", "chat/serve"]
    assert lost.share == pytest.approx(5 / 6)
    assert lost.share_without_headroom == 1
    assert lost.carried[0].share_without_headroom == 1
    assert not lost.survives


def test_max_utilization_limits_what_the_rest_carries():
    periods = [PeriodChoice({("a", HERE): 4}, {"l": 4}, (share("a"),))]
    problem, choice = fleet([option("a", 10)], [line("l")], [demand(30, max_utilization=F("0.9"))], periods)
    assert rows(survival(problem, choice))["replica", "chat/serve"].share == pytest.approx(27 / 30)


def test_zones_regions_and_providers_go_with_all_that_stands_there():
    options = [option("a", 10), option("c", 10, host="rented")]
    lines = [line("l"), line("m", site=THERE), line("r", "on_demand", "rented", CLOUD)]
    counts = {("a", HERE): 3, ("a", THERE): 2, ("c", CLOUD): 1}
    periods = [
        PeriodChoice(counts, {"l": 4, "m": 2, "r": 1}, (share("a", part=F(4, 5)), share("c", part=F(1, 5))))
    ]
    hosts = (Host("box", "box"), Host("rented", "rented"))
    found = rows(survival(*fleet(options, lines, [demand(40)], periods, hosts)))
    kinds = ("zone", "region", "provider")
    shares = {key: one.share for key, one in found.items() if key[0] in kinds}
    assert shares == {
        ("zone", "dc/eu/a"): 0.75,
        ("zone", "dc/eu/b"): 1.0,
        ("zone", "cloud/us/c"): 1.0,
        ("region", "dc/eu"): 0.25,
        ("region", "cloud/us"): 1.0,
        ("provider", "dc"): 0.25,
        ("provider", "cloud"): 1.0,
    }
    assert found["zone", "dc/eu/a"].lost_gpus == 4  # the idle one too
    assert found["zone", "dc/eu/a"].lost_replicas == 3
    assert {key for key, one in found.items() if not one.survives} == {
        ("zone", "dc/eu/a"),
        ("region", "dc/eu"),
        ("provider", "dc"),
    }


def test_places_without_a_name_are_not_lost_apart():
    periods = [PeriodChoice({("a", Site()): 4}, {"l": 4}, (share("a"),))]
    found = survival(*fleet([option("a", 10)], [line("l", site=Site())], [demand(10)], periods))
    assert {one.loss for one in found} == {"replica"}


def test_the_server_that_hurts_most_is_full_of_one_pool():
    """A server of 8 holds 4 replicas of 2 GPUs of chat, or 8 of one GPU of code."""
    options = [option("a", 10, gpus=2), option("b", 5, workload="code")]
    periods = [
        PeriodChoice({("a", HERE): 8, ("b", HERE): 8}, {"l": 24}, (share("a"), share("b", workload="code")))
    ]
    hosts = (Host("box", "box", 8),)
    demands = [demand(60), demand(20, workload="code")]
    found = rows(survival(*fleet(options, [line("l", unit=8)], demands, periods, hosts)))
    chat, code = found["server", "chat/serve"], found["server", "code/serve"]
    assert [(one.workload, one.share) for one in chat.carried] == [
        ("chat", pytest.approx(40 / 60)),
        ("code", 1.0),
    ]
    assert (chat.lost_gpus, chat.lost_replicas) == (8, 4)
    assert chat.share == pytest.approx((40 + 20) / 80)
    assert (code.lost_replicas, code.carried[1].share) == (8, 0.0)


def test_a_replica_of_two_servers_goes_with_one_of_them():
    options = [option("a", 10, gpus=16)]
    periods = [PeriodChoice({("a", HERE): 2}, {"l": 32}, (share("a"),))]
    found = rows(
        survival(*fleet(options, [line("l", unit=8)], [demand(10)], periods, (Host("box", "box", 8),)))
    )
    lost = found["server", "chat/serve"]
    assert (lost.lost_gpus, lost.lost_replicas, lost.survives) == (8, 1, True)


def test_spot_takes_the_replicas_that_no_longer_fit():
    """10 GPUs of which 6 are spot: 4 replicas of 1 GPU stay, of either workload 2 of 4 are asked."""
    options = [option("a", 10), option("b", 10, workload="code")]
    lines = [line("l"), line("s", "spot")]
    periods = [
        PeriodChoice(
            {("a", HERE): 5, ("b", HERE): 5}, {"l": 4, "s": 6}, (share("a"), share("b", workload="code"))
        )
    ]
    lost = rows(survival(*fleet(options, lines, [demand(40), demand(20, workload="code")], periods)))[
        "spot", "all spot GPUs"
    ]
    # 3 for chat and 1 for code (30/40, 10/20), or 2 and 2 (20/40, 20/20): half at least, 40 of 60 in all.
    assert min(one.share for one in lost.carried) == 0.5
    assert lost.share == pytest.approx(40 / 60)
    assert (lost.lost_gpus, lost.lost_replicas, lost.is_lower_bound) == (6, 6, False)


def test_spot_beside_idle_gpus_loses_nothing():
    lines = [line("l"), line("s", "spot")]
    periods = [PeriodChoice({("a", HERE): 2}, {"l": 2, "s": 2}, (share("a"),))]
    lost = rows(survival(*fleet([option("a", 10)], lines, [demand(20)], periods)))["spot", "all spot GPUs"]
    assert (lost.lost_replicas, lost.survives) == (0, True)


@pytest.mark.parametrize("seed", range(25))
def test_spot_against_every_set_that_stays(seed):
    """Two workloads, replicas of 1, 2 and 4 GPUs at two sites, one or two buckets."""
    draw = random.Random(seed)
    buckets = draw.choice([("all",), ("short", "long")])
    options = [
        option(
            f"o{n}", *(draw.randint(1, 9) for _ in buckets), workload=draw.choice(["chat", "code"]), gpus=g
        )
        for n, g in enumerate((1, 2, 4))
    ]
    asked = sorted({one.workload for one in options})
    demands = [
        FleetDemand(name, "serve", (tuple(F(draw.randint(2, 20)) for _ in buckets),), buckets)
        for name in asked
    ]
    counts = {(one.id, site): draw.randint(0, 3) for one in options for site in (HERE, THERE)}
    firm = {HERE: draw.randint(0, 6), THERE: draw.randint(0, 6)}
    lines = [line("h"), line("t", site=THERE), line("s", "spot"), line("z", "spot", site=THERE)]
    bought = {"h": firm[HERE], "t": firm[THERE], "s": 30, "z": 30}
    problem, choice = fleet(options, lines, demands, [PeriodChoice(counts, bought)])
    lost = rows(survival(problem, choice))["spot", "all spot GPUs"]

    def least(kept):
        shares = []
        for one in demands:
            mine = [o for o in options if o.workload == one.workload]
            split = best_split(
                [o.rates_rps for o in mine],
                [F(sum(kept[o.id, site] for site in firm)) for o in mine],
                one.demand_rps[0],
            )
            shares.append(min(F(1), split.factor))
        return min(shares)

    best = F(-1)
    places = list(counts)
    for numbers in itertools.product(*(range(counts[place] + 1) for place in places)):
        kept = dict(zip(places, numbers, strict=True))
        rooms = {site: sum(o.gpus * kept[o.id, site] for o in options) for site in firm}
        if all(rooms[site] <= firm[site] for site in firm):
            best = max(best, least(kept))
    found = min((one.share for one in lost.carried), default=1.0)
    if lost.is_lower_bound:
        assert found <= float(best) + 1e-12
    else:
        assert found == pytest.approx(float(best))


def test_many_replicas_are_dropped_one_by_one():
    """20 options, 400 replicas of one GPU, a tenth stays: less than the best, but never more."""
    options = [option(f"o{n:02}", n + 1, workload=f"w{n % 4}") for n in range(20)]
    lines = [line("l"), line("s", "spot")]
    demands = [demand(2000, workload=f"w{n}") for n in range(4)]
    counts = {(one.id, HERE): 20 for one in options}
    lost = rows(survival(*fleet(options, lines, demands, [PeriodChoice(counts, {"l": 40, "s": 360})])))[
        "spot", "all spot GPUs"
    ]
    assert lost.is_lower_bound
    assert lost.lost_replicas == 360
    # With the fastest (17, 18, 19, 20) of each: at most x of each, x/17 + x/18 + x/19 + x/20 = 40.
    assert 0.06 < min(one.share for one in lost.carried) <= 40 / sum(1 / n for n in (17, 18, 19, 20)) / 2000


def test_buckets_are_split_again_after_a_loss():
    """Each option is good at one bucket: without the second replica of b the other helps, badly."""
    options = [option("a", 10, 2), option("b", 2, 10)]
    asked = FleetDemand("chat", "serve", ((F(10), F(20)),), ("short", "long"))
    shares = (share("a", bucket="short"), share("b", bucket="long"))
    periods = [PeriodChoice({("a", HERE): 2, ("b", HERE): 2}, {"l": 4}, shares)]
    problem, choice = fleet(options, [line("l")], [asked], periods)
    lost = rows(survival(problem, choice))["replica", "chat/serve"]
    # Without one of b: f with 10 f on a (f replicas of it) and 20 f = 10 + 2 (2 - f): f = 14 / 22.
    assert lost.share == pytest.approx(14 / 22)


def test_prefill_and_decode_both_have_to_carry():
    options = [option("p", 10, role="prefill"), option("d", 20, role="decode")]
    demands = [demand(20, role="prefill"), demand(20, role="decode"), demand(20)]
    shares = (share("p", role="prefill"), share("d", role="decode"))
    periods = [PeriodChoice({("p", HERE): 2, ("d", HERE): 2}, {"l": 4}, shares)]
    found = rows(survival(*fleet(options, [line("l")], demands, periods)))
    assert found["replica", "chat/prefill"].share == 0.5
    assert found["replica", "chat/decode"].share == 1
    assert len(found["replica", "chat/decode"].carried) == 1


def test_an_outside_supplier_keeps_its_share_and_may_be_lost():
    options = [option("a", 10)]
    periods = [
        PeriodChoice({("a", HERE): 2}, {"l": 2}, (share("a", part=F(1, 2)), share("api", part=F(1, 2))))
    ]
    api = Api("api", "chat", ((F(5),),))
    found = rows(survival(*fleet(options, [line("l")], [demand(40)], periods, apis=(api,))))
    replica, supplier = found["replica", "chat/serve"], found["supplier", "outside supplier"]
    assert replica.share == 0.75
    assert replica.carried[0].supplier_could_help
    assert supplier.share == 0.5
    assert not supplier.carried[0].supplier_could_help


def test_work_that_may_wait_is_measured_at_its_level():
    asked = demand(10, 10, deferrable=Deferrable((F(1), F(1)), 2))
    periods = [
        PeriodChoice({("a", HERE): 2}, {"l": 2}, (share("a"),), levels={"chat": F(2)}),
        PeriodChoice({}, {}, (), levels={"chat": F(0)}),
    ]
    lost = rows(survival(*fleet([option("a", 10)], [line("l")], [asked], periods)))["replica", "chat/serve"]
    assert (lost.share, lost.carried[0].may_wait) == (0.5, True)


def test_the_hour_counts_in_which_some_workload_is_hit_hardest():
    """Code is small: at hour 1 it loses everything, at hour 0 chat loses half."""
    options = [option("a", 10), option("b", 1, workload="code")]
    shares = (share("a"), share("b", workload="code"))
    periods = [
        PeriodChoice({("a", HERE): 1, ("a", THERE): 1, ("b", THERE): 2}, {"l": 1, "m": 3}, shares),
        PeriodChoice({("a", THERE): 2, ("b", HERE): 2}, {"l": 2, "m": 2}, shares),
    ]
    lines = [line("l"), line("m", site=THERE)]
    demands = [demand(20, 20), demand(2, 2, workload="code")]
    lost = rows(survival(*fleet(options, lines, demands, periods)))["zone", "dc/eu/a"]
    assert lost.period == 1
    assert [(one.workload, one.share) for one in lost.carried] == [("chat", 1.0), ("code", 0.0)]
    assert lost.share == pytest.approx(20 / 22)


def test_nothing_is_lost_where_there_is_no_plan():
    problem, _ = fleet([option("a", 10)], [line("l")], [demand(1)], [PeriodChoice()])
    assert survival(problem, FleetChoice("infeasible")) == ()


@pytest.mark.parametrize("seed", range(10))
def test_weights_bound_what_is_carried(seed):
    draw = random.Random(seed)
    buckets = ("short", "long", "huge")
    options = [option(f"o{n}", *(draw.randint(1, 9) for _ in buckets)) for n in range(3)]
    asked = FleetDemand("chat", "serve", (tuple(F(draw.randint(40, 90)) for _ in buckets),), buckets)
    periods = [PeriodChoice({(one.id, HERE): draw.randint(1, 3) for one in options}, {"l": 9})]
    known = Carrying(*fleet(options, [line("l")], [asked], periods))
    weights, counts = known.weights(asked, 0), known.counts(0)
    assert known.factor(asked, 0, counts) == sum(weights[name] * count for name, count in counts.items())
    fewer = {name: count - 1 for name, count in counts.items()}
    assert known.factor(asked, 0, fewer) <= sum(weights[name] * count for name, count in fewer.items())


@pytest.mark.parametrize("seed", range(40))
def test_the_fast_split_is_near_the_exact_one(seed):
    draw = random.Random(seed)
    options, buckets = draw.randint(1, 6), draw.randint(1, 6)
    rates = [[F(draw.randint(0, 30), 7) for _ in range(buckets)] for _ in range(options)]
    capacity = [F(draw.randint(0, 9)) for _ in range(options)]
    needs = [F(draw.randint(1, 50), 3) for _ in range(buckets)]
    exact = best_split(rates, capacity, needs).factor
    assert near_factor(rates, capacity, needs) == pytest.approx(float(exact), abs=1e-9, rel=1e-9)


def test_all_that_is_carried_is_told_exactly():
    """One part in 10^12 short of the demand is short, in floating point too."""
    options = [option("a", 10, 2), option("b", 2, 10)]
    for more, enough in ((F(0), True), (F(1, 10**12), False)):
        asked = FleetDemand("chat", "serve", ((F(10), F(10) + more),), ("short", "long"))
        problem, choice = fleet(
            options, [line("l")], [asked], [PeriodChoice({("a", HERE): 1, ("b", HERE): 1})]
        )
        near = Carrying(problem, choice, exact=False)
        assert (near.factor(asked, 0, near.counts(0)) == 1) is enough


def test_a_shared_gpu_goes_with_all_its_slices():
    """Three slices a GPU: 6 replicas of 5 on 2 GPUs; without one GPU half is left, without a slice 25."""
    sliced = replace(option("a", 5), slices=3)
    periods = [PeriodChoice({("a", HERE): 6}, {"l": 2}, (share("a"),))]
    found = rows(survival(*fleet([sliced], [line("l")], [demand(30)], periods)))
    shared = found["gpu", "chat/serve"]
    assert (shared.lost_gpus, shared.lost_replicas, shared.share) == (1, 3, 0.5)
    assert found["replica", "chat/serve"].share == pytest.approx(25 / 30)
