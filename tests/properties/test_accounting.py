"""Every number of a plan that follows from others is added up again by hand."""

import json
import math
from decimal import Decimal

import pytest
from documents import contradictions
from solved_problems import catalog, random_problem, solved

SEEDS = range(100, 124)
STATISTICS = ("p50", "p90", "p95", "p99")
HOURS_S = 3600
near = pytest.approx


@pytest.fixture(scope="module", params=SEEDS)
def feasible(request):
    """A plan of the next random problem that has one."""
    for step in range(10):
        values = random_problem(request.param + 1000 * step)
        values["fleet"] |= {"budget": "100000 USD/h", "max_gpus": 100_000}
        plan = solved(values)
        if plan.status != "infeasible":
            return plan
    raise AssertionError("no random problem has a plan")


def workloads(plan):
    return {workload["name"]: workload for workload in plan.inputs.problem["workloads"]}


def share_of(text):
    number, unit = text.split()
    assert unit == "%"
    return float(number) / 100


def seconds(text):
    number, unit = text.split()
    return float(number) * {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0, "h": 3600.0}[unit]


def test_the_document_does_not_contradict_itself(feasible):
    assert list(contradictions(json.loads(feasible.model_dump_json()))) == []


def test_pools_add_up_to_the_cost(feasible):
    assert sum(pool.usd_per_hour for pool in feasible.pools) == near(feasible.cost_usd_per_hour)


def test_gpus_bought_hold_the_replicas(feasible):
    used = {}
    for pool in feasible.pools:
        used[pool.gpu] = used.get(pool.gpu, 0) + pool.replicas * pool.gpus_per_replica
    assert set(used) == set(feasible.gpus)
    assert all(feasible.gpus[name] >= count for name, count in used.items())


def test_gpus_at_their_price_are_the_cost(feasible):
    """With prices of the user: GPUs bought x price; with offers: whole instances x price."""
    fleet = feasible.inputs.problem["fleet"]
    if "prices" in fleet:
        usd = {name: Decimal(text.removesuffix(" USD/h")) for name, text in fleet["prices"].items()}
        total = sum(usd[name] * count for name, count in feasible.gpus.items())
        assert float(total) == near(feasible.cost_usd_per_hour)
        if fleet.get("purchase") == "node":
            sizes = {name: catalog().accelerator(name).host.node_size for name in feasible.gpus}
            assert all(count % sizes[name] == 0 for name, count in feasible.gpus.items())
    elif all(pool.offer for pool in feasible.pools):
        bought = {}
        for pool in feasible.pools:
            key = (pool.offer.provider, pool.offer.region, pool.offer.instance, pool.offer.gpus)
            gpus, price = bought.get(key, (0, pool.offer.usd_per_hour))
            bought[key] = gpus + pool.replicas * pool.gpus_per_replica, price
        # Whole instances: at least as many as hold the GPUs in use, and the price is that of instances.
        least = sum(math.ceil(gpus / key[3]) * price for key, (gpus, price) in bought.items())
        assert feasible.cost_usd_per_hour >= least - 1e-6
        for pool in feasible.pools:
            assert pool.usd_per_hour >= (
                pool.replicas * pool.gpus_per_replica * pool.offer.usd_per_hour / pool.offer.gpus - 1e-6
            )


def test_the_market_limits_state_what_was_bought(feasible):
    states = {state.id: state for state in feasible.constraints}
    assert states["budget"].value == near(feasible.cost_usd_per_hour)
    assert states["max-gpus"].value == sum(feasible.gpus.values())
    for name in feasible.inputs.problem["fleet"].get("stock", {}):
        assert states[f"stock:{name}"].value == feasible.gpus.get(name, 0)


def test_memory_parts_add_up_to_the_capacity(feasible):
    for pool in feasible.pools:
        memory = pool.memory_bytes
        parts = (
            memory.weights,
            memory.kv_cache,
            memory.activations,
            memory.framework,
            memory.adapters,
            memory.free,
        )
        assert sum(parts) == near(memory.capacity, rel=1e-9)
        assert all(part >= 0 for part in parts)


