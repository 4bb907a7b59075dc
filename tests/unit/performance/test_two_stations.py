"""Two stations against Little's law and the case of one customer."""

from __future__ import annotations

import numpy as np
import pytest

from planner.performance.two_stations import two_stations


def loop(customers, servers=2.0, service=0.5, think=4.0, **batch):
    return two_stations(
        np.array([customers]),
        np.array([service]),
        np.array([servers]),
        lambda d: np.full(d.shape, think),
        0.0,
        **batch,
    )


def test_one_customer_never_waits():
    found = loop(1.0)
    assert found.wait_s[0] == pytest.approx(0.5)
    assert found.rate_rps[0] == pytest.approx(1 / 4.5)


@pytest.mark.parametrize("customers", [2.0, 16.0, 200.0])
def test_little_s_law(customers):
    found = loop(customers)
    assert found.rate_rps[0] * (found.wait_s[0] + found.think_s[0]) == pytest.approx(customers)


def test_a_flood_is_served_at_the_rate_of_the_servers():
    assert loop(2000.0).rate_rps[0] == pytest.approx(2 / 0.5, rel=0.01)


def test_prompts_that_wait_share_steps():
    """Four in one step take 0.8 s, 0.2 s each, where one alone takes 0.5 s."""
    shared = {"most_prompts": np.array([4.0]), "full_service_s": np.array([0.2])}
    assert loop(1.0, **shared).wait_s[0] == pytest.approx(0.5)
    assert loop(2000.0, **shared).rate_rps[0] == pytest.approx(2 / 0.2, rel=0.01)
    found = loop(16.0, **shared)
    assert found.wait_s[0] < loop(16.0).wait_s[0]
    assert found.rate_rps[0] * (found.wait_s[0] + found.think_s[0]) == pytest.approx(16.0)


def test_two_in_a_step_share_its_fixed_part():
    """S = 0.5 = 0.4 fixed + 0.1 a prompt: 0.3 s each for two in one step, 0.2 s for the four that fit."""
    shared = {"most_prompts": np.array([4.0]), "full_service_s": np.array([0.2])}
    found = loop(1e4, servers=1e4 / 2, think=1e-9, **shared)
    assert found.wait_s[0] == pytest.approx(0.5 + 2 * 0.3, rel=0.01)


def test_full_decode_workers_pass_on_what_they_end():
    """60 places and 4 s an answer: 15 a second, whatever the servers could do."""
    found = loop(1000.0, servers=1000.0, most_decoding=60.0)
    assert found.rate_rps[0] == pytest.approx(15.0)
    assert found.wait_s[0] == pytest.approx(1000.0 / 15.0 - 4.0)
    assert loop(16.0, most_decoding=60.0).wait_s[0] == pytest.approx(loop(16.0).wait_s[0])
