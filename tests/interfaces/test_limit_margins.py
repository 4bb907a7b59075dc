"""The margin of each limit through the command line: from its own percentile, told, and planned with."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest

from planner.interfaces import cli

PROBLEM = """
name: small
workloads:
  - {name: chat, model: llama-3.1-8b, demand: {peak_rps: 40}, slo: {ttft_p99: 2 s, STATISTIC: 40 ms},
     lengths: {input: {fixed: 1000}, output: {fixed: 200}}}
fleet:
  accelerators: [h100-sxm]
  prices: {h100-sxm: 3 USD/h}
search: {modes: [aggregated], max_batch: [256]}
"""


@pytest.fixture
def problem(tmp_path):
    def problem(statistic):
        path = tmp_path / f"{statistic}.yaml"
        path.write_text(PROBLEM.replace("STATISTIC", statistic), encoding="utf-8")
        return str(path)

    return problem


def test_each_limit_has_the_margin_of_its_own_percentile(told, capsys, problem):
    plan = told("plan", problem("itl_p99"))
    (pool,) = plan["pools"]
    margins = {margin["limit"]: margin for margin in plan["margins"]}
    assert set(margins) == {"ttft_p99", "itl_p99"}
    for name, mean in (("ttft_p99", "ttft"), ("itl_p99", "tpot")):
        margin = margins[name]
        assert margin["sigma_log"] == pool["uncertainty"][name] > margin["mean_sigma_log"]
        assert margin["mean_sigma_log"] == pool["uncertainty"][mean]
        score = NormalDist().inv_cdf(plan["provenance"]["confidence"])
        assert margin["factor"] == pytest.approx(math.exp(score * margin["sigma_log"]))
    assert cli.run(["plan", problem("itl_p99"), "--details"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert f"ITL P99 ×{margins['itl_p99']['factor']:.2f} (±" in page


def test_a_mean_has_less_of_a_margin_than_a_percentile(told, problem):
    mean = {item["limit"]: item for item in told("plan", problem("itl_mean"))["margins"]}["itl_mean"]
    tail = {item["limit"]: item for item in told("plan", problem("itl_p99"))["margins"]}["itl_p99"]
    assert mean["sigma_log"] == mean["mean_sigma_log"] == pytest.approx(tail["mean_sigma_log"], rel=0.2)
    assert mean["factor"] < tail["factor"]


def test_no_margin_is_kept_at_the_median(told, capsys, problem, tmp_path):
    path = tmp_path / "even.yaml"
    path.write_text(PROBLEM.replace("STATISTIC", "itl_p99") + "confidence: 50 %\n", encoding="utf-8")
    plan = told("plan", str(path))
    assert {margin["factor"] for margin in plan["margins"]} == {1.0}
    assert cli.run(["plan", str(path), "--details"]) == 0
    assert "Margins for confidence" not in capsys.readouterr().out


def test_estimates_state_the_spread_of_their_tails(told, capsys):
    flags = ("--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--isl", "1000", "--osl", "200", "--rps", "2")
    found = told("estimate", *flags)["uncertainty"]
    assert found["itl_p99"] > found["tpot_p99"] > found["tpot"]
    assert found["ttft_p99"] > found["ttft"]
    assert cli.run(["estimate", *flags]) == 0
    assert "ITL P99 ±" in " ".join(capsys.readouterr().out.split())
