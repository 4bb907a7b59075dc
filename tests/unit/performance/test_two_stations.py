"""Two stations against Little's law and the case of one customer."""

from __future__ import annotations

import numpy as np
import pytest

from planner.performance.two_stations import two_stations


def loop(customers, servers=2.0, service=0.5, think=4.0):
    return two_stations(
        np.array([customers]),
        np.array([service]),
        np.array([servers]),
        lambda d: np.full(d.shape, think),
        0.0,
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
