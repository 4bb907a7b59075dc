"""All-reduce in one step or two, and ranks that share what connects them."""

from __future__ import annotations

import numpy as np
import pytest

from planner.physics import collectives


def reduced_s(message_bytes, ranks=8.0, second_s=6e-6):
    return collectives.all_reduce_s(message_bytes, ranks, 300e9, 280e9, 4e-6, second_s)


def test_small_messages_go_to_every_rank_at_once():
    assert reduced_s(65536.0) == pytest.approx(4e-6 + 7 * 65536 / 280e9)


def test_large_messages_go_in_two_steps():
    assert reduced_s(2.0**25) == pytest.approx(4e-6 + 6e-6 + 2 * 7 / 8 * 2**25 / 300e9)


def test_two_ranks_send_as_much_either_way():
    assert reduced_s(2.0**20, ranks=2.0, second_s=0.0) == pytest.approx(4e-6 + 2**20 / 300e9)


def test_times_rise_with_the_message_and_never_jump():
    messages = np.linspace(0.0, 2.0**24, 4097)
    steps = np.diff(reduced_s(messages))
    assert np.all(steps > 0.0)
    assert steps.max() == pytest.approx(7 * 4096 / 280e9)


@pytest.mark.parametrize(("exponent", "expected"), [(0.0, 30e9), (1.0, 7.5e9), (2.0, 1.875e9)])
def test_ranks_share_what_connects_them(exponent, expected):
    assert collectives.falling_rate(30e9, 8.0, exponent) == pytest.approx(expected)
    assert collectives.falling_rate(30e9, 2.0, exponent) == pytest.approx(30e9)
