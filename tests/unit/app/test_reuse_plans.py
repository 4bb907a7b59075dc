"""Plans with reuse: the keys do what they say, and the plan says what follows."""

from __future__ import annotations

import copy
from fractions import Fraction
from pathlib import Path

import pytest
from solved_problems import catalog, rules, solved

import planner
from planner.app.explain_plan import alarms
from planner.explain.sizing.steps import steps
from planner.loaders.problem import load_problem_document
from planner.planning.formulation.study import Study
from planner.schema.policy import RulesOfThumb

SEARCH = {"modes": ["aggregated"], "tp": [1], "batched_tokens": [2048]}
FLEET = {"prices": {"h100-sxm": "2.5 USD/h"}}


def chat(**workload):
    """Retrieval on single H100 GPUs."""
    return {
        "name": "reuse",
        "workloads": [
            {
                "name": "chat",
                "model": "llama-3.1-8b",
                "demand": {"peak_rps": 20},
                "lengths": {"input": {"p50": 6000, "p99": 16000}, "output": {"p50": 220, "p99": 800}},
                "slo": {"ttft_p99": "2500 ms", "itl_p99": "80 ms"},
                "precision": {"weights": ["fp8"], "kv": ["fp8"]},
            }
            | workload
        ],
        "fleet": copy.deepcopy(FLEET),
        "search": copy.deepcopy(SEARCH),
    }


def agents(demand=None, **workload):
    sessions = {
        "per_hour": 6000,
        "turns": 8,
        "growth": 900,
        "think_time": "60 s",
        "first_input": {"p50": 5000, "p95": 9000},
        "output": 300,
    }
    values = chat(demand={"sessions": sessions | (demand or {})}, **workload)
    del values["workloads"][0]["lengths"]
    return values


def cost(values):
    plan = solved(values)
    assert plan.status == "optimal"
    return plan.cost_usd_per_hour


def options(values):
    problem = load_problem_document(copy.deepcopy(values), catalog())
    return Study(catalog(), rules(), Path()).formulate(problem).question.options


def test_the_smallest_number_that_carries_the_demand_at_its_own_hits():
    values = chat(prefix_cache={"hit": "70 %", "routing": "round-robin"})
    table = options(values)
    need = Fraction(20) * Fraction(12, 10)
    assert {option.gpu for option in table} == {"h100-sxm"}

    def best(number):
        return max(option.rates_rps[0] for option in table if option.holds_for(number))

    expected = next(number for number in range(1, 100) if number * best(number) >= need)
    plan = solved(values)
    assert sum(pool.replicas for pool in plan.pools) == expected
    assert best(1) > best(2) > best(100)
    assert plan.pools[0].reuse.hit <= 0.7 / expected + 1e-9


def test_hits_that_no_number_changes_are_those_of_the_plain_key():
    assert cost(chat(prefix_cache={"hit": "70 %"})) == cost(chat(prefix_cache_hit="70 %"))
    plain, detailed = (
        solved(chat(**key)) for key in ({"prefix_cache_hit": "70 %"}, {"prefix_cache": {"hit": "70 %"}})
    )
    # Rows whose hits depend on the number of replicas are those of replicas alone.
    alone = detailed.pools[0].capacity_rps / plain.pools[0].routing.capacity_rps_alone
    assert 0.99 < alone < 1.0 + 1e-6
    assert plain.pools[0].reuse is None
    assert detailed.pools[0].reuse.replicas_to is None


def test_less_is_found_the_less_there_is_to_find_it_in():
    full = cost(chat(prefix_cache={"hit": "70 %"}))
    little = cost(chat(prefix_cache={"hit": "70 %", "share": "2 %"}))
    scattered = cost(chat(prefix_cache={"hit": "70 %", "routing": "round-robin"}))
    reused = cost(chat(prefix_cache={"hit": "70 %", "routing": "round-robin", "reuse": 100}))
    none = cost(chat())
    assert full <= reused <= scattered <= none
    assert full < little <= none


