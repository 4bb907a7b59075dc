"""Servers of one GPU have no fabric unless their network is stated."""

import pytest

PROBLEM = """
name: single
workloads:
  - name: w
    model: qwen3-235b-a22b
    demand: {{peak_rps: 1}}
    lengths: {{input: {{fixed: 1000}}, output: {{fixed: 200}}}}
fleet: {{accelerators: [gh200-96gb]{network}}}
"""


@pytest.fixture
def planned(tmp_path, told):
    def plan(network, code):
        file = tmp_path / "single.yaml"
        file.write_text(PROBLEM.format(network=network))
        return told("plan", str(file), code=code)

    return plan


def test_no_replica_lies_over_them(planned):
    plan = planned("", code=1)
    assert plan["status"] == "infeasible"
    assert "pipeline-between-part-servers" in {one["id"] for one in plan["removed"] if one["total"]}


def test_with_a_stated_network_one_does(planned):
    plan = planned(", network: 50 GB/s", code=0)
    assert plan["status"] == "optimal"
    assert plan["pools"][0]["gpus_per_replica"] > 1
