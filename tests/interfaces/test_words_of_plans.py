"""Words of plans and explanations that would mislead: noise of floats, derived limits, equal layouts."""

import pytest

from planner.interfaces import cli

ONE_GPU = """\
name: p
workloads:
  - name: chat
    model: qwen3-32b
    demand: {peak_rps: 6}
    lengths: {input: {p50: 4000, p99: 16000}, output: {p50: 300, p99: 1000}}
    slo: {ttft_p99: 3 s, itl_p99: 60 ms}
    precision: {weights: [fp8], kv: [fp8]}
fleet: {accelerators: [h100-sxm], prices: {h100-sxm: 2 USD/h}}
search: {modes: [aggregated], mix: false, tp: [1], pp: [1]}
"""
WHOLE = """\
name: p
workloads:
  - name: chat
    model: llama-3.1-8b
    demand: {peak_rps: 40}
    lengths: {input: {fixed: 500}, output: {fixed: 40}}
    slo: {e2e_p99: LIMIT}
    precision: {weights: [fp8], kv: [fp8]}
fleet: {prices: {h100-sxm: 3.57 USD/h}}
search: {modes: [MODE], tp: [1, 2]}
"""
DAY = """\
name: day
workers: t.csv
workloads: [{name: w, demand: {hourly_rps: [1.5, 5.5]}}]
fleet: {prices: {a: 1 USD/h, b: 0.5 USD/h}}
"""


@pytest.fixture
def written(tmp_path):
    (tmp_path / "t.csv").write_text("option,gpu,gpus,max_rps\na,a,1,5\nb,b,1,2\n")

    def written(text):
        (tmp_path / "p.yaml").write_text(text)
        return str(tmp_path / "p.yaml")

    return written


def test_the_next_best_is_not_the_same_layout_with_more_memory(told, written, tmp_path, capsys):
    plan = told("plan", written(ONE_GPU), "--out", str(tmp_path / "plan.json"))
    (pool,) = plan["pools"]
    assert "tp1 chunk512" in pool["option"]
    assert not [other for other in plan["runners_up"] if "tp1 chunk512 memory95%" in other["option"]]
    assert cli.run(["explain", str(tmp_path / "plan.json"), "--steps"]) == 0
    page = capsys.readouterr().out
    assert "preemptions of a replica at most" in page
    assert "e-" not in "".join(line for line in page.splitlines() if "preemptions" in line)


def test_first_tokens_within_a_limit_on_e2e_are_told_as_that_limit(told, written):
    text = WHOLE.replace("MODE", "disaggregated")
    plan = told("plan", written(text.replace("LIMIT", "900 ms")))
    assert {pool["limited_by"] for pool in plan["pools"]} == {"e2e"}
    assert {one["stopped_by"] for one in plan["gpu_types"] if one["status"] == "chosen"} == {"e2e:chat"}
    stuck = told("plan", written(text.replace("LIMIT", "60 ms")), code=1)
    limits = {item["id"]: item["limit"] for item in stuck["removed"]}
    assert limits["e2e:chat"] == pytest.approx(0.06)
    assert "ttft:chat" not in limits


def test_a_pool_of_some_hours_is_up_to_one_replica(written, tmp_path, capsys):
    assert cli.run(["plan", written(DAY), "--out", str(tmp_path / "plan.json")]) == 0
    assert cli.run(["explain", str(tmp_path / "plan.json")]) == 0
    assert cli.run(["explain", str(tmp_path / "plan.json"), "--steps"]) == 0
    page = capsys.readouterr().out
    assert "up to 1 replica of" in page
    assert "0 to 1" not in page
