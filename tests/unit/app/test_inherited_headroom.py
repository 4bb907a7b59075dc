"""A workload's headroom overrides the fleet's key by key: what it does not state stays the fleet's."""

from __future__ import annotations

import pytest

import planner

PREDICTED = """\
name: p
workloads:
  - name: chat
    model: llama-3.1-8b
    demand: {{hourly_rps: {rates}}}
    lengths: {{input: {{fixed: 512}}, output: {{fixed: 128}}}}
    headroom: {own}
fleet:
  accelerators: [h100-sxm]
  prices: {{h100-sxm: 2.50 USD/h}}
  headroom: {{memory: 40 %, capacity: 50 %}}
search: {{modes: [aggregated], tp: [1]}}
"""
TABLE = """\
name: t
workers: t.csv
workloads: [{{name: chat, demand: {{hourly_rps: {rates}}}, headroom: {own}}}]
fleet: {{headroom: {{memory: 40 %, capacity: 50 %}}}}
"""
ROWS = """\
option,gpu,gpus,usd_per_hour,max_rps,memory_fraction
full,h100,1,3,10,0.85
roomy,h100,1,4,10,0.55
"""


@pytest.fixture
def solved(tmp_path):
    def plan(text, own, hours):
        (tmp_path / "t.csv").write_text(ROWS, encoding="utf-8")
        path = tmp_path / "p.yaml"
        path.write_text(text.format(rates=[10] * hours, own=own), encoding="utf-8")
        return planner.load(path).solve()

    return plan


@pytest.mark.parametrize("hours", [1, 2])
def test_memory_of_the_fleet_stays_where_only_capacity_is_stated(solved, hours):
    table = solved(TABLE, "{capacity: 0 %}", hours)
    assert {pool.option for pool in table.pools} == {"roomy"}
    assert sum(pool.replicas for pool in table.pools) == 1
    predicted = solved(PREDICTED, "{capacity: 0 %}", hours)
    both = solved(PREDICTED, "{memory: 40 %, capacity: 0 %}", hours)
    assert [pool.memory_bytes for pool in predicted.pools] == [pool.memory_bytes for pool in both.pools]
    for pool in predicted.pools:
        assert pool.memory_bytes is not None
        assert pool.memory_bytes.free >= 0.4 * pool.memory_bytes.capacity * (1 - 1e-9)


@pytest.mark.parametrize("hours", [1, 2])
def test_capacity_of_the_fleet_stays_where_only_memory_is_stated(solved, hours):
    table = solved(TABLE, "{memory: 5 %}", hours)
    assert [(pool.option, pool.replicas) for pool in table.pools] == [("full", 2)]
    predicted = solved(PREDICTED, "{memory: 5 %}", hours)
    both = solved(PREDICTED, "{memory: 5 %, capacity: 50 %}", hours)
    assert predicted.cost_usd_per_hour == both.cost_usd_per_hour
    assert predicted.pools[0].load_rps == both.pools[0].load_rps


@pytest.mark.parametrize("hours", [1, 2])
def test_headroom_that_a_workload_does_not_state_is_a_limit_of_the_fleet(tmp_path, hours):
    (tmp_path / "t.csv").write_text(ROWS, encoding="utf-8")
    path = tmp_path / "p.yaml"
    path.write_text(TABLE.format(rates=[10] * hours, own="{memory: 5 %}"), encoding="utf-8")
    ids = {price.id for price in planner.load(path).relax().prices}
    assert "headroom" in ids
    assert "headroom:chat" not in ids
