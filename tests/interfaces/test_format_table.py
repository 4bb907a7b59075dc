"""One table of all pairs of formats, from the command line."""

import pytest
import yaml

from planner.interfaces import cli

CHAT = {
    "name": "chat",
    "model": "llama-3.1-8b",
    "demand": {"peak_rps": 30, "mean_rps": 10},
    "lengths": {"input": {"fixed": 800}, "output": {"fixed": 150}},
    "slo": {"ttft_p99": "1500 ms", "itl_p99": "60 ms"},
}
SEARCH = {"modes": ["aggregated"], "tp": [1], "pp": [1]}
FLEET = {"accelerators": ["h100-sxm", "l40s"]}


@pytest.fixture
def problem(tmp_path):
    def problem(fleet=FLEET, **workload):
        path = tmp_path / "formats.yaml"
        values = {"name": "formats", "workloads": [CHAT | workload], "fleet": fleet, "search": SEARCH}
        path.write_text(yaml.safe_dump(values))
        return str(path)

    return problem


def by_pair(plan):
    rows = {(row["weights"], row["kv"]): row for row in plan["formats"]}
    assert len(rows) == len(plan["formats"])
    return rows


def test_a_pair_costs_what_a_plan_costs_that_names_only_it(told, problem):
    found = told("plan", problem(), "--details")
    rows = by_pair(found)
    priced = {pair: row for pair, row in rows.items() if row["cost_usd_per_hour"] is not None}
    assert set(priced) == {(weights, kv) for weights in ("bf16", "fp8") for kv in ("bf16", "fp8")}
    chosen = {(pool["weights"], pool["kv"]) for pool in found["pools"]}
    assert {pair for pair, row in rows.items() if row["status"] == "chosen"} == chosen
    for (weights, kv), row in priced.items():
        alone = told("plan", problem(precision={"weights": [weights], "kv": [kv]}))
        assert row["cost_usd_per_hour"] == pytest.approx(alone["cost_usd_per_hour"])
        assert row["cost_usd_per_hour"] >= found["cost_usd_per_hour"]
        assert row["bound"] == "exact"
        assert row["layout"]
        assert row["stopped_by"]


def test_what_the_problem_does_not_allow_is_excluded(told, problem):
    rows = by_pair(told("plan", problem(precision={"weights": ["fp8"], "kv": ["fp8"]}), "--details"))
    assert {pair for pair, row in rows.items() if row["status"] != "excluded"} == {("fp8", "fp8")}
    assert rows["bf16", "bf16"]["stopped_by"] == "precision:chat"


def test_what_no_gpu_holds_says_which_limit_it_breaks(told, problem):
    rows = by_pair(told("plan", problem({"accelerators": ["l40s"]}, model="qwen3-32b", slo={}), "--details"))
    assert (rows["bf16", "fp8"]["status"], rows["bf16", "fp8"]["stopped_by"]) == ("infeasible", "vram:chat")
    assert rows["bf16", "fp8"]["why"]


def test_it_is_told_only_where_it_is_asked_for(told, problem, capsys):
    assert told("plan", problem())["formats"] == []
    assert cli.run(["plan", problem()]) == 0
    assert "All formats" not in capsys.readouterr().out
    assert cli.run(["plan", problem(), "--details"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "All formats" in text
    assert "Excluded by workload.precision: " in text
