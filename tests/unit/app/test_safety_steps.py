"""The stack of safety: every step against a plan that is really asked for without the layers above it."""

from __future__ import annotations

import copy
import io
import json
import sys

import pytest
import yaml
from sample_plans import EACH, PROBLEMS, sample

import planner
from planner.app.safety import safety_optima
from planner.interfaces import cli
from planner.planning.run import Run

ORDER = ["means", "percentiles", "confidence", "headroom", "redundancy", "purchase"]
ONE_LAYOUT = {
    "name": "one-layout",
    "workloads": [
        {
            "name": "chat",
            "model": "llama-3.3-70b",
            "demand": {"peak_rps": 31},
            "lengths": {
                "input": {"p50": 1000, "p95": 3000, "p99": 4000},
                "output": {"p50": 200, "p95": 500, "p99": 700},
            },
            "slo": {"ttft_p99": "1500 ms", "itl_p95": "45 ms"},
            "precision": {"weights": ["fp8"], "kv": ["fp8"]},
        }
    ],
    "fleet": {
        "accelerators": ["h100-sxm"],
        "prices": {"h100-sxm": "2.5 USD/h"},
        "headroom": {"capacity": "30 %"},
        "redundancy": 2,
    },
    "search": {"modes": ["aggregated"], "tp": [2], "pp": [1], "batched_tokens": [1024]},
    "confidence": "90 %",
}
"""One configuration, bought by the GPU, so that the optimum at a step is the same layout."""
LOOSER = {
    "redundancy": {},
    "headroom": {"redundancy": 0},
    "confidence": {"redundancy": 0, "headroom": {"capacity": "0 %"}},
}


def planned(values, tmp_path):
    path = tmp_path / "problem.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return planner.load(path).solve()


def without(step):
    """The problem without the layers above a step, as a user would write it."""
    values = copy.deepcopy(ONE_LAYOUT)
    values["fleet"] |= LOOSER.get(step, LOOSER["confidence"])
    if step in ("percentiles", "means"):
        values["confidence"] = "50 %"
    if step == "means":
        values["workloads"][0]["slo"] = {"ttft_mean": "1500 ms", "itl_mean": "45 ms"}
    return values


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    return planned(ONE_LAYOUT, tmp_path_factory.mktemp("one"))


@pytest.mark.parametrize("step", ORDER[:-1])
def test_a_step_is_the_plan_without_the_layers_above_it(plan, step, tmp_path):
    mine = next(one for one in plan.safety if one.step == step)
    asked = planned(without(step), tmp_path)
    assert (mine.gpus, mine.cost_usd_per_hour) == (sum(asked.gpus.values()), asked.cost_usd_per_hour)


def test_every_layer_of_this_problem_costs_something(plan):
    gpus = [step.gpus for step in plan.safety]
    assert gpus[:5] == sorted(set(gpus[:5]))
    assert plan.safety[4].gpus - plan.safety[3].gpus == 2 * 2, "two spares of two GPUs"


def test_servers_bought_whole_are_the_last_step(tmp_path):
    values = copy.deepcopy(ONE_LAYOUT)
    values["fleet"] |= {"purchase": "node", "node_size": 8}
    values["workloads"][0]["demand"]["peak_rps"] = 27
    plan = planned(values, tmp_path)
    *_, replicas, bought = plan.safety
    pool = plan.pools[0]
    assert replicas.gpus == pool.replicas * pool.gpus_per_replica
    assert bought.gpus == sum(plan.gpus.values())
    assert bought.gpus % 8 == 0
    assert bought.gpus > replicas.gpus


def test_a_limit_on_the_median_that_is_looser_than_its_mean_leaves_the_number(tmp_path):
    values = copy.deepcopy(ONE_LAYOUT)
    values["workloads"][0]["slo"] = {"ttft_p50": "300 ms"}
    means, percentiles, *_ = planned(values, tmp_path).safety
    assert (means.gpus, means.cost_usd_per_hour) == (percentiles.gpus, percentiles.cost_usd_per_hour)


@pytest.mark.parametrize("path", EACH)
def test_steps_never_fall_and_end_at_the_plan(path):
    plan = sample(path)[1]
    if plan.status == "infeasible" or not plan.sizing or not plan.pools:
        assert plan.safety == ()
        return
    assert [step.step for step in plan.safety] == ORDER
    assert (plan.safety[-1].gpus, plan.safety[-1].cost_usd_per_hour) == (
        sum(plan.gpus.values()),
        plan.cost_usd_per_hour,
    )
    names = {workload["name"] for workload in plan.inputs.problem["workloads"]}
    for before, after in zip(plan.safety, plan.safety[1:], strict=False):
        assert before.gpus <= after.gpus
        assert before.cost_usd_per_hour <= after.cost_usd_per_hour * (1 + 1e-12)
        for name in before.by_workload:
            low, high = before.by_workload[name], after.by_workload[name]
            assert low.cost_usd_per_hour <= high.cost_usd_per_hour * (1 + 1e-12)
            assert high.gpus is None or low.gpus <= high.gpus
    assert set(plan.safety[0].by_workload) == (names if len(names) > 1 else set())


