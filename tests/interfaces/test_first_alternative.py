"""`planner alternatives` begins with what `planner plan` answers, through the command line."""

import json

import pytest

from planner.interfaces import cli

PROBLEM = """
name: one-gpu-type
workloads:
  - name: chat
    model: llama-3.3-70b
    demand: {peak_rps: 20}
    lengths:
      input: {p50: 1020, p95: 3400, p99: 4142}
      output: {p50: 129, p95: 480, p99: 601}
    slo: {ttft_p99: 1500 ms, itl_p99: 60 ms}
fleet:
  accelerators: [mi300x]
  prices: {mi300x: 2.0 USD/h}
search: {modes: [aggregated]}
"""


@pytest.fixture
def asked(tmp_path, capsys):
    path = tmp_path / "problem.yaml"
    path.write_text(PROBLEM, encoding="utf-8")

    def asked(verb, *words):
        assert cli.run([verb, str(path), *words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return asked


def test_the_first_alternative_is_the_plan(asked):
    """Pools that mix layouts carry less at their real size: a cheaper plan without that breaks limits."""
    plan, others = asked("plan"), asked("alternatives", "-k", "2")["plans"]
    assert len(others) == 2
    for key in ("status", "objective", "cost_usd_per_hour", "pools", "routing", "constraints"):
        assert others[0][key] == plan[key], key
    assert all(one["cost_usd_per_hour"] >= plan["cost_usd_per_hour"] for one in others)
