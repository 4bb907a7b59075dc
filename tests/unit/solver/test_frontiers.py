"""Parts of the fewest GPUs of an hour: points, sets of options that fit, what a number of GPUs costs."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from planner.schema.choice import Coupling, Option
from planner.schema.fleet import FleetChoice, FleetDemand, FleetProblem, Host, Line, PeriodChoice, Site
from planner.solver.hours_alone import hour_of
from planner.solver.mip.hours import points as points_module
from planner.solver.mip.hours.frontiers import Frontiers
from planner.solver.mip.hours.offers import least_cost, offers_of, with_reserved
from planner.solver.mip.hours.pair_sets import fitting_sets
from planner.solver.mip.hours.points import merged, pruned, together
from planner.solver.mip.hours.work_frontier import WorkFrontier
from planner.solver.mip.prepared import prepare

SITE = Line("x", "g", "g", "owned", Fraction(0)).site


def minimal(points):
    return {
        tuple(one)
        for one in points.tolist()
        if not any(
            other != one and all(a <= b for a, b in zip(other, one, strict=True)) for other in points.tolist()
        )
    }


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("grid", [10**9, 0])
def test_pruned_points_are_the_minimal_ones(monkeypatch, width, grid):
    monkeypatch.setattr(points_module, "_GRID", grid)
    rng = np.random.default_rng(width)
    for _ in range(30):
        points = rng.integers(3, 12, size=(rng.integers(1, 40), width))
        found = pruned(points)
        assert {tuple(one) for one in found.tolist()} == minimal(points)
        assert len(found) == len(minimal(points))


def test_merged_points_lie_below_those_they_stand_for():
    points = np.random.default_rng(1).integers(0, 500, size=(900, 3))
    few = merged(points, 100)
    assert len(few) <= 100
    assert all((few <= one).all(axis=1).any() for one in points)


def test_sums_of_points():
    first, second = np.array([[0, 3], [2, 0]]), np.array([[1, 1], [0, 4]])
    assert {tuple(one) for one in together(first, second).tolist()} == {(1, 4), (3, 1), (0, 7)}


def option(name, role, **more):
    return Option(name, "w", role, "g", "g", 1, (Fraction(1),), **more)


def test_sets_of_options_hold_every_pair_that_fits():
    """By brute force: what fits pair by pair is within a set, and every set fits."""
    limit = Coupling("w", Fraction(6))
    prefill = [
        option(f"p{n}", "prefill", ttft_s=Fraction(n + 1), transfer_s=Fraction(n % 3), kv=kv)
        for n, kv in enumerate(["a", "b", None, "a", "b"])
    ]
    decode = [
        option(f"d{n}", "decode", transfer_s=Fraction(2 * n), kv=kv)
        for n, kv in enumerate(["a", "b", None, "a"])
    ]

    def fits(p, d):
        same = p.kv is None or d.kv is None or p.kv == d.kv
        return same and p.ttft_s + max(p.transfer_s, d.transfer_s) <= 6

    (sets,) = fitting_sets(prefill, decode, limit).values()
    for first, second in sets:
        assert all(fits(prefill[a], decode[b]) for a, b in itertools.product(first, second))
    for some, others in itertools.product(_groups(5), _groups(4)):
        if all(fits(prefill[a], decode[b]) for a, b in itertools.product(some, others)):
            assert any(some <= first and others <= second for first, second in sets)


def _groups(count):
    return [
        frozenset(one) for size in range(1, count + 1) for one in itertools.combinations(range(count), size)
    ]


def problem(lines, periods=1, **more):
    demand = FleetDemand("w", "serve", ((Fraction(4),),) * periods)
    options = (option("one", "serve"), Option("two", "w", "serve", "g", "g", 2, (Fraction(3),)))
    return FleetProblem(periods, options, (Host("g", "g"),), tuple(lines), (demand,), **more)


def test_what_a_number_of_gpus_costs():
    lines = [
        Line("cheap", "g", "g", "owned", Fraction(1), unit_gpus=2, max_gpus=4),
        Line("dear", "g", "g", "on_demand", Fraction(3), unit_gpus=2, max_gpus=4),
    ]
    cost, taken = least_cost(offers_of(problem(lines), {("g", SITE)}), 1, 9, {1: 5.0})
    assert cost[:9].tolist() == [0, 2, 2, 4, 4, 14, 14, 24, 24]
    assert cost[9] > 1e9
    assert taken[1].tolist() == [0, 0, 0, 0, 0, 2, 2, 4, 4, 4]


@pytest.mark.parametrize("reserves", [False, True])
@pytest.mark.parametrize("units", [1, 2])
@pytest.mark.parametrize("shared", [0, 1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_lines_with_a_share_of_their_type(shared, units, reserves, seed):
    """As all purchases say, looked at one by one; several such lines, or GPUs in reserve, never cost more."""
    rng = np.random.default_rng(seed)
    share = Fraction(int(rng.integers(1, 4)), 4) / max(shared, 1)
    lines = [
        Line(f"l{n}", "g", "g", "spot", Fraction(int(rng.integers(1, 9))), max_gpus=int(rng.integers(2, 7)),
             max_share=share if n < shared else None,
             reserve=Fraction(int(rng.integers(0, 4)), 10) if reserves else Fraction(0))
        for n in range(shared + 2)
    ]  # fmt: skip
    least = np.full(8 * units + 1, np.inf)
    for bought in itertools.product(*(range(line.max_gpus + 1) for line in lines)):
        pairs = list(zip(lines, bought, strict=True))
        if any(line.max_share and n > line.max_share * sum(bought) for line, n in pairs):
            continue
        used = math.floor(units * sum(n * (1 - line.reserve) for line, n in pairs))
        usd = sum(float(line.usd_per_gpu_h) * n for line, n in pairs)
        least[: used + 1] = np.minimum(least[: used + 1], usd)
    cost, _ = least_cost(offers_of(problem(lines), {("g", SITE)}), units, 8 * units)
    assert (cost <= least * (1 + 1e-6)).all()
    if shared <= 1 and not any(line.reserve for line in lines):
        assert (cost == np.where(np.isinf(least), cost, least)).all()
        assert ((cost >= 1e12) == np.isinf(least)).all()


@pytest.mark.parametrize("units", [1, 2])
@pytest.mark.parametrize("seed", range(12))
def test_a_line_whose_gpus_carry_in_part(units, seed):
    """As all purchases say, where its replicas are on no other line's GPUs."""
    rng = np.random.default_rng(seed)
    reserve, share = Fraction(int(rng.integers(1, 5)), 10), Fraction(int(rng.integers(0, 4)), 4)
    dear = [Fraction(int(usd)) for usd in rng.integers(1, 9, 3)]
    lines = [
        Line("odd", "g", "g", "spot", dear[0] / 2, 1 + seed % 2, 2 * int(rng.integers(1, 5)),
             max_share=share if seed % 3 else None, reserve=reserve, site=replace(SITE, lot="odd")),
        Line("one", "g", "g", "reserved", dear[1], max_gpus=int(rng.integers(2, 7))),
        Line("other", "g", "g", "on_demand", dear[2], max_gpus=int(rng.integers(2, 7))),
    ]  # fmt: skip
    least = np.full(12 * units + 1, np.inf)
    for odd, *others in itertools.product(*(range(line.max_gpus + 1) for line in lines)):
        whole = odd % lines[0].unit_gpus == 0
        if whole and (lines[0].max_share is None or odd <= share * (odd + sum(others))):
            used = units * sum(others) + math.floor(units * odd * (1 - reserve))
            usd = sum(float(line.usd_per_gpu_h) * n for line, n in zip(lines, (odd, *others), strict=True))
            least[: used + 1] = np.minimum(least[: used + 1], usd)
    at = {("g", SITE), ("g", replace(SITE, lot="odd"))}
    cost, taken = least_cost(
        offers_of(problem(lines), at), units, 12 * units, {1: float(lines[1].usd_per_gpu_h)}
    )
    known = np.isfinite(least)
    assert cost[known] == pytest.approx(least[known])
    assert (cost[~known] >= 1e11).all()
    assert (taken[1] <= lines[1].max_gpus).all()


