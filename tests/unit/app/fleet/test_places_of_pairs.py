"""Prefill and decode of one workload stand at the same place where the supply states regions."""

from __future__ import annotations

import copy

import pytest
import yaml

import planner
from planner.app.routes_out import routes_of
from planner.errors import InputError
from planner.exports.http_routes import http_routes_yaml

TABLE = """option,workload,role,gpu,gpus,max_rps,ttft_ms,itl_ms,transfer_ms
p-h100,chat,prefill,h100,1,10,400,,50
p-a100,chat,prefill,a100,1,5,600,,90
d-h100,chat,decode,h100,1,10,,20,50
d-a100,chat,decode,a100,1,5,,30,90
"""
PROBLEM = {
    "name": "disaggregated",
    "workers": "workers.csv",
    "workloads": [
        {
            "name": "chat",
            "demand": {"hourly_rps": [8, 16]},
            "slo": {"ttft_p99": "900 ms", "itl_p99": "50 ms"},
        }
    ],
    "fleet": {
        "headroom": {"capacity": "0 %"},
        "supply": [
            {"gpu": "h100", "term": "on_demand", "usd_per_gpu_h": 4, "max_gpus": 8, "region": "eu"},
            {"gpu": "a100", "term": "on_demand", "usd_per_gpu_h": 1, "max_gpus": 4, "region": "us"},
        ],
    },
    "search": {"modes": ["disaggregated"]},
}


def solved(folder, table=TABLE, **fleet):
    problem = copy.deepcopy(PROBLEM)
    problem["fleet"].update(fleet)
    (folder / "workers.csv").write_text(table)
    (folder / "problem.yaml").write_text(yaml.safe_dump(problem))
    return planner.load(folder / "problem.yaml").solve()


def served(plan, period):
    """Share of the requests by role and site."""
    pools = {pool.id: pool for pool in plan.pools}
    found = {}
    for route in plan.periods[period].routing:
        key = (pools[route.pool].role, pools[route.pool].site)
        found[key] = found.get(key, 0.0) + route.share
    return found


def test_what_is_prefilled_at_a_place_is_decoded_there(tmp_path):
    plan = solved(tmp_path)
    assert plan.status == "optimal"
    for period in range(2):
        shares = served(plan, period)
        for site in ("eu", "us"):
            assert shares.get(("prefill", site), 0.0) == pytest.approx(shares.get(("decode", site), 0.0))
    # Two cheap pairs in us carry 10 of 16 requests/s, one pair in eu the rest; at 8 the pairs in us do.
    assert [period.usd for period in plan.periods] == [4.0, 12.0]
    assert {pool.option for pool in plan.pools} <= {"p-h100", "p-a100", "d-h100", "d-a100"}


def test_a_pair_is_never_divided_between_regions(tmp_path):
    """Only prefill runs on the GPUs in eu, only decode on those in us: nothing fits together."""
    disaggregated = "\n".join(row for row in TABLE.splitlines() if row[:6] not in ("p-a100", "d-h100"))
    assert solved(tmp_path, disaggregated).status == "infeasible"
    one = [{**line, "region": "eu"} for line in PROBLEM["fleet"]["supply"]]
    plan = solved(tmp_path, disaggregated, supply=one)
    assert plan.status == "optimal"
    assert plan.pd_ratio["gpus"]


@pytest.mark.parametrize(
    ("first", "second", "paired"),
    [
        ({"region": "eu"}, {"region": "eu", "zone": "a"}, True),
        ({"region": "eu"}, {}, True),
        ({"region": "EU"}, {"region": "eu"}, True),
        ({"provider": "p"}, {"provider": "q"}, True),
        ({"region": "eu", "provider": "p"}, {"region": "eu"}, True),
        ({"region": "eu", "provider": "p"}, {"region": "eu", "provider": "q"}, False),
        ({"region": "eu"}, {"region": "us"}, False),
    ],
)
def test_places_are_regions_of_providers(tmp_path, first, second, paired):
    disaggregated = "\n".join(row for row in TABLE.splitlines() if row[:6] not in ("p-a100", "d-h100"))
    lines = [
        {key: value for key, value in line.items() if key != "region"} | place
        for line, place in zip(PROBLEM["fleet"]["supply"], (first, second), strict=True)
    ]
    plan = solved(tmp_path, disaggregated, supply=lines)
    assert plan.status == ("optimal" if paired else "infeasible")


def test_latency_is_that_of_pairs_that_stand_together(tmp_path):
    """In us 600 + 90 ms, in eu 400 + 50 ms; the slow KV transfer of us never follows a prompt in eu."""
    table = TABLE.replace("600,,90", "400,,90").replace("400,,50", "600,,50")
    plan = solved(tmp_path, table)
    state = next(state for state in plan.constraints if state.id == "ttft:chat")
    assert {pool.site for pool in plan.pools} == {"eu", "us"}
    assert state.value == pytest.approx(0.65)


BOTH = """option,workload,role,gpu,gpus,max_rps
whole,chat,serve,h100,1,6
p,chat,prefill,a100,1,40
d,chat,decode,b200,1,40
"""


def by_hour(folder, *hourly_rps, table=BOTH):
    """One whole replica an hour is cheap; many requests are cheaper served disaggregated."""
    problem = copy.deepcopy(PROBLEM)
    problem["workloads"] = [{"name": "chat", "demand": {"hourly_rps": list(hourly_rps)}}]
    problem["search"] = {"modes": ["aggregated", "disaggregated"]}
    problem["fleet"]["supply"] = [
        {"gpu": gpu, "term": "on_demand", "usd_per_gpu_h": usd}
        for gpu, usd in (("h100", 2), ("a100", 5), ("b200", 3), ("l40s", 3))
        if gpu in table
    ]
    (folder / "workers.csv").write_text(table)
    (folder / "problem.yaml").write_text(yaml.safe_dump(problem))
    return planner.load(folder / "problem.yaml").solve()


