"""Small fleets over measured workers, as files; and their plans added up again by hand."""

from __future__ import annotations

import copy
from pathlib import Path

import yaml

from planner.app.session import Session

TABLE = """option,workload,bucket,gpu,gpus,max_rps
h100x1,chat,short,h100,1,10
h100x1,chat,long,h100,1,3
a100x1,chat,short,a100,1,5
a100x1,chat,long,a100,1,1
h100x2,code,all,h100,2,4
a100x4,code,all,a100,4,3
"""
RATES = {
    ("h100x1", "short"): 10.0,
    ("h100x1", "long"): 3.0,
    ("a100x1", "short"): 5.0,
    ("a100x1", "long"): 1.0,
    ("h100x2", "all"): 4.0,
    ("a100x4", "all"): 3.0,
}
SHARES = {"chat": {"short": 0.7, "long": 0.3}, "code": {"all": 1.0}}
HOURS = {"chat": [10, 20, 40, 30], "code": [2, 6, 10, 4]}
FLEET = {
    "name": "small-fleet",
    "workers": "workers.csv",
    "workloads": [
        {
            "name": "chat",
            "demand": {"hourly_rps": HOURS["chat"]},
            "buckets": {"short": 0.7, "long": 0.3},
        },
        {"name": "code", "demand": {"hourly_rps": HOURS["code"]}},
    ],
    "fleet": {
        "headroom": {"capacity": "20 %"},
        "supply": [
            {
                "gpu": "h100",
                "term": "owned",
                "usd_per_gpu_h": 0.51,
                "max_gpus": 4,
                "provider": "dc1",
                "region": "eu",
                "zone": "a",
            },
            {"gpu": "h100", "term": "reserved", "usd_per_gpu_h": 2.5, "max_gpus": 8, "region": "eu"},
            {"gpu": "h100", "term": "on_demand", "usd_per_gpu_h": 4.3, "max_gpus": 64, "region": "eu"},
            {"gpu": "a100", "term": "on_demand", "usd_per_gpu_h": 2.0, "max_gpus": 64, "region": "us"},
            {
                "gpu": "a100",
                "term": "spot",
                "usd_per_gpu_h": 1.0,
                "max_gpus": 8,
                "max_share": "50 %",
                "region": "us",
            },
        ],
        "quota": {"eu": 12},
    },
}


def values(**fleet):
    """The small fleet, with keys of ``fleet`` replaced."""
    changed = copy.deepcopy(FLEET)
    changed["fleet"].update(fleet)
    return changed


def written(folder: Path, problem, table: str = TABLE) -> Path:
    """The problem as a file with its table beside it."""
    (folder / "workers.csv").write_text(table, encoding="utf-8")
    path = folder / "fleet.yaml"
    path.write_text(yaml.safe_dump(problem, sort_keys=False), encoding="utf-8")
    return path


def planned(folder: Path, problem, table: str = TABLE):
    """The plan of a problem."""
    return Session.load(written(folder, problem, table)).solve()


def faults_of(plan, problem):
    """What does not add up in a plan over the small table, told from the document alone."""
    headroom = 1 + float(problem["fleet"].get("headroom", {}).get("capacity", "20 %").split()[0]) / 100
    lines = _lines(problem)
    found = []
    for period in plan.periods:
        rows = [row for row in plan.supply if row.period == period.period]
        found += [*_money(period, rows, lines), *_room(plan, period, rows, lines)]
        found += _load(plan, period, headroom)
    return [*found, *_sums(plan)]


def _lines(problem):
    """Lines of the supply by id."""
    lines = {}
    for line in problem["fleet"]["supply"]:
        name = f"{line['gpu']}/{line['term']}"
        same = sum(1 for other in lines if other.partition("#")[0] == name)
        lines[name if not same else f"{name}#{same + 1}"] = line
    return lines


def _money(period, rows, lines):
    paid = sum(row.gpus * lines[row.line]["usd_per_gpu_h"] for row in rows)
    if abs(paid + period.start_usd + period.api_usd - period.usd) > 1e-6:
        yield f"period {period.period} costs {paid}, stated {period.usd}"


def _room(plan, period, rows, lines):
    pools = {pool.id: pool for pool in plan.pools}
    used, bought = {}, {}
    for pool_id, count in period.replicas.items():
        key = (pools[pool_id].gpu, pools[pool_id].site)
        used[key] = used.get(key, 0) + count * pools[pool_id].gpus_per_replica
    for row in rows:
        line = lines[row.line]
        site = "/".join(line[k] for k in ("provider", "region", "zone") if k in line) or None
        bought[line["gpu"], site] = bought.get((line["gpu"], site), 0) + row.gpus
    for key, gpus in used.items():
        if gpus > bought.get(key, 0):
            yield f"period {period.period}: {gpus} GPUs of {key} used, {bought.get(key, 0)} bought"


def _load(plan, period, headroom):
    pools = {pool.id: pool for pool in plan.pools}
    load, total = {}, {}
    for route in period.routing:
        key = (route.workload, route.bucket)
        total[key] = total.get(key, 0.0) + route.share
        if route.pool in pools:
            need = HOURS[route.workload][period.period] * SHARES[route.workload][route.bucket] * headroom
            busy = need * route.share / RATES[pools[route.pool].option, route.bucket]
            load[route.pool] = load.get(route.pool, 0.0) + busy
    yield from (f"{key} is routed to {share}" for key, share in total.items() if abs(share - 1) > 1e-9)
    for pool, busy in load.items():
        if busy > period.replicas[pool] + 1e-9:
            yield f"period {period.period}: {pool} carries {busy} of {period.replicas[pool]}"


def _sums(plan):
    day = {}
    for route in plan.routing:
        key = (route.workload, route.bucket)
        day[key] = day.get(key, 0.0) + route.share
    yield from (f"{key} is routed to {share} of a day" for key, share in day.items() if abs(share - 1) > 1e-9)
    total = sum(period.usd for period in plan.periods)
    if abs(total - plan.objective.value) > 1e-6:
        yield f"objective {plan.objective.value}, periods add up to {total}"
    if abs(plan.cost_usd_per_hour * len(plan.periods) - total) > 1e-6:
        yield "the mean is not the sum over the hours"
    parts = sum(pool.usd_per_hour for pool in plan.pools) + sum(item.usd_per_hour for item in plan.api)
    parts += sum(period.start_usd for period in plan.periods) / len(plan.periods)
    if abs(parts - plan.cost_usd_per_hour) > 1e-6:
        yield f"pools add up to {parts} of {plan.cost_usd_per_hour}"
