"""The router of a pool in problem files: what it is worth, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from planner.interfaces import cli

PROBLEM = """
name: routers
workloads:
  - name: chat
    model: llama-3.1-8b
    demand: {peak_rps: 60, burstiness: 1}
    lengths: {input: {p50: 4000, p99: 9000}, output: {p50: 100, p99: 300}}
    slo: {ttft_p99: 900 ms, itl_p99: 60 ms}
    EXTRA
fleet:
  accelerators: [h100-sxm]
  prices: {h100-sxm: 2.50 USD/h}
  ROUTING
search: {modes: [MODES], pp: [1], tp: [1, 2]}
"""


@pytest.fixture
def plan(tmp_path, capsys):
    """The plan of a problem with a router, as JSON."""

    def ask(routing="", modes="aggregated", extra=""):
        text = PROBLEM.replace("ROUTING", routing).replace("MODES", modes).replace("EXTRA", extra)
        path = tmp_path / "problem.yaml"
        path.write_text(text, encoding="utf-8")
        code = cli.run(["plan", str(path), "--json"])
        shown = capsys.readouterr()
        return code, json.loads(shown.out) if shown.out else shown.err

    return ask


def test_the_default_is_least_loaded_and_random_costs_more(plan):
    _, default = plan()
    _, stated = plan("routing: {policy: least-loaded}")
    _, scattered = plan("routing: {policy: random}")
    assert default["pools"] == stated["pools"]
    assert default["cost_usd_per_hour"] < scattered["cost_usd_per_hour"]
    (pool,) = default["pools"]
    routing = pool["routing"]
    assert routing["policy"] == "least-loaded"
    assert routing["capacity_rps_alone"] == routing["capacity_rps_random"] < pool["capacity_rps"]
    (without,) = scattered["pools"]
    assert without["capacity_rps"] == pytest.approx(without["routing"]["capacity_rps_alone"])


def test_random_routing_costs_most_and_one_queue_least(plan):
    """A router that counts requests in flight sees answers, and may do worse than taking turns."""
    costs = {}
    for policy in ("random", "round-robin", "least-loaded", "shared-queue"):
        code, found = plan(f"routing: {{policy: {policy}}}")
        assert (code, found["status"]) == (0, "optimal")
        costs[policy] = found["cost_usd_per_hour"]
    assert max(costs, key=costs.get) == "random"
    assert costs["shared-queue"] == min(costs.values())
    assert costs["random"] > costs["least-loaded"]


def test_prompts_for_prefill_workers_wait_in_one_queue(plan):
    _, found = plan(modes="disaggregated")
    policies = {pool["role"]: pool["routing"]["policy"] for pool in found["pools"]}
    assert policies == {"prefill": "shared-queue", "decode": "least-loaded"}
    prefill = next(pool for pool in found["pools"] if pool["role"] == "prefill")
    assert prefill["capacity_rps"] > prefill["routing"]["capacity_rps_alone"]
    _, scattered = plan("routing: {policy: random}", modes="disaggregated")
    assert scattered["cost_usd_per_hour"] > found["cost_usd_per_hour"]


def test_a_workload_has_a_router_of_its_own(plan):
    _, found = plan("routing: {policy: random}", extra="routing: {policy: round-robin}")
    assert {pool["routing"]["policy"] for pool in found["pools"]} == {"round-robin"}


def test_a_larger_demand_never_costs_more_a_request(plan, tmp_path):
    """Pools gain by their size."""
    costs = []
    for rate in (4, 16, 64):
        _, found = plan(extra=f"headroom: {{capacity: {rate - 4} %}}")
        (pool,) = found["pools"]
        costs.append(Fraction(pool["capacity_rps"]))
    assert costs == sorted(costs)


def test_routers_that_disagree_and_unknown_ones_are_refused(plan):
    code, text = plan("routing: {policy: best}")
    assert (code, "expected one of least-loaded, power-of-two" in text) == (2, True)
    cache = "prefix_cache: {hit: 40 %, routing: cache-aware}\n    routing: {policy: round-robin}"
    code, text = plan(extra=cache)
    assert (code, "routing.policy round-robin with prefix_cache.routing cache-aware" in text) == (2, True)


def test_a_cache_follows_the_router_that_is_stated(plan):
    _, sticky = plan(extra="prefix_cache: {hit: 40 %, prefixes: 50, prefix_tokens: 1000}")
    cache = "prefix_cache: {hit: 40 %, prefixes: 50, prefix_tokens: 1000}"
    _, scattered = plan(extra=f"{cache}\n    routing: {{policy: round-robin}}")
    assert {pool["routing"]["policy"] for pool in sticky["pools"]} == {"cache-aware"}
    assert {pool["routing"]["policy"] for pool in scattered["pools"]} == {"round-robin"}


def test_relax_asks_behind_other_routers(plan, tmp_path, capsys):
    _, scattered = plan("routing: {policy: random}")
    path = tmp_path / "problem.yaml"
    assert cli.run(["relax", str(path), "--json"]) == 0
    routers = {one["policy"]: one for one in json.loads(capsys.readouterr().out)["routers"]}
    assert list(routers) == ["least-loaded", "shared-queue"]
    for policy, one in routers.items():
        _, other = plan(f"routing: {{policy: {policy}}}")
        assert one["proved"]
        assert one["cost_usd_per_hour"] == pytest.approx(other["cost_usd_per_hour"])
        saved = scattered["cost_usd_per_hour"] - other["cost_usd_per_hour"]
        assert one["saves_usd_per_hour"] == pytest.approx(saved)
    plan("routing: {policy: random}")
    assert cli.run(["relax", str(path)]) == 0
    assert "Routers" in capsys.readouterr().out
