"""Latency limits: feasible when, infeasible when."""

import numpy as np
import pytest
from candidate_samples import bits, evaluation

from planner.constraints.latency import LatencyConstraint
from planner.constraints.registry import CANDIDATE_CONSTRAINTS
from planner.schema.slo import METRICS, Slo

LIMITS = {"ttft_p99": 1.5, "ttft_mean": 0.5, "itl_p99": 0.06}
MEASURED = {
    "ttft_p99": np.array([1.5, 1.8, 3.0]),
    "ttft_mean": np.array([0.1, 0.7, 0.6]),
    "itl_p99": np.array([0.03, 0.03, 0.03]),
}


def check(metric, violated):
    found = evaluation(
        limits_s=LIMITS,
        latency_s=MEASURED,
        latency_violated={name: bits(3, *violated.get(name, ())) for name in METRICS},
    )
    return LatencyConstraint(metric, "title").check(found)


def test_feasible_when_every_statistic_is_at_or_below_its_limit():
    verdict = check("ttft", {"ttft": (1, 2)})
    assert verdict.id == "ttft:chat"
    assert not verdict.violated[0]
    assert verdict.slack[0] == 0.0, "a value equal to its limit is allowed"


def test_infeasible_when_one_is_above_and_the_worst_is_told():
    verdict = check("ttft", {"ttft": (1, 2)})
    assert verdict.violated.tolist() == [False, True, True]
    # 1.8 of 1.5 is 1.2 times, 0.7 of 0.5 is 1.4 times: the mean is told; then 3.0 of 1.5.
    assert (verdict.value[1], verdict.limit[1]) == (0.7, 0.5)
    assert (verdict.value[2], verdict.limit[2]) == (3.0, 1.5)


def test_without_a_limit_nothing_is_violated():
    verdict = check("e2e", {})
    assert not verdict.violated.any()
    assert np.isinf(verdict.limit).all()


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_of_the_problem_has_its_constraint(metric):
    assert metric in {constraint.id for constraint in CANDIDATE_CONSTRAINTS}
    assert any(name.startswith(f"{metric}_") for name in Slo.model_fields)
