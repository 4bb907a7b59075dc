"""Requests of finite runs: their lengths, and what repeats."""

from __future__ import annotations

import math

import numpy as np
import pytest

from planner.performance.finite_run import Repeats, RunLengths, run_requests


@pytest.mark.parametrize("log_sigma", [0.5, 1.2, 1.6])
def test_lengths_with_an_end_keep_their_mean(log_sigma):
    tokens = RunLengths(205.0, 213.0, log_sigma, log_sigma, 1024.0, 1024.0)
    found = run_requests(tokens, None, 4000, 1)
    for lengths, mean in ((found.prompt, 205.0), (found.answer, 213.0)):
        assert np.mean(lengths) == pytest.approx(mean, rel=0.01)
        assert max(lengths) <= 1024 + 1


def test_an_end_far_away_changes_nothing():
    free = run_requests(RunLengths(200.0, 100.0, 0.6, 0.6), None, 500, 3)
    far = run_requests(RunLengths(200.0, 100.0, 0.6, 0.6, 1e7, 1e7), None, 500, 3)
    assert np.allclose(free.prompt, far.prompt, atol=1)
    assert math.isclose(np.mean(free.answer), np.mean(far.answer), rel_tol=0.01)


def test_the_same_prompt_has_the_same_length():
    found = run_requests(RunLengths(200.0, 100.0, 0.8, 0.8), Repeats(0.0, 50, 1), 120, 1)
    assert found.prompt[:20] == found.prompt[50:70] == found.prompt[100:120]
    assert found.again[:20] == found.again[50:70]
