"""Prefill and decode at two places: the plan equals enumeration, and each place decodes what it prefills."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import pytest
from fleet_enumeration import best_value, effort
from plan_limits import plan_limits

from planner.constraints.fleet_check import broken
from planner.schema.choice import Coupling, Option, Share, Spares, in_place
from planner.schema.fleet import (
    FleetChoice,
    FleetDemand,
    FleetProblem,
    Host,
    Line,
    PeriodChoice,
    Site,
)
from planner.solver.cp.solve import solve_cp
from planner.solver.places_aside import anywhere, solve_anywhere
from planner.solver.solve import solve_fleet, solve_large

EU, US = Site("p", "eu"), Site("p", "us")
FLEETS = 40


def disaggregated_fleet(rng):
    """One workload served disaggregated over scarce GPUs at two places."""
    while True:
        problem = _any_fleet(rng)
        rows, bought = effort(problem)  # of one pool; both are combined
        if rows**2 * len(problem.demands[0].buckets) ** 3 <= 3000 and bought <= 200:
            return problem


def _any_fleet(rng):
    periods, buckets = rng.choice([1, 1, 2]), rng.choice([1, 1, 2])
    hosts = tuple(Host(f"h{n}", f"g{n}", rng.choice([None, None, 2])) for n in range(rng.choice([1, 2])))
    lines = tuple(
        Line(f"{host.gpu}/on_demand{site.region}", host.gpu, host.id, "on_demand",
             Fraction(rng.randint(1, 9)), host.server_gpus or 1, rng.choice([2, 2, 4, 6]), site)
        for host in hosts for site in (EU, US)
    )  # fmt: skip
    spares = Spares(rng.choice(["replicas", "per_option"]), rng.choice([0, 0, 1]))
    loads = [rng.choice([4, 4, 3, 1, 0]) for _ in range(periods)]
    mix, options, demands = rng.random() < 0.8, [], []
    for role in ("prefill", "decode"):
        base = [Fraction(rng.randint(2, 9)) for _ in range(buckets)]
        demands.append(
            FleetDemand("w", role, tuple(tuple(rate * Fraction(load, 4) for rate in base) for load in loads),
                        tuple(f"b{b}" for b in range(buckets)), rng.choice([Fraction(1), Fraction(9, 10)]),
                        rng.choice([0, 1]), spares, mix)
        )  # fmt: skip
        for k in range(rng.choice([1, 1, 2])):
            host = rng.choice(hosts)
            rates = tuple(Fraction(rng.randint(1, 7)) for _ in range(buckets))
            first_s, transfer_s = Fraction(rng.randint(1, 4)), Fraction(rng.randint(0, 3))
            option = Option(f"{role}{k}", "w", role, host.id, host.gpu, rng.choice([1, 1, 2]), rates,
                            ttft_s=first_s, transfer_s=transfer_s)  # fmt: skip
            options += [replace(option, id=in_place(option.id, p), place=p) for p in ("eu", "us")]
    coupling = Coupling("w", Fraction(rng.randint(4, 7)))
    own = random.Random(repr(lines))  # so that the fleets themselves stay as they were
    limits = plan_limits(
        max_gpus=rng.randint(3, 9) if rng.random() < 0.2 else None,
        max_replicas={"w": own.randint(3, 7)} if own.random() < 0.2 else None,
    )
    return FleetProblem(periods, tuple(options), hosts, lines, tuple(demands), limits, (coupling,),
                        places={"eu": (EU,), "us": (US,)})  # fmt: skip


@pytest.mark.parametrize("seed", range(FLEETS))
def test_the_optimum_equals_enumeration(seed):
    problem = disaggregated_fleet(random.Random(seed))
    expected = best_value(problem)
    # HiGHS alone too: the first tries without places, and seldom needs it.
    for choice in (solve_fleet(problem), solve_large(problem)):
        assert broken(problem, choice) == []
        if expected is None:
            assert choice.status == "infeasible"
            continue
        assert choice.status == "optimal"
        assert choice.value == expected


def test_without_places_nothing_is_dearer_and_some_plans_hold():
    held = 0
    for seed in range(FLEETS):
        problem = disaggregated_fleet(random.Random(seed))
        expected = best_value(problem)
        found = solve_anywhere(problem)
        if expected is None:
            assert found.value is None
            continue
        assert found.lower_bound is not None
        assert found.lower_bound <= expected
        if found.value is not None:
            held += found.status == "optimal"
            assert broken(problem, found) == []
            assert found.value >= expected
            assert found.status == "feasible" or found.value == expected
    assert 5 < held < FLEETS


def hosts_by_place(problem):
    """The same fleet, with servers that have a name of their own at each place."""
    hosts = tuple(replace(host, id=f"{host.id}-{p}") for host in problem.hosts for p in problem.places)
    lines = tuple(replace(line, host=f"{line.host}-{line.site.region}") for line in problem.lines)
    options = tuple(replace(o, supply=f"{o.supply}-{o.place}") for o in problem.options)
    return replace(problem, hosts=hosts, lines=lines, options=options)


def test_pairs_coupled_at_each_place_lose_no_plan():
    for seed in range(FLEETS):
        problem = disaggregated_fleet(random.Random(seed))
        expected = best_value(problem)
        if expected is None or not problem.demands[0].mix:  # with servers of its own a layout is another one
            continue
        loose, exact = solve_anywhere(problem), solve_anywhere(hosts_by_place(problem))
        assert loose.lower_bound <= exact.lower_bound <= expected
        assert exact.status != "optimal" or exact.value == expected


def test_pairs_coupled_at_each_place_prove_what_pairs_wherever_leave_open():
    # The cheap ones of both roles wait too long together; without couplings they look like a plan.
    kinds = {"prefill": ((1, 3, 0), (2, 1, 0)), "decode": ((1, None, 3), (2, None, 1))}
    options, demands = [], []
    for role, modes in kinds.items():
        demands.append(FleetDemand("w", role, ((Fraction(2),),), ("b0",)))
        for gpus, first_s, transfer_s in modes:
            for p in ("eu", "us"):
                options.append(
                    Option(in_place(f"{role}{gpus}", p), "w", role, "h", "g", gpus, (Fraction(2),),
                           ttft_s=first_s, transfer_s=transfer_s, place=p)
                )  # fmt: skip
    lines = tuple(
        Line(f"g/{s.region}", "g", "h", "on_demand", Fraction(usd), site=s) for s, usd in ((EU, 3), (US, 4))
    )
    places = {"eu": (EU,), "us": (US,)}
    coupling = (Coupling("w", Fraction(4)),)
    problem = FleetProblem(1, tuple(options), (Host("h", "g"),), lines, tuple(demands), couplings=coupling,
                           places=places)  # fmt: skip
    loose, exact = solve_anywhere(problem), solve_anywhere(hosts_by_place(problem))
    assert (loose.status, loose.value, loose.lower_bound) == ("feasible", 9, 6)
    assert (exact.status, exact.value, exact.lower_bound) == ("optimal", 9, 9)


def test_pairs_of_different_places_need_not_fit_each_other():
    # Each place has one format, and two cheap GPUs.
    options = tuple(
        Option(in_place(role, p), "w", role, f"h-{p}", "g", 1, (Fraction(1),), kv=p, place=p)
        for role in ("prefill", "decode") for p in ("eu", "us")
    )  # fmt: skip
    lines = tuple(
        Line(f"g/{s.region}{usd}", "g", f"h-{s.region}", "on_demand", Fraction(usd), max_gpus=most, site=s)
        for s in (EU, US) for usd, most in ((1, 2), (5, None))
    )  # fmt: skip
    demands = tuple(FleetDemand("w", role, ((Fraction(2),),), ("b0",)) for role in ("prefill", "decode"))
    hosts = (Host("h-eu", "g"), Host("h-us", "g"))
    coupled = (Coupling("w", None),)
    problem = FleetProblem(1, options, hosts, lines, demands, couplings=coupled,
                           places={"eu": (EU,), "us": (US,)})  # fmt: skip
    loose = replace(anywhere(problem), couplings=coupled)
    assert solve_cp(loose).value == 12
    assert solve_cp(loose, places={o.id: o.place for o in options}).value == 4
    assert solve_fleet(problem).value == 4


def test_some_plans_use_both_places_and_some_only_one():
    used = defaultdict(int)
    for seed in range(20):
        problem = disaggregated_fleet(random.Random(seed))
        for period in solve_fleet(problem).periods:
            used[len({site for (_, site), n in period.counts.items() if n})] += 1
    assert used[1] > 2
    assert used[2] > 2


def test_a_plan_that_decodes_elsewhere_is_told():
    eu, us = (Share("w", "prefill", "b0", f"prefill in {p}", Fraction(1, 2)) for p in ("eu", "us"))
    shares = [
        eu,
        us,
        *(replace(s, role="decode", option=s.option.replace("prefill", "decode")) for s in (eu, us)),
    ]
    options = tuple(
        Option(in_place(role, p), "w", role, "h", "g", 1, (Fraction(2),), place=p)
        for role in ("prefill", "decode") for p in ("eu", "us")
    )  # fmt: skip
    lines = tuple(Line(f"g/{s.region}", "g", "h", "on_demand", Fraction(1), site=s) for s in (EU, US))
    demands = tuple(FleetDemand("w", role, ((Fraction(2),),), ("b0",)) for role in ("prefill", "decode"))
    places = {"eu": (EU,), "us": (US,)}
    problem = FleetProblem(1, options, (Host("h", "g"),), lines, demands, places=places)
    counts = {(option.id, places[option.place][0]): 1 for option in options}

    def faults(*rows):
        period = PeriodChoice(counts, {"g/eu": 2, "g/us": 2}, rows)
        return broken(problem, FleetChoice("feasible", (period,), Fraction(4)))

    assert faults(*shares) == []
    moved = [replace(s, share=Fraction(3, 4) if s.option == "decode in eu" else s.share) for s in shares]
    moved = [replace(s, share=Fraction(1, 4) if s.option == "decode in us" else s.share) for s in moved]
    assert faults(*moved) == ["period 0: place: w decodes b0 elsewhere than it prefills it"]