def test_a_share_counts_what_is_bought_elsewhere_too():
    """Of the first site's GPUs all may be spot where the second one has as many of them."""
    here, there = Line("a", "g", "g", "spot", Fraction(1)).site, replace(SITE, zone="z")
    lines = [
        Line("spot", "g", "g", "spot", Fraction(1), site=here, max_share=Fraction(1, 2)),
        Line("dear", "g", "g", "on_demand", Fraction(3), site=there),
    ]
    cost, _ = least_cost(offers_of(problem(lines), {("g", here)}), 1, 4)
    assert cost.tolist() == [0, 1, 2, 3, 4]
    both, _ = least_cost(offers_of(problem(lines), {("g", here), ("g", there)}), 1, 4)
    assert both.tolist() == [0, 3, 4, 7, 8]


@pytest.mark.parametrize(("used", "reserved"), [([4, 4, 4, 0], 4), ([4, 0, 0, 0], 0), ([4, 2, 2, 2], 2)])
def test_as_many_are_reserved_as_pay(used, reserved):
    lines = [
        Line("kept", "g", "g", "reserved", Fraction(1)),
        Line("hired", "g", "g", "on_demand", Fraction(2)),
    ]
    found = with_reserved(offers_of(problem(lines), {("g", SITE)}), 1, np.array(used))
    assert sum(offer.most for offer in found if offer.line.id == "kept") == reserved
    assert all(offer.usd_per_h == 0 for offer in found if offer.line.id == "kept")


