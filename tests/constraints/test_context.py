"""The context window: feasible when, infeasible when."""

import dataclasses

import pytest
from candidate_samples import TRAFFIC, evaluation
from step_samples import DENSE

from planner.constraints.context import ContextConstraint


def check(tokens, window=8192):
    model = dataclasses.replace(DENSE, max_context_tokens=window)
    return ContextConstraint().check(
        evaluation(model=model, traffic=dataclasses.replace(TRAFFIC, kv_tokens=tokens))
    )


@pytest.mark.parametrize("tokens", [100, 8191, 8192])
def test_feasible_when_the_tail_fits_the_window(tokens):
    verdict = check(tokens)
    assert verdict.id == "context:chat"
    assert not verdict.violated.any()
    assert verdict.slack.tolist() == [8192 - tokens] * 3


def test_infeasible_when_it_does_not():
    assert check(8193).violated.all()
    assert check(8193).slack.tolist() == [-1] * 3
