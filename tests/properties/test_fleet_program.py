"""The exact engine agrees with a plain mixed-integer program on fleets too large to enumerate."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from fleet_program import smallest_value
from more import seeds
from plan_limits import changed, plan_limits, quota_row

from planner.constraints.fleet_check import broken
from planner.schema.choice import Option, Spares
from planner.schema.fleet import FleetDemand, FleetProblem, Host, Line, Site, StartCharge
from planner.solver.cp.solve import solve_cp

SITES = (Site("p", "eu", "a"), Site("p", "us", "a"))
TERMS = {"owned": 2, "reserved": 6, "on_demand": 10, "spot": 5}


def middle_fleet(rng):
    """Two workloads of two or three buckets, three GPU types, one or two periods, all terms."""
    periods = rng.choice([1, 2])
    hosts = tuple(Host(f"g{n}", f"g{n}", rng.choice([None, 4])) for n in range(3))
    lines = []
    for host in hosts:
        dear = rng.randint(8, 14)
        for term in rng.sample(list(TERMS), 2):
            unit, price = host.server_gpus or 1, Fraction(dear * TERMS[term] + rng.randint(0, 9), 10)
            most, share = rng.randint(3, 12), Fraction(1, 2) if term == "spot" else None
            lines.append(Line(f"{host.id}/{term}", host.gpu, host.id, term, price, unit, most * unit,
                              rng.choice(SITES), share))  # fmt: skip
    options, demands = [], []
    for w in "ab":
        buckets = rng.choice([2, 3])
        for host in hosts:
            # Sizes that divide each other: the program adds up GPUs and does not pack servers.
            for gpus in rng.sample([1, 2, 4], 2):
                rates = tuple(Fraction(rng.randint(0, 30) * gpus, 10) for _ in range(buckets))
                if any(rates):
                    options.append(Option(f"{w}/{host.id}/{gpus}", w, "serve", host.id, host.gpu, gpus, rates,
                                          power_w=Fraction(gpus * rng.randint(3, 7) * 100)))  # fmt: skip
        base = [Fraction(rng.randint(5, 40), 10) for _ in range(buckets)]
        loads = [Fraction(rng.randint(1, 8), 8) for _ in range(periods)]
        demands.append(
            FleetDemand(w, "serve", tuple(tuple(load * rate for rate in base) for load in loads),
                        tuple(f"b{b}" for b in range(buckets)), Fraction(rng.choice([100, 100, 85]), 100),
                        rng.randint(0, 2), Spares(rng.choice(["replicas", "per_option"]), rng.randint(0, 1)))
        )  # fmt: skip
    quota = quota_row("quota:x", tuple(line.id for line in rng.sample(lines, 3)), rng.randint(8, 30))
    limits = plan_limits(
        {"g0": rng.randint(4, 20)} if rng.random() < 0.4 else {}, (quota,),
        objective=rng.choice(["cost", "cost", "gpus", "power"]),
        max_replicas={name: rng.randint(2, 9) for name in ("", "a") if rng.random() < 0.2},
    )  # fmt: skip
    starts = (
        StartCharge(tuple(line.id for line in lines if line.term in ("on_demand", "spot")), Fraction(3, 2)),
    )
    return FleetProblem(
        periods, tuple(options), hosts, tuple(lines), tuple(demands), limits,
        starts=starts if rng.random() < 0.4 else (),
    )  # fmt: skip


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(20))
def test_the_optimum_equals_a_plain_program(seed):
    problem = middle_fleet(random.Random(seed))
    expected = smallest_value(problem)
    choice = solve_cp(problem, goal="value")
    if expected is None:
        assert choice.status == "infeasible"
        return
    assert choice.status == "optimal"
    assert broken(problem, choice) == []
    assert float(choice.value) == pytest.approx(expected, rel=1e-6)
    if choice.value:
        tight = changed(problem.limits, stock_gpus={"g0": 0, "g1": 0, "g2": 0})
        assert solve_cp(replace(problem, limits=tight), goal="value").status == "infeasible"