def test_routing_carries_all_of_every_workload(feasible):
    for name, workload in workloads(feasible).items():
        routes = [route for route in feasible.routing if route.workload == name]
        pools = {pool.id: pool for pool in feasible.pools}
        for role in {pools[route.pool].role for route in routes}:
            mine = [route.share for route in routes if pools[route.pool].role == role]
            assert sum(mine) == near(1.0, rel=1e-9)
        for route in routes:
            pool = pools[route.pool]
            carried = pool.load_rps * pool.replicas
            assert carried == near(route.share * float(workload["demand"]["peak_rps"]), rel=1e-9)


def test_load_is_capacity_times_utilization(feasible):
    for pool in feasible.pools:
        assert pool.load_rps == near(pool.capacity_rps * pool.utilization, rel=1e-9)
        assert 0 <= pool.utilization <= 1


def test_capacity_covers_demand_with_headroom_and_spares(feasible):
    fleet = feasible.inputs.problem["fleet"]
    headroom = share_of(fleet["headroom"]["capacity"])
    most = share_of(fleet["max_utilization"])
    redundancy = fleet["redundancy"]
    for name, workload in workloads(feasible).items():
        pools = [pool for pool in feasible.pools if pool.workload == name]
        needed = float(workload["demand"]["peak_rps"]) * (1 + headroom)
        if isinstance(redundancy, dict):
            left = sum(pool.capacity_rps * (pool.replicas - redundancy["per_option"]) for pool in pools)
        else:
            rates = sorted((pool.capacity_rps for pool in pools for _ in range(pool.replicas)), reverse=True)
            left = sum(rates[redundancy:])
        assert left * most >= needed * (1 - 1e-9)
        assert sum(pool.replicas for pool in pools) >= fleet["min_replicas"]


def test_latencies_keep_their_limits_and_percentiles_rise(feasible):
    for pool in feasible.pools:
        for name, text in workloads(feasible)[pool.workload]["slo"].items():
            metric, statistic = name.split("_")
            if pool.role == "prefill" and metric != "ttft":
                continue  # what happens between tokens is the decode pool's
            assert getattr(pool, f"{metric}_s")[statistic] <= seconds(text) * (1 + 1e-9)
        for metric in ("ttft_s", "itl_s", "tpot_s", "e2e_s"):
            values = getattr(pool, metric)
            stated = [values[name] for name in STATISTICS if name in values]
            assert stated == sorted(stated)
            assert all(value > 0 for value in values.values())
            # Rare long gaps (a prompt that stalls the batch) may lift the mean of ITL above its P99.
            if "mean" in values and stated and metric != "itl_s":
                assert values["mean"] <= stated[-1] * (1 + 1e-9)


def test_slack_is_limit_less_value(feasible):
    for state in feasible.constraints:
        assert state.slack == near(state.limit - state.value, rel=1e-9, abs=1e-9)
        assert state.value <= state.limit * (1 + 1e-9)


def test_cost_per_token_is_cost_over_tokens_at_the_mean_rate(feasible):
    """Cost per token of input and output is the smaller one; both divide the same cost."""
    assert 0 < feasible.cost_usd_per_million_tokens < feasible.cost_usd_per_million_output_tokens
    most = sum(
        float(workload["demand"]["peak_rps"]) * HOURS_S * workload["lengths"]["output"]["p99"]
        for workload in workloads(feasible).values()
    )
    least = sum(
        float(workload["demand"]["peak_rps"]) * HOURS_S * workload["lengths"]["output"]["p50"] / 2
        for workload in workloads(feasible).values()
    )
    per_million = feasible.cost_usd_per_hour * 1e6
    assert per_million / most < feasible.cost_usd_per_million_output_tokens < per_million / least
