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
OPTIONS = (
    {},
    {},
    {"prefix_cache": {"hit": "40 %", "prefixes": 3, "prefix_tokens": 50}},
    {"prefix_cache": {"hit": "40 %", "working_set": "500 GB", "routing": "round-robin"}},
    {"prefix_cache_hit": "50 %", "engine": "sglang"},
    {"lora": {"adapters": 50, "active": 8, "rank": 16}},
)
"""What workloads of some plans say besides."""


@pytest.fixture(scope="module", params=SEEDS)
def feasible(request):
    """A plan of the next random problem that has one."""
    for step in range(10):
        values = random_problem(request.param + 1000 * step)
        values["fleet"] |= {"budget": "100000 USD/h", "max_gpus": 100_000}
        for workload in values["workloads"]:
            workload |= OPTIONS[request.param % len(OPTIONS)]
        plan = solved(values)
        if plan.status != "infeasible":
            return plan
    raise AssertionError("no random problem has a plan")


def workloads(plan):
    return {workload["name"]: workload for workload in plan.inputs.problem["workloads"]}


def sizing(plan, workload):
    return next(item for item in plan.sizing if item.workload == workload)


def served(plan, workload):
    return [pool for pool in plan.pools if pool.workload == workload]


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
            # Short prompts may go straight to decode; a prefill pool is loaded as if it got them too.
            straight = role == "prefill" and any("straight to decode" in text for text in feasible.warnings)
            assert (0.0 < sum(mine) < 1.0) if straight else sum(mine) == near(1.0, rel=1e-9)
            for route in (route for route in routes if pools[route.pool].role == role):
                pool = pools[route.pool]
                carried = pool.load_rps * pool.replicas
                share = route.share / sum(mine)
                assert carried == near(share * float(workload["demand"]["peak_rps"]), rel=1e-9)


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
    """Of tokens written, and of tokens read and written."""
    written = sum(row.mean_rps * HOURS_S * row.output_tokens["mean"] for row in feasible.sizing)
    read = sum(row.mean_rps * HOURS_S * row.input_tokens["mean"] for row in feasible.sizing)
    usd = feasible.cost_usd_per_hour
    assert feasible.cost_usd_per_million_output_tokens == near(usd / written * 1e6)
    assert feasible.cost_usd_per_million_tokens == near(usd / (written + read) * 1e6)


def test_sizing_repeats_what_the_problem_states(feasible):
    for name, workload in workloads(feasible).items():
        row, demand = sizing(feasible, name), workload["demand"]
        assert row.peak_rps == float(demand["peak_rps"])
        assert row.mean_rps == float(demand.get("mean_rps", demand["peak_rps"]))
        for side, found in (("input", row.input_tokens), ("output", row.output_tokens)):
            for statistic in ("p95", "p99"):
                assert found[statistic] == near(workload["lengths"][side][statistic])
        # What a running request holds on average: its prompt, and a part of a long answer.
        prompt = row.input_tokens["mean"]
        assert prompt - 1 <= row.sequence_tokens <= prompt + row.output_tokens["p99"] + 1


def test_mean_utilization_is_the_mean_rate_over_what_replicas_carry(feasible):
    """Of every workload; together each counts by its GPUs."""
    if {pool.role for pool in feasible.pools} == {"serve"}:
        busy, gpus = 0.0, 0
        for name in workloads(feasible):
            pools = served(feasible, name)
            held = sum(pool.gpus_per_replica * pool.replicas for pool in pools)
            capacity = sum(pool.capacity_rps * pool.replicas for pool in pools)
            busy += held * sizing(feasible, name).mean_rps / capacity
            gpus += held
        assert feasible.mean_utilization == near(busy / gpus)
    assert 0 < feasible.mean_utilization <= 1


def mean_of_full(slots):
    """Requests that run on average where all slots are taken once in a thousand moments (decision 0016)."""
    root = 3.0902 * math.sqrt(0.5)
    return ((math.sqrt(root * root + 4.0 * slots) - root) / 2.0) ** 2