def test_shares_of_a_day_sum_to_one_where_hours_are_served_in_different_ways(tmp_path):
    plan = by_hour(tmp_path, 5, 50, 25, 5)
    shares = {route.pool: route.share for route in plan.routing}
    # At 5 requests/s one whole replica is enough (2 USD); at 25 and 50 prefill and decode cost 8 and 16.
    assert shares == pytest.approx(
        {"chat/serve/1": 10 / 85, "chat/prefill/1": 75 / 85, "chat/decode/1": 75 / 85}
    )
    rows = {row.role: row.buckets[0].pools for row in routes_of(plan, None, "").workloads}
    assert {role: sum(to.weight for to in pools) for role, pools in rows.items()} == {
        "serve": 118, "prefill": 882, "decode": 1000,
    }  # fmt: skip
    (route,) = yaml.safe_load_all(http_routes_yaml(routes_of(plan, None, ""), "plan.json"))
    backends = route["spec"]["rules"][0]["backendRefs"]
    assert {row["name"]: row["weight"] for row in backends} == {"chat-serve-1": 118, "chat-prefill-1": 882}


def test_the_ratio_is_that_of_one_hour(tmp_path):
    """Of the hour with most disaggregated requests: a sum over pools of different hours never runs."""
    table = BOTH.replace("p,chat,prefill,a100,1,40", "p,chat,prefill,a100,1,100\np2,chat,prefill,l40s,1,30")
    plan = by_hour(tmp_path, 5, 90, 25, 5, table=table)
    assert {pool.option for pool in plan.pools} == {"whole", "p", "p2", "d"}
    assert plan.pd_ratio == {"gpus": "1:3", "replicas": "1:3"}


@pytest.mark.parametrize(
    ("network", "latency", "ttft_s"),
    [("2 GB/s", "40 ms", 0.69), ("20 GB/s", "40 ms", 0.49), ("1 GB/s", "1 ms", None)],
)
def test_a_stated_link_joins_two_places_at_its_speed(tmp_path, network, latency, ttft_s):
    """Transfers of 50 ms at 10 GB/s: 250 ms at 2 GB/s, 500 ms at 1 GB/s, and never faster than measured."""
    disaggregated = "\n".join(row for row in TABLE.splitlines() if row[:6] not in ("p-a100", "d-h100"))
    disaggregated = disaggregated.replace("a100,1,5,,30,90", "a100,1,5,,30,50")
    link = {"between": ["EU", "us"], "network": network, "latency": latency}
    plan = solved(tmp_path, disaggregated, network="10 GB/s", links=[link])
    if ttft_s is None:
        assert plan.status == "infeasible"
        return
    state = next(state for state in plan.constraints if state.id == "ttft:chat")
    assert (plan.status, state.value) == ("optimal", pytest.approx(ttft_s))
    assert {pool.site for pool in plan.pools} == {"eu", "us"}


def test_links_name_places_of_the_supply(tmp_path):
    ends = [["eu", "asia"], ["eu", "us"], ["us", "EU"]]
    links = [{"between": pair, "network": "1 GB/s"} for pair in ends]
    with pytest.raises(InputError) as problems:
        solved(tmp_path, links=links)
    told = str(problems.value)
    assert (
        'fleet.links.0.between.1: found "asia", expected a region or provider of the supply: eu, us' in told
    )
    assert "fleet.links.2.between: found us and EU again" in told
    assert "fleet.links: found no fleet.network beside it" in told
    with pytest.raises(InputError, match="expected two regions or providers that differ"):
        solved(tmp_path, network="1 GB/s", links=[{"between": ["eu", "EU"], "network": "1 GB/s"}])


def test_predicted_pairs_over_a_link_are_those_of_its_speed(tmp_path):
    """One GPU at each of two places: a pair needs both, and a KV cache takes its time between them."""
    problem = {
        "name": "linked",
        "workloads": [
            {
                "name": "chat",
                "model": "llama-3.1-8b",
                "demand": {"hourly_rps": [0.5, 0.4]},
                "lengths": {"input": {"p50": 1000, "p95": 2000}, "output": {"p50": 100, "p95": 200}},
                "slo": {"ttft_p95": "3 s", "itl_p95": "60 ms"},
                "precision": {"kv": ["fp8"]},
            }
        ],
        "fleet": {
            "supply": [
                {"gpu": "h100-sxm", "term": "owned", "usd_per_gpu_h": 1, "max_gpus": 1, "region": region}
                for region in ("eu", "us")
            ]
        },
        "search": {"modes": ["disaggregated"], "tp": [1]},
    }

    def plan(*links):
        problem["fleet"]["links"] = [{"between": ["eu", "us"], **link} for link in links]
        (tmp_path / "problem.yaml").write_text(yaml.safe_dump(problem))
        return planner.load(tmp_path / "problem.yaml").solve()

    assert plan().status == "infeasible"
    slow, fast = (plan({"network": f"{rate} GB/s", "latency": "50 ms"}) for rate in (0.5, 20))
    kv_transfer_s = []
    for one in (slow, fast):
        assert one.status == "optimal"
        assert {pool.site for pool in one.pools} == {"eu", "us"}
        kv_transfer_s.append(next(pool for pool in one.pools if pool.role == "prefill").kv_transfer_s["mean"])
    # About 1,100 tokens of 64 KiB: 0.07 GB, at 0.5 GB/s instead of 20, and some that wait for the link.
    assert kv_transfer_s[1] > 0.05
    assert 0.12 < kv_transfer_s[0] - kv_transfer_s[1] < 0.2
