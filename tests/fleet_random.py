"""Small fleet questions with a random choice of everything that a fleet can have."""

import random
from fractions import Fraction

from plan_limits import budget_row, plan_limits, quota_row

from planner.schema.choice import Coupling, Option, Spares
from planner.schema.fleet import (
    Api,
    Changes,
    Deferrable,
    FleetDemand,
    FleetProblem,
    Host,
    Line,
    Site,
    StartCharge,
)

SITES = (Site("p", "r", "a"), Site("p", "r", "b"), Site("q", "r", "a"))


def small_fleet(seed):
    r = random.Random(seed)
    periods = r.choice([1, 1, 2, 3])
    hosts = [Host(f"h{k}", f"g{k}", r.choice([None, None, 4, 8])) for k in range(r.choice([1, 2, 2, 3]))]
    sites = list(SITES[: r.choice([1, 1, 2, 3])])
    lines = _lines(r, hosts, sites)
    demands, options, couplings, apis = [], [], [], []
    for number in range(r.choice([1, 1, 2])):
        _workload(r, f"w{number}", periods, hosts, sites, demands, options, couplings, apis)
    limits = _limits(r, lines, hosts)
    starts = ()
    if r.random() < 0.2:
        starts = (StartCharge(tuple(line.id for line in lines if line.term == "on_demand"), Fraction(1, 2)),)
    return FleetProblem(
        periods, tuple(options), tuple(hosts), tuple(lines), tuple(demands), limits, tuple(couplings),
        tuple(apis), starts,
    )  # fmt: skip


def _lines(r, hosts, sites):
    lines = []
    for host in hosts:
        for k, site in enumerate(sites):
            for term in ("owned", "reserved", "on_demand", "spot"):
                if term == "on_demand" or r.random() < 0.3:
                    lines.append(
                        Line(
                            f"{host.gpu}/{term}#{k}", host.gpu, host.id, term,
                            Fraction(r.randint(20, 90), 10) * {"on_demand": 2}.get(term, 1),
                            host.server_gpus or r.choice([1, 1, 2]),
                            r.randint(1, 12) if r.random() < 0.3 else None, site,
                            Fraction(1, 2) if term == "spot" else None,
                            Fraction(1, 10) if term == "spot" and r.random() < 0.5 else Fraction(0),
                        )
                    )  # fmt: skip
    return lines


def _workload(r, name, periods, hosts, sites, demands, options, couplings, apis):
    buckets = tuple(f"b{k}" for k in range(r.choice([1, 1, 2, 3])))
    modes = r.choice([("serve",), ("serve",), ("prefill", "decode"), ("serve", "prefill", "decode")])
    kind = r.choice(["replicas", "replicas", "per_option", "zones", "providers"])
    spares = Spares(kind, r.choice([0, 1])) if r.random() < 0.6 else Spares()
    waits = None
    if r.random() < 0.15 and periods > 1:
        arrivals = tuple(Fraction(r.randint(0, 4), 4) for _ in range(periods))
        waits = Deferrable(arrivals, r.randint(1, periods))
    mix = r.random() < 0.8
    live = [[r.random() < 0.75 or t == k == 0 for k in range(len(buckets))] for t in range(periods)]
    least: dict[str, int] = {}
    for role in modes:
        rates = [tuple(Fraction(r.choice([2, 3, 6, 9]) * on) for on in row) for row in live]
        allowed = tuple(sites[:1]) if len(sites) > 1 and r.random() < 0.2 else None
        used = r.choice([Fraction(1), Fraction(9, 10)])
        # One number for both roles, as problems state it: else a quiet hour may keep decode workers alone.
        least[role] = least.get("prefill", r.choice([0, 1, 2]))
        demands.append(
            FleetDemand(name, role, tuple(rates), buckets, used, least[role], spares, mix, allowed, waits)
        )
        for index in range(r.choice([1, 2, 3])):
            host = r.choice(hosts)
            counted = r.random() < 0.15
            options.append(
                Option(
                    f"{name}/{role}/{index}", name, role, host.id, host.gpu, r.choice([1, 2, 4]),
                    tuple(
                        Fraction(r.choice([0, 1, 2, 3, 5, 7]) if r.random() < 0.3 else r.randint(2, 7))
                        for _ in buckets
                    ),
                    power_w=Fraction(r.randint(1, 9)),
                    ttft_s=Fraction(r.randint(1, 5), 10) if role == "prefill" else None,
                    transfer_s=Fraction(r.randint(0, 3), 10) if role != "serve" else None,
                    kv=r.choice([None, "x", "y"]) if role != "serve" else None,
                    replicas_from=r.choice([1, 2, 3]) if counted else 1,
                    replicas_to=r.choice([None, 4, 5]) if counted else None,
                )
            )  # fmt: skip
    if len(modes) > 1:
        couplings.append(Coupling(name, Fraction(r.randint(3, 8), 10)))
    if r.random() < 0.2:
        prices = tuple(tuple(Fraction(r.randint(5, 60)) for _ in buckets) for _ in range(periods))
        apis.append(Api(f"api-{name}", name, prices))


def _limits(r, lines, hosts):
    quotas, budgets, changes = (), (), None
    if r.random() < 0.2:
        quotas = (quota_row("quota:q", tuple(line.id for line in lines[::2]), r.randint(2, 12)),)
    if r.random() < 0.2:
        budgets = (budget_row("budget", Fraction(r.randint(30, 200)), r.random() < 0.5),)
    if r.random() < 0.15:
        changes = Changes({hosts[0].gpu: r.randint(0, 8)}, r.randint(4, 20))
    return plan_limits(
        {hosts[-1].gpu: r.randint(2, 16)} if r.random() < 0.2 else {},
        quotas, budgets, r.randint(6, 30) if r.random() < 0.2 else None,
        Fraction(r.randint(10, 60)) if r.random() < 0.15 else None, changes,
        r.choice(["cost", "cost", "cost", "gpus", "power"]),
        (hosts[0].gpu,) if r.random() < 0.15 else (),
        {"": r.randint(3, 20)} if r.random() < 0.15 else None,
    )  # fmt: skip