@pytest.mark.parametrize(
    ("types", "share", "kinds"),
    [(2, None, 4), (3, None, 3), (2, Fraction(1, 2), 2)],
    ids=["by place", "too many kinds", "a share over places"],
)
def test_types_of_gpus_are_counted_at_their_places_where_these_are_few(types, share, kinds):
    sites = replace(SITE, provider="own"), replace(SITE, provider="cloud")
    gpus = [f"g{number}" for number in range(types)]
    question = FleetProblem(
        2,
        tuple(Option(gpu, "w", "serve", gpu, gpu, 1, (Fraction(1),)) for gpu in gpus),
        tuple(Host(gpu, gpu) for gpu in gpus),
        tuple(
            Line(
                f"{gpu}/{at}", gpu, gpu, "spot", Fraction(1 + at), site=site, max_share=share if at else None
            )
            for gpu in gpus
            for at, site in enumerate(sites)
        ),
        (FleetDemand("w", "serve", ((Fraction(2),), (Fraction(3),))),),
        places={site.provider: (site,) for site in sites},
    )
    fronts = Frontiers(prepare(question))
    assert (len(fronts.kinds), len(set(fronts.placed_at))) == (kinds, 2 * types)
    assert fronts.prove(float("inf"))[0] == pytest.approx(5.0)


def test_a_workload_takes_the_fewest_gpus():
    """4 requests/s: two of 3 on 4 GPUs, or one of 3 and one of 1 on 3."""
    prepared = prepare(problem([Line("l", "g", "g", "on_demand", Fraction(1))]))
    frontier = WorkFrontier(prepared.works[0], (("g", ""),), {}, 1)
    assert frontier.at(0).tolist() == [[3]]
    frontier.learn(0, np.array([3]), np.array([5]))
    assert frontier.at(0).tolist() == [[5]]


def test_an_hour_of_a_plan_has_its_reserved_gpus_for_nothing():
    lines = [
        Line("kept", "g", "g", "reserved", Fraction(1), max_gpus=9),
        Line("hired", "g", "g", "on_demand", Fraction(2)),
    ]
    hours = tuple(PeriodChoice(bought={"kept": 3, "hired": t}) for t in range(2))
    found = hour_of(problem(lines, 2), FleetChoice("feasible", periods=hours), 1)
    assert [(line.id, line.usd_per_gpu_h, line.max_gpus) for line in found.lines] == [
        ("kept", 0, 3),
        ("hired", 2, None),
    ]
    assert (found.periods, found.demands[0].demand_rps) == (1, ((4,),))


@pytest.mark.parametrize("seed", range(25))
def test_a_workload_with_some_of_its_options_is_one_that_has_no_others(seed):
    """Prefill and decode at two places, with formats and transfers: points of every subset of the options."""
    rng = np.random.default_rng(seed)
    sites = {"here": Site("p", "a"), "there": Site("p", "b")}

    def options(role):
        return [
            Option(
                f"{role}{n}", "chat", role, gpu, gpu, int(rng.integers(1, 4)),
                (Fraction(int(rng.integers(1, 9))),), kv=str(rng.choice(["x", "y"])), place=place,
                transfer_s=Fraction(int(rng.integers(0, 3))),
                ttft_s=Fraction(int(rng.integers(1, 4))) if role == "prefill" else None,
            )
            for n, (gpu, place) in enumerate(itertools.product("gh", ("here", "there", "here")))
        ]  # fmt: skip

    mine = [*options("prefill"), *options("decode")]
    kept = [option for option in mine if rng.random() < 0.7]
    hours = tuple((Fraction(int(rng.integers(0, 30))),) for _ in range(4))
    problem = FleetProblem(
        4,
        tuple(mine),
        tuple(Host(gpu, gpu) for gpu in "gh"),
        tuple(
            Line(f"{gpu}/{place}", gpu, gpu, "on_demand", Fraction(1), site=site)
            for gpu, (place, site) in itertools.product("gh", sites.items())
        ),
        tuple(FleetDemand("chat", role, hours) for role in ("prefill", "decode")),
        couplings=(Coupling("chat", Fraction(4)),),
        places={place: (site,) for place, site in sites.items()},
    )
    every = Frontiers(prepare(problem, dominance=False))
    few = Frontiers(prepare(replace(problem, options=tuple(kept)), dominance=False))
    names = {option.id for option in kept}
    pools = every.prepared.works[0].pools
    allowed = {
        n: frozenset(i for i, option in enumerate(pool.options) if option.id in names)
        for n, pool in enumerate(pools)
    }
    among = every.works[0].among(allowed, 12)
    alone = few.of_work(few.prepared.works[0], parts=12)
    for period in range(4):
        found, known = among.at(period), alone.at(period)
        assert (found is None) == (known is None)
        if found is not None:
            assert {tuple(one) for one in found.tolist()} == {tuple(one) for one in known.tolist()}