def explained(arguments, capsys):
    code = cli.run(["explain", *arguments, "--safety", "--json"])
    told = capsys.readouterr()
    return code, json.loads(told.out) if told.out else None, told.err


def problem_file(tmp_path, values=ONE_LAYOUT):
    path = tmp_path / "problem.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


def test_the_command_solves_every_step_of_a_plan_and_of_its_problem_alike(plan, tmp_path, capsys):
    problem, document = problem_file(tmp_path), tmp_path / "plan.json"
    assert cli.run(["plan", str(problem), "--json", "--out", str(document)]) == 0
    capsys.readouterr()
    code, of_plan, _ = explained([str(document)], capsys)
    assert code == 0
    assert explained([str(problem)], capsys)[1] == of_plan
    found = [(one["step"], one["gpus"], one["cost_usd_per_hour"], one["gap"]) for one in of_plan["safety"]]
    assert found == [(one.step, one.gpus, one.cost_usd_per_hour, 0.0) for one in plan.safety]


def test_the_optimum_of_a_step_may_use_another_layout(tmp_path, capsys):
    values = copy.deepcopy(ONE_LAYOUT)
    values["fleet"] |= {"purchase": "node", "node_size": 8}
    values["search"] = {"modes": ["aggregated"]}
    plan = planned(values, tmp_path)
    _, found, _ = explained([str(problem_file(tmp_path, values))], capsys)
    for mine, best in zip(plan.safety, found["safety"], strict=True):
        assert best["cost_usd_per_hour"] <= mine.cost_usd_per_hour
    assert found["safety"][0]["cost_usd_per_hour"] < plan.safety[0].cost_usd_per_hour


def test_prefill_and_decode_pools_sized_again_never_beat_the_optimum_of_a_step():
    """At twice the rate, where a replica is a small part of a pool and each step takes one."""
    small, _ = sample(next(path for path in PROBLEMS if path.stem == "17-long-prompts-70b"))
    session = small.changed({"workloads.documents.demand": {"peak_rps": 24, "mean_rps": 8}})
    plan = session.solve()
    assert {pool.role for pool in plan.pools} == {"prefill", "decode"}
    assert plan.safety[0].gpus < plan.safety[1].gpus < plan.safety[2].gpus < plan.safety[3].gpus
    for mine, best in zip(plan.safety, safety_optima(session, plan, Run()), strict=True):
        assert best.cost_usd_per_hour <= mine.cost_usd_per_hour <= 1.3 * best.cost_usd_per_hour


def test_a_problem_without_a_plan_shows_the_layer_that_is_too_much(tmp_path, capsys):
    values = copy.deepcopy(ONE_LAYOUT)
    values["fleet"]["stock"] = {"h100-sxm": planned(ONE_LAYOUT, tmp_path).safety[2].gpus}
    code, found, _ = explained([str(problem_file(tmp_path, values))], capsys)
    assert code == 0
    assert found["plan"]["status"] == "infeasible"
    known = [one["gpus"] is not None for one in found["safety"]]
    assert known == [True, True, True, False, False, False]


def test_the_page_names_the_layers_with_their_numbers(tmp_path, capsys):
    assert cli.run(["explain", str(problem_file(tmp_path)), "--safety"]) == 0
    page = capsys.readouterr().out
    for words in ("bare need: means, no spare", "+ confidence 90 %", "+ headroom 30 %", "+ redundancy"):
        assert words in page


def test_a_problem_may_come_on_standard_input(tmp_path, capsys, monkeypatch):
    text = problem_file(tmp_path).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text), encoding="utf-8"))
    code, found, _ = explained(["-"], capsys)
    assert code == 0
    assert [step["step"] for step in found["safety"]] == ORDER


def test_a_table_of_measured_workers_has_no_layers(tmp_path, capsys):
    (tmp_path / "t.csv").write_text(
        "option,workload,gpu,gpus,max_rps,usd_per_hour\na,chat,h100,1,5,2.5\n", encoding="utf-8"
    )
    values = {"name": "t", "workers": "t.csv", "workloads": [{"name": "chat", "demand": {"peak_rps": 12}}]}
    path = problem_file(tmp_path, values)
    assert planner.load(path).solve().safety == ()
    code, found, told = explained([str(path)], capsys)
    assert (code, found) == (2, None)
    assert "problem.yaml" in told
    assert "measured workers" in told


def test_steps_and_safety_are_two_questions(tmp_path, capsys):
    code, found, told = explained([str(problem_file(tmp_path)), "--steps"], capsys)
    assert (code, found) == (2, None)
    assert "one of them" in told