def test_a_working_set_takes_replicas_or_room():
    """Each of N replicas holds one part in N; the more prefixes, the fewer are found by few replicas."""
    few = options(chat(prefix_cache={"hit": "70 %", "prefixes": 5, "prefix_tokens": 4000}))
    many = options(chat(prefix_cache={"hit": "70 %", "prefixes": 2000, "prefix_tokens": 4000}))

    def best(table, number):
        return max(option.rates_rps[0] for option in table if option.holds_for(number))

    assert best(few, 1) == best(few, 50)
    assert best(many, 1) < best(many, 8) < best(many, 50) <= best(few, 50)
    stated = options(chat(prefix_cache={"hit": "70 %", "working_set": "1048.576 GB"}))
    # Llama 3.1 8B: 131,072 bytes a token in 16 bits, so this is as much as 2,000 prefixes of 4,000 tokens.
    assert best(stated, 8) == pytest.approx(float(best(many, 8)), rel=0.02)


def test_lost_replicas_take_their_part_of_the_cache_with_them():
    values = chat(prefix_cache={"hit": "70 %", "prefixes": 2000, "prefix_tokens": 4000})
    before = {option.replicas_from for option in options(values)}
    values["fleet"]["redundancy"] = 2
    after = {option.replicas_from for option in options(values)}
    assert len(before) > 5
    assert after == {1} | {number + 2 for number in before if number > 1}


def test_sessions_say_what_follows_from_them():
    plan = solved(agents())
    (taken,) = plan.sessions
    assert taken.requests_rps == pytest.approx(6000 * 8 / 3600)
    assert taken.resting == pytest.approx(taken.requests_rps * 60 * 7 / 8)
    assert taken.turns_mean == pytest.approx(8.0)
    assert taken.new_tokens_mean < 0.3 * taken.input_tokens["mean"]
    assert taken.sticky
    reuse = plan.pools[0].reuse
    assert reuse.routing == "cache-aware"
    assert 0.0 < reuse.hit < 1.0
    assert sum(pool.load_rps * pool.replicas for pool in plan.pools) == pytest.approx(taken.requests_rps)


def test_sessions_cost_what_they_keep_waiting():
    base = cost(agents())
    assert cost(agents({"think_time": "10 s"})) <= base <= cost(agents({"think_time": "20 min"}))
    assert base <= cost(agents(prefix_cache={"routing": "round-robin"}))
    assert cost(agents(trim={"input": "30 %", "output_cap": 200})) <= base


def test_host_memory_keeps_sessions_that_the_gpu_cannot():
    long_rest = {"think_time": "5 min", "per_hour": 20_000}
    without = solved(agents(long_rest))
    with_host = solved(agents(long_rest, kv_offload={"capacity_per_gpu": "1 TB"}))
    assert with_host.cost_usd_per_hour < without.cost_usd_per_hour
    reuse = with_host.pools[0].reuse
    assert reuse.tier == "host"
    assert reuse.fetched > 0.0
    assert reuse.fetch_s < reuse.compute_s


def test_drives_are_for_work_without_limits_on_waits():
    drives = {"tier": "nvme", "capacity_per_gpu": "2 TB"}
    long_rest = {"think_time": "20 min"}
    limited = solved(agents(long_rest, kv_offload=drives))
    assert all(pool.reuse.tier is None for pool in limited.pools)
    values = agents(long_rest, kv_offload=drives)
    values["search"]["rules_off"] = ["kv-on-drives-under-latency-limit"]
    assert cost(values) <= limited.cost_usd_per_hour
    engine = solved(agents(long_rest, kv_offload=drives, engine="tensorrt-llm", slo={"itl_p99": "80 ms"}))
    assert all(pool.reuse.tier is None for pool in engine.pools)


def test_batch_work_sets_requests_aside():
    batch = {
        "slo": {},
        "headroom": {"memory": "70 %"},
        "lengths": {
            "input": {"p50": 3000, "p95": 20_000, "p99": 40_000},
            "output": {"p50": 300, "p95": 500},
        },
    }
    strict, loose = (
        solved(chat(**batch, **more)) for more in ({}, {"kv_offload": {"capacity_per_gpu": "100 GB"}})
    )
    assert loose.cost_usd_per_hour < strict.cost_usd_per_hour
    assert loose.pools[0].reuse.sets_aside
    assert loose.pools[0].max_batch > strict.pools[0].max_batch
    for state in loose.constraints:
        assert state.value <= state.limit


def test_offloading_without_anything_to_keep_is_said_to_do_nothing():
    plan = solved(chat(kv_offload={"capacity_per_gpu": "100 GB"}))
    assert any("kv_offload changes nothing" in line for line in plan.warnings)
    assert plan.cost_usd_per_hour == cost(chat())