def test_replicas_hold_the_model_and_the_batch(feasible):
    """Weights of all GPUs are a copy at least, and the sequences of a batch have room in the cache.

    Where waits are limited a batch is rarely full: what runs on average has room, and what runs in the plan.
    """
    for pool in feasible.pools:
        row, memory = sizing(feasible, pool.workload), pool.memory_bytes
        assert memory.weights * pool.gpus_per_replica >= row.weights_bytes[pool.weights] * (1 - 1e-9)
        once = 0.0 if pool.reuse is None else pool.reuse.held_once_bytes
        read = 0.0 if pool.reuse is None else pool.reuse.read_there_tokens * row.token_bytes[pool.kv]
        share = 0.0 if pool.reuse is None else pool.reuse.cache_share
        one = (row.sequence_bytes[pool.kv] - read) / (pool.tp * pool.pp)
        slots = math.ceil(pool.max_batch / pool.attention_dp)
        limits = workloads(feasible)[pool.workload]["slo"]
        waits = any(name.startswith(("ttft", "e2e")) for name in limits)
        number = max(mean_of_full(slots), (pool.concurrency or 0.0) / pool.attention_dp) if waits else slots
        if pool.role != "prefill" and not (pool.reuse and pool.reuse.sets_aside):
            assert max(number * one * (1 + share), number * one + once) <= memory.kv_cache * (1 + 1e-9)


def test_what_runs_at_once_is_rate_times_time(feasible):
    """Little's law, for answers in progress."""
    for pool in feasible.pools:
        whole, first = pool.e2e_s.get("mean"), pool.ttft_s.get("mean")
        if pool.role == "serve" and whole is not None and first is not None:
            assert whole > first
            assert pool.concurrency == near(pool.load_rps * (whole - first), rel=0.1)
            assert pool.concurrency <= pool.max_batch
            assert 0 < pool.kv_usage <= 1


def test_no_step_beats_the_memory(feasible):
    """A decode step reads the weights of a dense model once from the memory of each GPU."""
    for pool in feasible.pools:
        found = catalog().model(pool.model)
        if pool.role == "prefill" or found.shape.moe is not None or pool.speculation is not None:
            continue
        bandwidth = float(catalog().accelerator(pool.gpu).memory.bandwidth)
        # The table of embeddings is looked up, not read.
        least_s = 0.7 * pool.memory_bytes.weights / bandwidth
        assert pool.itl_s["p50"] > least_s


def test_power_is_that_of_the_gpus(feasible):
    for pool in feasible.pools:
        rated = catalog().accelerator(pool.gpu).power
        if rated is None:
            assert pool.power_w is None
        else:
            assert pool.power_w == near(float(rated.tdp) * pool.gpus_per_replica * pool.replicas)


def test_guardrails_are_those_of_the_pools(feasible):
    by_name = feasible.guardrails_by_workload or dict.fromkeys(workloads(feasible), feasible.guardrails)
    for name, limits in by_name.items():
        answering = [pool for pool in served(feasible, name) if pool.role != "prefill"]
        assert limits.max_batch == min(pool.max_batch for pool in answering)
        assert limits.max_rps <= sum(pool.capacity_rps * pool.replicas for pool in answering) * (1 + 1e-9)
        stated = workloads(feasible)[name]["lengths"]
        window = catalog().model(workloads(feasible)[name]["model"]).max_context_tokens
        assert limits.max_input_tokens == min(2.5 * stated["input"]["p95"], window - limits.max_output_tokens)
        assert limits.max_output_tokens == min(2.5 * stated["output"]["p95"], window - 1)


def test_the_optimum_is_what_it_costs_and_nothing_told_beats_it(feasible):
    goal = feasible.objective
    assert goal.value == near(feasible.cost_usd_per_hour)
    assert goal.lower_bound <= goal.value * (1 + 1e-12)
    assert goal.gap == near((goal.value - goal.lower_bound) / goal.value if goal.value else 0.0)
    if feasible.status == "optimal":
        assert all(other.cost_usd_per_hour >= goal.value * (1 - 1e-9) for other in feasible.runners_up)
    for choice in feasible.mode_choice:
        modes = choice.aggregated_cost_usd_per_hour, choice.disaggregated_cost_usd_per_hour
        taken = modes[choice.chosen == "disaggregated"]
        if len(feasible.sizing) == 1 and choice.proved:
            assert taken == near(goal.value)
            assert all(mode is None or mode >= goal.value * (1 - 1e-9) for mode in modes)
