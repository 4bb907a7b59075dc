"""No plan of a fleet contradicts itself: sums, shares, loads and limits are added up from its document."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest
import yaml

import planner

SEEDS = [seed for seed in range(17) if seed != 12]
"""12 takes half a minute."""
NEAR = 1e-6
near = pytest.approx
HEADER = "option,workload,bucket,role,gpu,gpus,max_rps,ttft_ms,itl_ms,transfer_ms,kv"
SITES = (
    {"region": "eu", "provider": "p"},
    {"region": "us", "provider": "q"},
    {"region": "eu", "zone": "b"},
    {},
)


def drawn(rng, folder):
    """A table of workers and a fleet over it, with whatever a fleet may state."""
    gpus = ["g0", "g1", "g2"][: rng.choice([2, 3])]
    hours = rng.choice([1, 2, 3, 4])
    rows, workloads, api = [], [], []
    for name in ("chat", "code")[: rng.choice([1, 2])]:
        buckets = ["short", "long"][: rng.choice([1, 1, 2])]
        rows += drawn_rows(rng, name, buckets, gpus)
        workloads.append(drawn_workload(rng, name, buckets, hours))
        if "deadline" not in workloads[-1]["demand"] and rng.random() < 0.25:
            workloads[-1]["lengths"] = {"input": {"p50": 500, "p95": 900}, "output": {"p50": 100, "p95": 200}}
            api.append({"workload": name, "usd_per_million_input": 20, "usd_per_million_output": 90})
    values = {
        "name": "drawn",
        "workers": "workers.csv",
        "workloads": workloads,
        "fleet": drawn_fleet(rng, sorted({row[4] for row in rows})),
        "search": {"modes": ["aggregated", "disaggregated"]},
        **({"api": api} if api else {}),
    }
    (folder / "workers.csv").write_text("\n".join([HEADER, *map(",".join, rows)]) + "\n")
    (folder / "problem.yaml").write_text(yaml.safe_dump(values))
    return values, rows


def drawn_rows(rng, name, buckets, gpus):
    for role in rng.choice([("serve",), ("serve", "prefill", "decode"), ("prefill", "decode")]):
        for k in range(rng.choice([1, 2, 3])):
            gpu, size = rng.choice(gpus), rng.choice([1, 1, 2, 4])
            kv = "" if role == "serve" else rng.choice(["", "", "fp8", "bf16"])
            for bucket in buckets:
                ttft = "" if role == "decode" else rng.randint(100, 900)
                itl = "" if role == "prefill" else rng.randint(10, 50)
                transfer = "" if role == "serve" else rng.randint(0, 200)
                rate = rng.randint(2, 9) * size
                row = (f"{name}-{role}-{k}", name, bucket, role, gpu, size, rate, ttft, itl, transfer, kv)
                yield [str(cell) for cell in row]


def drawn_workload(rng, name, buckets, hours):
    shares = ((1.0,), (0.7, 0.3))[len(buckets) - 1]
    workload = {
        "name": name,
        "demand": {"hourly_rps": [rng.choice([0, 4, 8, 15, 20]) or 4 * (t == 0) for t in range(hours)]},
        "buckets": dict(zip(buckets, shares, strict=True)),
        "slo": {"ttft_p99": f"{rng.randint(500, 1100)} ms", "itl_p99": "45 ms"},
    }
    if rng.random() < 0.4:
        workload["redundancy"] = rng.choice([1, {"per_option": 1}, {"replicas": 1}])
    if rng.random() < 0.2:
        workload["headroom"] = {"capacity": "50 %"}
    if rng.random() < 0.2 and hours > 1:
        workload["class"] = "batch"
        workload["demand"]["deadline"] = f"{rng.randint(1, hours)} h"
    return workload


def drawn_fleet(rng, gpus):
    supply = [
        {
            "gpu": gpu,
            "term": term,
            "usd_per_gpu_h": rng.randint(1, 9),
            "max_gpus": rng.choice([4, 8, 30, 60]),
            **rng.choice(SITES),
            **({"max_share": "50 %"} if term == "spot" else {}),
        }
        for gpu in gpus
        for term in rng.sample(["owned", "reserved", "on_demand", "spot"], rng.choice([2, 3]))
    ]
    extras = {
        "start_cost": "25 %",
        "max_gpus": rng.randint(10, 60),
        "quota": {"eu": rng.randint(4, 40)},
        "budget": {"per_hour": f"{rng.randint(50, 400)} USD/h", "per_day": rng.randint(1000, 9000)},
    }
    if all(line.get("region") != "eu" for line in supply):
        del extras["quota"]
    stated = {key: value for key, value in extras.items() if rng.random() < 0.3}
    return {"supply": supply, "headroom": {"capacity": rng.choice(["0 %", "20 %"])}, **stated}


@pytest.fixture(scope="module", params=SEEDS)
def told(request, tmp_path_factory):
    """A plan with what it was asked."""
    rng = random.Random(request.param)
    while True:
        folder = tmp_path_factory.mktemp("drawn")
        values, rows = drawn(rng, folder)
        plan = planner.load(folder / "problem.yaml").solve(time_limit_s=60)
        if plan.pools and plan.status == "optimal":
            return plan, values, rows


def headroom(values, name):
    own = next(w for w in values["workloads"] if w["name"] == name).get(
        "headroom", values["fleet"]["headroom"]
    )
    return float(own["capacity"].split()[0]) / 100


def asked_rps(plan, values, name, t):
    """Requests/s of one hour, with headroom; of work that may wait what is done then."""
    workload = next(w for w in values["workloads"] if w["name"] == name)
    if "class" in workload:
        return plan.periods[t].work.get(name, 0.0)
    return workload["demand"]["hourly_rps"][t] * (1 + headroom(values, name))


def test_no_limit_is_broken(told):
    plan, _, _ = told
    for state in plan.constraints:
        assert state.slack is None or state.slack >= -NEAR, state
        if state.value is not None and state.limit is not None and state.slack is not None:
            assert abs(state.limit - state.value) == near(state.slack, abs=NEAR)


def test_money_adds_up(told):
    plan, _, _ = told
    hours = len(plan.periods)
    bought = defaultdict(float)
    for row in plan.supply:
        bought[row.period] += row.usd
    for period in plan.periods:
        assert period.usd == near(bought[period.period] + period.start_usd + period.api_usd)
    assert plan.cost_usd_per_hour == near(sum(period.usd for period in plan.periods) / hours)
    assert plan.objective.value == near(sum(period.usd for period in plan.periods))
    idle = sum(pool.usd_per_hour for pool in plan.pools)
    gpus = sum(row.usd for row in plan.supply) / hours
    assert idle <= gpus + NEAR
    for period in plan.periods:
        counted = defaultdict(int)
        for row in plan.supply:
            counted[row.gpu] += row.gpus * (row.period == period.period)
        assert {gpu: count for gpu, count in counted.items() if count} == period.gpus
        held = defaultdict(int)
        pools = {pool.id: pool for pool in plan.pools}
        for name, replicas in period.replicas.items():
            held[pools[name].gpu] += replicas * pools[name].gpus_per_replica
        assert all(count <= period.gpus.get(gpu, 0) for gpu, count in held.items())
    for api in plan.api:
        assert 0 <= api.share <= 1 + NEAR
    assert sum(api.usd_per_hour for api in plan.api) == near(
        sum(p.api_usd for p in plan.periods) / hours, abs=NEAR
    )
    assert plan.gpus == {gpu: max(period.gpus.get(gpu, 0) for period in plan.periods) for gpu in plan.gpus}


def test_every_way_of_dividing_the_money_sums_to_it(told):
    plan, _, _ = told
    costs, hours = plan.costs, max(len(plan.periods), 1)
    for parts in (costs.by_workload, costs.by_place, costs.by_term):
        assert sum(parts.values()) == near(plan.cost_usd_per_hour, abs=0.005)
        assert all(usd > 0 for usd in parts.values())
    assert list(costs.by_hour) == near([period.usd for period in plan.periods])
    assert costs.by_term.get("api", 0.0) == near(sum(api.usd_per_hour for api in plan.api), abs=NEAR)
    assert costs.by_term.get("start", 0.0) * hours == near(sum(p.start_usd for p in plan.periods), abs=NEAR)
    assert {price.line for price in plan.prices_used} == {row.line for row in plan.supply}


def test_shares_sum_to_one(told):
    plan, values, _ = told
    roles = {pool.id: pool.role for pool in plan.pools}
    tables = [(plan.routing, None), *((period.routing, period.period) for period in plan.periods)]
    for rows, t in tables:
        doors, behind, ahead = defaultdict(float), defaultdict(float), defaultdict(float)
        for row in rows:
            key = (row.workload, row.bucket)
            if roles.get(row.pool) == "decode":
                behind[key] += row.share
            else:
                doors[key] += row.share
                ahead[key] += row.share if roles.get(row.pool) == "prefill" else 0.0
        assert all(total == near(1.0) for total in doors.values())
        assert {key: near(part, abs=NEAR) for key, part in ahead.items() if part > NEAR} == dict(behind)
        if t is not None:
            for workload in values["workloads"]:
                if asked_rps(plan, values, workload["name"], t) > NEAR:
                    assert {key[1] for key in doors if key[0] == workload["name"]} == set(workload["buckets"])


def test_replicas_carry_the_demand_with_headroom(told):
    """Of every pool and hour: the sum over buckets of share x demand / rate is no more than its replicas."""
    plan, values, rows = told
    rate = {(row[0], row[2]): float(row[6]) for row in rows}
    pools = {pool.id: pool for pool in plan.pools}
    for period in plan.periods:
        busy = defaultdict(float)
        for route in period.routing:
            if route.pool in pools:
                workload = next(w for w in values["workloads"] if w["name"] == route.workload)
                rps = (
                    asked_rps(plan, values, route.workload, period.period) * workload["buckets"][route.bucket]
                )
                busy[route.pool] += route.share * rps / rate[pools[route.pool].option, route.bucket]
        for name, load in busy.items():
            assert load <= period.replicas.get(name, 0) + NEAR, (name, period)


def test_pairs_agree_in_their_format(told):
    """Prefill and decode pools of one hour and site."""
    plan, _, rows = told
    kv = {row[0]: row[10] for row in rows}
    pools = {pool.id: pool for pool in plan.pools}
    for period in plan.periods:
        stated = defaultdict(set)
        for pool in (pools[name] for name in period.replicas):
            if pool.role != "serve" and kv[pool.option]:
                stated[pool.workload, pool.site].add(kv[pool.option])
        assert all(len(formats) == 1 for formats in stated.values())


def test_pools_describe_an_hour_that_is_theirs(told):
    plan, _, _ = told
    for pool in plan.pools:
        counts = [period.replicas.get(pool.id, 0) for period in plan.periods]
        assert pool.replicas == max(counts) > 0
        assert pool.utilization is None or pool.utilization <= 1 + NEAR
        assert pool.load_rps <= pool.capacity_rps * (1 + NEAR)


def test_days_of_orders_close(told):
    """What is ordered is given back: the hours repeat."""
    plan, _, _ = told
    sums = defaultdict(int)
    for order in plan.orders:
        sums[order.line] += order.gpus
    assert not any(sums.values())