def test_token_eviction_saves_memory_and_excludes_prefix_caches():
    evicted = solved(chat(kv_eviction={"keep": "50 %"}))
    assert evicted.cost_usd_per_hour <= cost(chat())
    assert evicted.pools[0].max_batch >= solved(chat()).pools[0].max_batch
    assert any("kv_eviction" in line for line in evicted.warnings)
    both = solved(chat(kv_eviction={"keep": "50 %"}, prefix_cache_hit="30 %"))
    assert both.status == "infeasible"
    assert "prefix-cache-with-token-eviction" in {removal.id for removal in both.removed}
    beside = solved(chat(kv_eviction={"keep": "50 %"}, prefix_cache={"hit": "30 %"}))
    assert beside.cost_usd_per_hour == evicted.cost_usd_per_hour
    drafts = {"kind": "ngram", "acceptance": "60 %"}
    speculating = solved(chat(kv_eviction={"keep": "50 %"}, speculation=drafts))
    assert all(pool.speculation is None for pool in speculating.pools)


def test_trimming_is_a_what_if(tmp_path):
    path = tmp_path / "problem.yaml"
    path.write_text(
        "name: chat\nworkloads:\n  - name: chat\n    model: llama-3.1-8b\n    demand: {peak_rps: 20}\n"
        "    lengths: {input: {p50: 6000, p99: 16000}, output: {p50: 220, p99: 800}}\n"
        "    slo: {ttft_p99: 2500 ms, itl_p99: 80 ms}\n"
        "fleet: {prices: {h100-sxm: 2.5 USD/h}}\nsearch: {modes: [aggregated], tp: [1]}\n"
    )
    changes = {"workloads.chat.trim.input": "30 %", "workloads.chat.trim.output_cap": 300}
    answer = planner.load(path).whatif(changes)
    assert answer.after.cost_usd_per_hour < answer.before.cost_usd_per_hour
    assert answer.before.pools[0].reuse is None
    assert answer.before.sessions == ()


def begins_alike(shared, **cache):
    """6,000 tokens of prompt, the first ``shared`` of them the same in all requests; no limit on latency."""
    known = {"hit": f"{shared / 60} %", "prefixes": 1, "prefix_tokens": shared, **cache}
    return chat(
        lengths={"input": {"fixed": 6000}, "output": {"fixed": 400}},
        slo={},
        prefix_cache=known if shared else None,
    )


def test_the_more_requests_have_in_common_the_more_run_at_once():
    plans = [solved(begins_alike(shared)) for shared in (0, 600, 3000, 5400)]
    pools = [plan.pools[0] for plan in plans]
    token = 2 * 8 * 128 * 32  # Keys and values of 8 heads in 32 layers, one byte each.
    blocks = [shared // 16 * 16 for shared in (0, 600, 3000, 5400)]
    copies = [-(-shared // 16) * 16 for shared in (0, 600, 3000, 5400)]
    for pool, block, held in zip(pools, blocks, copies, strict=True):
        room = pool.memory_bytes.kv_cache - held * token
        at_their_end, half_way = (int(room // ((tokens - block) * token)) for tokens in (6400, 6200))
        assert at_their_end < pool.max_batch <= half_way
    assert [pool.reuse.held_once_bytes for pool in pools[1:]] == [copy * token for copy in copies[1:]]
    for plan in plans[:3]:  # the last is stopped by the engine
        (memory,) = [state for state in plan.constraints if state.id == "vram:chat"]
        assert 0.0 <= memory.slack < 6400 * token
    costs = [plan.cost_usd_per_hour for plan in plans]
    assert costs == sorted(costs, reverse=True)


def test_the_floor_counts_what_is_held_once_once():
    plan = solved(begins_alike(3000))
    (pool,) = plan.pools
    told = steps(plan, RulesOfThumb.of(catalog().find("judgment", "sizing")), alarms(catalog()))
    (kv,) = [item.value for item in told[3].figures if item.name.startswith("their KV")]
    token = 2 * 2 * 8 * 128 * 32
    found = 3000 // 16 * 16  # What ends inside a block each request holds itself.
    expected = pool.replicas * (pool.max_batch * (6200 - found) + 3000) * token
    assert kv == expected
    assert pool.reuse.routing == "round-robin"
