"""Of plans that cost the same, the one with more, smaller replicas."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner import load
from planner.constraints.fleet_check import broken
from planner.planning.answering.fleet_plan import answer_fleet, formulated_settings
from planner.planning.answering.smaller_replicas import with_smaller_replicas
from planner.planning.run import Run

RULES_OFF = ["tensor-parallel-above-need"]


def asked(tp, rps):
    chat = {
        "name": "chat",
        "model": "Qwen/Qwen3-32B",
        "demand": {"peak_rps": rps},
        "lengths": {"input": {"fixed": 1500}, "output": {"fixed": 300}},
        "slo": {"ttft_p99": "5 s"},
        "precision": {"weights": ["fp8"], "kv": ["fp8"]},
    }
    search = {"modes": ["aggregated"], "tp": tp, "rules_off": RULES_OFF}
    return load(
        {"name": "s", "workloads": [chat], "fleet": {"prices": {"h100": "1 USD/h"}}, "search": search}
    )


def answered(session):
    return answer_fleet(session.study, session.problem, Run()).best


def sizes(case, choice):
    gpus = {option.id: option.gpus for option in case.question.options}
    return {gpus[name]: count for name, count in choice.periods[0].replicas()}


@pytest.fixture(scope="module")
def both():
    """A question with replicas of one and two GPUs, and the plan of the larger ones alone."""
    session = asked([1, 2], 8)
    _, ((_, case),) = formulated_settings(session.study, session.problem)
    large = answered(asked([2], 8)).choice
    assert sizes(case, large) == {2: 1}
    assert not broken(case.question, large)
    return case, large


def test_a_replica_of_two_gpus_becomes_two_of_one(both):
    case, large = both
    small = with_smaller_replicas(case, large)
    assert sizes(case, small) == {1: 2}
    assert (small.value, small.cost_usd) == (large.value, large.cost_usd)
    assert not broken(case.question, small)


def test_smaller_ones_that_do_not_carry_the_load_are_not_taken(both):
    case, large = both
    slower = tuple(
        replace(option, rates_rps=tuple(rate / 4 for rate in option.rates_rps))
        if option.gpus == 1
        else option
        for option in case.question.options
    )
    held = replace(case, question=replace(case.question, options=slower))
    assert with_smaller_replicas(held, large) == large


def test_what_runs_today_is_not_cut(both):
    case, large = both
    running = case.problem.model_copy(update={"start": "today.json"})
    assert with_smaller_replicas(replace(case, problem=running), large) == large


def test_plans_take_them(both):
    found = answered(asked([1, 2], 8))
    assert sizes(found.case, found.choice) == {1: 2}
