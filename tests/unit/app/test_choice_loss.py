"""Losses of choices and gains of own rows, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from planner.calibration.choice_loss import Choice, after_own_rows, choice_losses
from planner.performance.shrinkage import Spread


def choice(predicted_ms, predicted_rate, measured_ms, measured_rate, group="a"):
    return Choice(group, predicted_ms, predicted_rate, measured_ms, measured_rate)


def loss_at_20(*found):
    return next(loss for loss in choice_losses(found) if loss.limit_ms == 20)


def test_the_share_of_the_best_that_is_lost():
    found = loss_at_20(choice(19, 100, 18, 80), choice(18, 90, 19, 100), choice(30, 500, 30, 500))
    assert (found.groups, found.loss, found.over) == (1, pytest.approx(0.2), 0)


def test_a_pick_over_the_limit_by_more_than_a_tenth_is_worth_nothing():
    assert loss_at_20(choice(19, 100, 22.1, 80), choice(18, 90, 19, 100)).loss == 1
    # Within a tenth it counts, and cannot gain.
    assert loss_at_20(choice(19, 100, 21.9, 120), choice(18, 90, 19, 100)).loss == 0


def test_nothing_picked_is_a_loss_and_nothing_possible_is_none():
    found = loss_at_20(choice(21, 100, 18, 80), choice(25, 90, 19, 100))
    assert (found.loss, found.none, found.over) == (1, 1, 0)
    assert loss_at_20(choice(19, 100, 25, 80), choice(18, 90, 29, 100)).groups == 0


def test_one_configuration_is_no_choice_and_groups_count_alike():
    pair = [choice(19, 100, 18, 80), choice(18, 90, 19, 100)]
    found = loss_at_20(*pair, choice(1, 1, 1, 1, "alone"), *(choice(9, 9, 9, 9, "b") for _ in range(9)))
    assert (found.groups, found.loss) == (2, pytest.approx(0.1))


def test_a_common_error_is_taken_off_by_three_rows_at_the_ends_and_in_the_middle():
    spread = Spread(common=0.3, scatter=0.1)
    logs = np.full(5, math.log(1.5))
    after = after_own_rows(logs, ["a"] * 5, np.array([64.0, 1.0, 16.0, 4.0, 256.0]), lambda _: spread)
    # n t^2 / (n t^2 + s^2) of the common error goes.
    left = math.log(1.5) * 0.1**2 / (3 * 0.3**2 + 0.1**2)
    assert np.isnan(after[[1, 2, 4]]).all()
    assert after[[0, 3]] == pytest.approx([left, left])


def test_three_rows_leave_nothing_to_look_at():
    spread = Spread(common=0.3, scatter=0.1)
    assert np.isnan(after_own_rows(np.ones(3), ["a"] * 3, np.ones(3), lambda _: spread)).all()
