"""Leaving out a limit never makes a plan dearer."""

import json

import pytest

import planner

PROBLEM = {
    "name": "x",
    "workloads": [
        {
            "name": "w",
            "model": "llama-3.3-70b",
            "demand": {"peak_rps": 7},
            "lengths": {"input": {"fixed": 2000}, "output": {"fixed": 100}},
            "slo": {},
        }
    ],
    "fleet": {"prices": {"mi300x": "2.4 USD/h"}},
    "search": {"modes": ["aggregated"]},
}


@pytest.mark.parametrize("slo", [{"itl_p99": "40 ms"}, {"tpot_p95": "30 ms"}])
def test_without_a_limit_on_first_tokens_a_plan_costs_no_more(slo):
    def cost(limits):
        problem = json.loads(json.dumps(PROBLEM))
        problem["workloads"][0]["slo"] = limits
        return planner.load(problem).solve().to_dict()["cost_usd_per_hour"]

    assert cost(slo) <= cost({**slo, "ttft_p99": "1000 s"})
