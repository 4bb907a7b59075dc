"""Random days that enumeration can finish: a few layouts, hours and lines, starts that cost something."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from plan_limits import budget_row, plan_limits
from simple_day_enumeration import Days, TooMany

from planner.schema.choice import Option, Spares
from planner.schema.fleet import FleetDemand, FleetProblem, Host, Line, Site, StartCharge

HERE, THERE = Site("p", "r1"), Site("q", "r2")


def small_day(rng, hours=1):
    """The next day that enumeration can finish, its enumeration, and what its best plan costs."""
    while True:
        problem = any_day(rng)
        try:
            days = Days(problem, hours)
            if (best := days.cheapest()) is not None:
                return problem, days, best
        except TooMany:
            continue


def any_day(rng):
    periods = rng.choice([4, 5, 6])
    hosts = tuple(Host(f"h{i}", f"g{i}", rng.choice([None, None, 2])) for i in range(rng.choice([1, 2, 2])))
    lines = tuple(_lines(rng, hosts))
    options, demands = [], []
    works = rng.choice([1, 1, 2])
    for w in range(works):
        roles = rng.choice([["serve"]] * 4 + [["prefill", "decode"]])
        spares = Spares(rng.choice(["replicas", "per_option"]), rng.choice([0, 0, 0, 1]))
        # Prefill and decode are idle together.
        level = [Fraction(rng.choice([0, 1, 2, 4, 4, 6, 8]), 4) for _ in range(periods)]
        for role in roles:
            for k in range(rng.choice([1, 2]) if works * len(roles) > 1 else rng.choice([2, 3])):
                options.append(_option(rng, f"w{w}-{role}-{k}", f"w{w}", role, rng.choice(hosts)))
            need = Fraction(rng.randint(2, 6), rng.choice([1, 2]))
            demands.append(
                FleetDemand(
                    f"w{w}", role, tuple((need * part,) for part in level),
                    min_replicas=1, spares=spares,
                )
            )  # fmt: skip
    limits = plan_limits(
        budgets=(budget_row("budget", Fraction(rng.randint(10, 30))),) if rng.random() < 0.2 else (),
        stock_gpus={hosts[0].gpu: rng.randint(3, 8)} if rng.random() < 0.2 else {},
    )
    starts = ()
    if rng.random() < 0.3:
        rented = tuple(line.id for line in lines if line.term in ("on_demand", "spot"))
        starts = (StartCharge(rented, Fraction(rng.randint(1, 4), 4)),) if rented else ()
        options = [replace(o, start_h=Fraction(0), drain_h=Fraction(0)) for o in options]
    return FleetProblem(
        periods, tuple(options), hosts, lines, tuple(demands), limits, (), (), starts,
    )  # fmt: skip


def _lines(rng, hosts):
    for host in hosts:
        terms = rng.sample(["owned", "reserved", "on_demand", "spot"], rng.choice([1, 2, 2, 3]))
        apart = rng.random() < 0.6
        for term in terms:
            unit = host.server_gpus or 1
            place = rng.choice([HERE, HERE, THERE])
            rented = term in ("on_demand", "spot") and apart
            name = f"{host.gpu}/{term}"
            price = {"owned": (0, 6), "reserved": (3, 9), "on_demand": (6, 14), "spot": (2, 9)}[term]
            yield Line(
                name, host.gpu, host.id, term, Fraction(rng.randint(*price), 4), unit,
                None if term == "on_demand" else rng.choice([1, 2, 3, 4]) * unit,
                replace(place, lot=name) if rented else place,
                Fraction(1, 2) if term == "spot" and rng.random() < 0.5 else None,
            )  # fmt: skip


def _option(rng, name, workload, role, host):
    return Option(
        name, workload, role, host.id, host.gpu, rng.choice([1, 1, 2]), (Fraction(rng.randint(2, 8)),),
        start_h=Fraction(rng.choice([0, 1, 3, 9]), 12), drain_h=Fraction(rng.choice([0, 1]), 30),
    )  # fmt: skip
