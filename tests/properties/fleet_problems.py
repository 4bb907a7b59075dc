"""Random fleets that enumeration can finish."""

from __future__ import annotations

import random
from fractions import Fraction

from fleet_enumeration import effort
from plan_limits import budget_row, plan_limits, quota_row

from planner.schema.choice import Coupling, Option, Spares
from planner.schema.fleet import Changes, FleetDemand, FleetProblem, Host, Line, Site, StartCharge

SITES = (Site("p", "r1", "a"), Site("p", "r2", "a"))
MOST_ROWS, MOST_PURCHASES = 4000, 500


def random_fleet(rng: random.Random) -> FleetProblem:
    """The next fleet that enumeration can finish quickly."""
    while True:
        problem = any_fleet(rng)
        rows, bought = effort(problem)
        if rows <= MOST_ROWS and bought <= (60 if problem.starts else MOST_PURCHASES):
            return problem


def any_fleet(rng: random.Random) -> FleetProblem:
    periods = rng.choice([1, 1, 2, 2, 3])
    gpus = ["g0", "g1"][: rng.choice([1, 2, 2])]
    hosts = tuple(Host(f"h{i}", gpu, rng.choice([None, None, 2, 4])) for i, gpu in enumerate(gpus))
    lines = tuple(_lines(rng, hosts))
    ids = [line.id for line in lines]
    options, demands, couplings = [], [], []
    for w in range(rng.choice([1, 1, 2, 2, 3])):
        buckets = rng.choice([1, 1, 2])
        roles = rng.choice([["serve"]] * 6 + [["prefill", "decode"], ["serve", "prefill", "decode"]])
        if "decode" in roles:
            couplings.append(Coupling(f"w{w}", Fraction(rng.randint(4, 9))))
        sites = rng.choice([None, None, None, SITES[:1]])
        # Prefill and decode are idle together, and keep the same spares.
        loads = [rng.choice([4, 4, 4, 3, 2, 1, 0]) for _ in range(periods)]
        least = rng.choice([0, 1, 1, 1, 2])
        spares = Spares(rng.choice(["replicas", "replicas", "per_option"]), rng.choice([0, 0, 1, 1, 2]))
        for role in roles:
            for k in range(rng.randint(1, 2 if len(roles) > 1 else 3)):
                options.append(_option(rng, f"w{w}-{role}-{k}", f"w{w}", role, rng.choice(hosts), buckets))
            demands.append(_demand(rng, f"w{w}", role, loads, buckets, least, spares, sites))
    limits = plan_limits(
        {gpu: rng.randint(1, 10) for gpu in gpus if rng.random() < 0.2},
        (quota_row("quota:r", tuple(rng.sample(ids, min(2, len(ids)))), rng.randint(1, 8)),)
        if rng.random() < 0.2
        else (),
        (budget_row("budget", Fraction(rng.randint(4, 60)), rng.random() < 0.5),)
        if rng.random() < 0.25
        else (),
        rng.randint(2, 12) if rng.random() < 0.15 else None,
        Fraction(rng.randint(4, 30) * 100) if rng.random() < 0.1 else None,
        Changes({gpu: rng.randint(0, 4) for gpu in gpus}, rng.randint(1, 8)) if rng.random() < 0.15 else None,
        rng.choice(["cost", "cost", "cost", "gpus", "power"]),
        tuple(gpu for gpu in gpus if not couplings and rng.random() < 0.07),
        {name: rng.randint(1, 6) for name in ("", "w0") if rng.random() < 0.12},
    )
    charge = Fraction(rng.randint(1, 6), 2)
    starts = (StartCharge(tuple(rng.sample(ids, min(2, len(ids)))), charge),) if rng.random() < 0.3 else ()
    return FleetProblem(
        periods, tuple(options), hosts, lines, tuple(demands), limits, tuple(couplings), (), starts
    )


def _lines(rng, hosts):
    for host in hosts:
        terms = rng.sample(["owned", "reserved", "on_demand", "spot"], rng.choice([1, 2, 2, 3]))
        for term in terms:
            unit = host.server_gpus or 1
            share = Fraction(rng.choice([1, 1, 2]), rng.choice([2, 3])) if term == "spot" else None
            yield Line(
                f"{host.gpu}/{term}", host.gpu, host.id, term,
                Fraction(rng.randint(0, 12), rng.choice([1, 2])), unit,
                rng.randint(2, 9) * rng.choice([1, unit]),
                rng.choice([SITES[0], SITES[0], SITES[1]]), share,
                Fraction(rng.choice([0, 0, 1]), 4) if term == "spot" else Fraction(0),
            )  # fmt: skip


def _option(rng, name, workload, role, host, buckets):
    rates = [Fraction(rng.randint(2, 8) if rng.random() < 0.85 else 0) for _ in range(buckets)]
    rates[rng.randrange(buckets)] = Fraction(rng.randint(2, 8))
    counted = rng.random() < 0.07
    gpus = rng.choice([1, 1, 2, 3])
    return Option(
        name, workload, role, host.id, host.gpu, gpus, tuple(rates),
        power_w=Fraction(rng.randint(1, 4) * 100), ttft_s=Fraction(rng.randint(1, 5)),
        transfer_s=Fraction(rng.randint(0, 4)), kv=rng.choice([None, "bf16", "fp8"]),
        replicas_from=rng.choice([1, 2]) if counted else 1,
        replicas_to=rng.choice([2, 3, None]) if counted else None,
        slices=rng.choice([1, 1, 2, 3]) if gpus == 1 else 1,
    )  # fmt: skip


def _demand(rng, workload, role, loads, buckets, least, spares, sites):
    base = [Fraction(rng.randint(1, 12), rng.choice([1, 2])) for _ in range(buckets)]
    return FleetDemand(
        workload, role, tuple(tuple(rate * Fraction(load, 4) for rate in base) for load in loads),
        tuple(f"b{b}" for b in range(buckets)), rng.choice([Fraction(1), Fraction(1), Fraction(9, 10)]),
        least, spares, rng.random() < 0.8, sites,
    )  # fmt: skip
