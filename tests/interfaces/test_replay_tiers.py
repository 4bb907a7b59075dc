"""Tiers replayed: what the router misplaces and what a cascade escalates comes to the next stage later."""

import pytest

from planner.interfaces import cli

PROBLEM = """\
name: two-stages
workloads:
  - name: small
    model: llama-3.1-8b
    demand: &all {peak_rps: 8}
    lengths: &lengths {input: {p50: 500, p99: 1500}, output: {p50: 60, p99: 200}}
    slo: {ttft_p99: 800 ms, itl_p99: 40 ms}
    precision: &bf16 {weights: [bf16], kv: [bf16]}
  - name: large
    model: qwen3-32b
    demand: *all
    lengths: *lengths
    slo: {ttft_p99: 2 s, itl_p99: 90 ms}
    precision: *bf16
fleet: {accelerators: [h100-sxm], prices: {h100-sxm: 3 USD/h}}
tiers: [TIER]
search: {modes: [aggregated], mix: false}
"""
ROUTED = (
    "{name: help, kind: routing, misroute: 20 %, router_latency: 50 ms, "
    "stages: [{workload: small, share: 70 %}, {workload: large, share: 30 %}]}"
)
CASCADE = "{name: help, kind: cascade, stages: [{workload: small}, {workload: large, escalated: 25 %}]}"
WORDS = ("--seeds", "1", "--duration", "120", "--no-change")


def _planned(folder, tier):
    (folder / "problem.yaml").write_text(PROBLEM.replace("TIER", tier))
    assert cli.run(["plan", str(folder / "problem.yaml"), "--out", str(folder / "plan.json"), "--json"]) == 0
    return str(folder / "plan.json")


@pytest.fixture(scope="module")
def routed(tmp_path_factory):
    return _planned(tmp_path_factory.mktemp("routed"), ROUTED)


@pytest.fixture(scope="module")
def cascade(tmp_path_factory):
    return _planned(tmp_path_factory.mktemp("cascade"), CASCADE)


def test_misplaced_requests_run_twice(told, capsys, routed):
    capsys.readouterr()
    found = told("replay", routed, *WORDS)
    small, large, tier = (*(found["workloads"][name] for name in ("small", "large")), found["tiers"]["help"])
    # 70 % to the small model, of which a fifth come to the large one as well: 30 + 14 %.
    assert small["rate_rps"] == pytest.approx(5.6, rel=0.1)
    assert large["rate_rps"] == pytest.approx(0.44 * 8, rel=0.15)
    assert tier["requests"] / 120 == pytest.approx(8, rel=0.1)
    assert tier["ended"] == pytest.approx({"small": 0.56, "large": 0.44}, abs=0.05)
    # Most see one model and the router; the slowest have waited for an answer that does not count.
    least = min(small["ttft_s"]["p50"], large["ttft_s"]["p50"])
    assert least + 0.05 < tier["ttft_s"]["p50"]
    assert tier["ttft_s"]["p99"] > small["e2e_s"]["p50"] > large["ttft_s"]["p99"]
    # The limit is what the router leaves of it.
    assert {row["id"]: row["limit_s"] for row in found["limits"]}["ttft_p99:large"] == pytest.approx(1.95)
    assert cli.run(["replay", routed, *WORDS]) == 0
    assert "help, whole, TTFT" in capsys.readouterr().out


def test_escalated_requests_wait_for_the_first_answer(told, capsys, cascade):
    capsys.readouterr()
    found = told("replay", cascade, *WORDS)
    small, large, tier = (*(found["workloads"][name] for name in ("small", "large")), found["tiers"]["help"])
    assert small["rate_rps"] == pytest.approx(8, rel=0.1)
    assert large["rate_rps"] == pytest.approx(2, rel=0.2)
    assert tier["ended"]["large"] == pytest.approx(0.25, abs=0.05)
    # Every answer that counts takes that of the small model, and a quarter that of the large one too.
    expected = small["e2e_s"]["mean"] + 0.25 * large["e2e_s"]["mean"]
    assert tier["e2e_s"]["mean"] == pytest.approx(expected, rel=0.1)


def test_a_trace_comes_to_the_entrance(told, capsys, cascade, routed, tmp_path):
    capsys.readouterr()
    path = tmp_path / "trace.csv"
    path.write_text(
        "time,in,out\n" + "".join(f"{n / 8:.3f},{400 + n % 300},{20 + n % 50}\n" for n in range(800))
    )
    words = (*WORDS[:2], "--no-change", "--trace", str(path), "--columns", "time=time,input=in,output=out")
    found = told("replay", cascade, *words, "--workload", "help")
    assert found["workloads"]["small"]["requests"] == found["tiers"]["help"]["requests"] == 800
    assert found["workloads"]["large"]["requests"] == pytest.approx(200, rel=0.25)
    found = told("replay", routed, *words, "--workload", "help")
    assert found["tiers"]["help"]["requests"] == 800
    assert found["workloads"]["small"]["requests"] == pytest.approx(560, rel=0.1)
    # A stage alone is a workload like any other.
    assert told("replay", cascade, *words, "--workload", "large")["tiers"] == {}
    assert cli.run(["replay", cascade, *words]) == 2
    assert "large, help" in capsys.readouterr().err
