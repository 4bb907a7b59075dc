"""Problem files with sessions, prefix caches, offloading, eviction and trimming: what is read and refused."""

from __future__ import annotations

from decimal import Decimal

import pytest

from planner.errors import InputError
from planner.loaders.problem import load_problem_document

SESSIONS = {
    "per_hour": 1200,
    "turns": 8,
    "growth": 900,
    "think_time": "20 s",
    "first_input": {"p50": 6000, "p95": 12_000},
    "output": 300,
}
LENGTHS = {"input": {"fixed": 100}, "output": {"fixed": 10}}


def read(**workload):
    values = {"name": "w", "model": "m", "demand": {"peak_rps": 1}, "lengths": LENGTHS} | workload
    values = {key: value for key, value in values.items() if value is not None}
    return load_problem_document({"name": "p", "workloads": [values]}).workloads[0]


def with_sessions(**changes):
    return {"demand": {"sessions": SESSIONS | changes}, "lengths": None}


def test_everything_is_read():
    found = read(
        **with_sessions(turns={"p50": 4, "p95": 20}, shared_input=3000, mean_per_hour=500),
        prefix_cache={"routing": "round-robin", "share": "150 %"},
        kv_offload={"tier": "nvme", "capacity_per_gpu": "1 TB", "bandwidth": "3 GB/s"},
        trim={"input": "30 %", "output_cap": 800},
    )
    assert found.demand.sessions.think_time == 20
    assert found.demand.sessions.turns.p95 == 20
    assert found.prefix_cache.share == Decimal("1.5")
    assert found.kv_offload.bandwidth == 3_000_000_000
    assert found.trim.input == Decimal("0.3")
    other = read(
        prefix_cache={"hit": "60 %", "prefixes": 40, "prefix_tokens": 3000, "reuse": 2.5},
        kv_eviction={"keep": "50 %"},
    )
    assert other.prefix_cache.routing == "cache-aware"
    assert other.kv_eviction.keep == Decimal("0.5")


def test_a_problem_with_these_keys_is_written_and_read_again():
    found = read(**with_sessions(), prefix_cache={"share": "25 %"}, kv_offload={"capacity_per_gpu": "64 GB"})
    values = found.model_dump(mode="json", exclude_none=True)
    assert load_problem_document({"name": "p", "workloads": [values]}).workloads[0] == found


FAULTS = {
    "two ways to state hits": (
        {"prefix_cache_hit": "20 %", "prefix_cache": {"hit": "30 %"}},
        "found prefix_cache_hit beside prefix_cache, expected one of them",
    ),
    "hits beside sessions": (
        with_sessions() | {"prefix_cache_hit": "20 %"},
        "found prefix_cache_hit beside demand.sessions, expected one of them",
    ),
    "a cache without hits": (
        {"prefix_cache": {"routing": "round-robin"}},
        "found prefix_cache without hit, expected hit, the share of prompt tokens that a single instance "
        "finds",
    ),
    "hits of sessions": (
        with_sessions() | {"prefix_cache": {"hit": "30 %"}},
        "found prefix_cache.hit beside demand.sessions, expected no such key: it follows from the turns",
    ),
    "lengths of sessions": (
        with_sessions() | {"lengths": LENGTHS},
        "found lengths beside demand.sessions, expected one of them: lengths follow from sessions",
    ),
    "two demands": (
        {"demand": {"peak_rps": 1, "sessions": SESSIONS}, "lengths": None},
        "found 2 forms of demand, expected one of peak_rps, hourly_rps, trace, sessions, concurrency, users, "
        "tokens_per_day, requests_per_day, free",
    ),
    "mean rate of sessions": (
        {"demand": {"mean_rps": 1, "sessions": SESSIONS}, "lengths": None},
        "found mean_rps beside sessions, expected sessions.mean_per_hour",
    ),
    "mean above peak": (
        with_sessions(mean_per_hour=2000),
        "found mean_per_hour 2000 above per_hour 1200, expected a mean of at most the peak",
    ),
    "no turn": (with_sessions(turns=0), "demand.sessions.turns: found 0, expected a number of at least 1"),
    "think time without unit": (
        with_sessions(think_time=20),
        'demand.sessions.think_time: found 20, expected a duration with its unit, such as "1500 ms". '
        "Maybe 20 s?",
    ),
    "more shared than there is": (
        with_sessions(shared_input=9000),
        "found shared_input 9000 above first_input, expected a part of the first prompt (at most 6000)",
    ),
    "half a working set": (
        {"prefix_cache": {"hit": "30 %", "prefixes": 4}},
        "found one of prefixes and prefix_tokens, expected both: their product is the working set",
    ),
    "two working sets": (
        {
            "prefix_cache": {
                "hit": "30 %",
                "prefixes": 4,
                "prefix_tokens": 100,
                "working_set": "1 GB",
            }
        },
        "found working_set and prefixes, expected one of them: each gives the working set",
    ),
    "unknown routing": (
        {"prefix_cache": {"hit": "30 %", "routing": "sticky"}},
        'prefix_cache.routing: found "sticky", expected one of cache-aware, round-robin',
    ),
    "offloading without room": (
        {"kv_offload": {"tier": "host"}},
        "kv_offload.capacity_per_gpu: found no such key, expected a value",
    ),
    "nothing kept": (
        {"kv_eviction": {"keep": "0 %"}},
        'kv_eviction.keep: found "0 %", expected a number above 0',
    ),
    "nothing left": ({"trim": {"input": "100 %"}}, 'trim.input: found "100 %", expected a number below 1'),
    "no answer left": (
        {"trim": {"output_cap": 0}},
        "trim.output_cap: found 0, expected a number of at least 1",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_cannot_be_meant_is_refused(name):
    changes, words = FAULTS[name]
    with pytest.raises(InputError) as problem:
        read(**changes)
    assert words in str(problem.value)
