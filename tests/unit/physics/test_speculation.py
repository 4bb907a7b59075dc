"""Tokens of a verified step against the distribution written out, and against drawn steps."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from planner.physics import speculation


def outcomes(accepted: float, drafts: int) -> dict[int, float]:
    """Tokens of one step -> probability, from every sequence of accepted and rejected drafts."""
    found: dict[int, float] = {}
    for draws in product((True, False), repeat=drafts):
        taken = next((place for place, draw in enumerate(draws) if not draw), drafts)
        weight = np.prod([accepted if draw else 1.0 - accepted for draw in draws])
        found[taken + 1] = found.get(taken + 1, 0.0) + float(weight)
    return found


@pytest.mark.parametrize("accepted", [0.0, 0.3, 0.75, 1.0])
@pytest.mark.parametrize("drafts", [0, 1, 2, 5])
def test_mean_and_variance_of_a_step(accepted: float, drafts: int):
    chances = outcomes(accepted, drafts)
    mean = sum(tokens * chance for tokens, chance in chances.items())
    squared = sum(tokens**2 * chance for tokens, chance in chances.items())
    assert speculation.tokens_per_step(accepted, float(drafts)) == pytest.approx(mean)
    got = speculation.tokens_per_step_variance(accepted, float(drafts))
    assert got == pytest.approx(squared - mean**2, abs=1e-12)


def test_the_closed_form_of_the_paper():
    assert speculation.tokens_per_step(0.8, 5.0) == pytest.approx((1 - 0.8**6) / (1 - 0.8))
    assert speculation.tokens_per_step(1.0, 4.0) == 5.0


def test_many_at_once():
    got = speculation.tokens_per_step(np.array([0.5, 0.5, 0.9]), np.array([0.0, 2.0, 1.0]))
    np.testing.assert_allclose(got, [1.0, 1.75, 1.9])


def test_steps_of_an_answer_vary_as_drawn_ones_do():
    rng = np.random.default_rng(7)
    tokens, chances = zip(*sorted(outcomes(0.7, 3).items()), strict=True)
    answer, steps = 400, []
    for _ in range(4000):
        emitted = np.cumsum(rng.choice(tokens, size=answer, p=chances))
        steps.append(int(np.searchsorted(emitted, answer)) + 1)
    mean = speculation.tokens_per_step(0.7, 3.0)
    variance = speculation.answer_steps_variance(answer, mean, speculation.tokens_per_step_variance(0.7, 3.0))
    assert np.mean(steps) == pytest.approx(answer / float(mean), rel=0.01)
    assert np.var(steps) == pytest.approx(float(variance), rel=0.08)
