"""KV transfer of KV caches over a link, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from planner.physics.kv_transfer import kv_transfer_s, link_bytes_per_s, link_load_ratio


def test_the_slower_of_port_and_pcie():
    assert link_bytes_per_s(50e9, np.array([32e9, 64e9, np.inf])).tolist() == [32e9, 50e9, 50e9]


def test_a_prompt_of_the_field_guide():
    # 70B in FP8: 80 layers x 2 x 8 heads x 128 values of one byte for each of 4,096 tokens, at 50 GB/s.
    kv_bytes = 4096 * 80 * 2 * 8 * 128
    assert kv_bytes == 671_088_640
    assert kv_transfer_s(kv_bytes, 50e9, 0.0, 0.0, 0.0) == pytest.approx(0.013422, rel=1e-4)


def test_latency_overlap_and_company():
    assert kv_transfer_s(1e9, 10e9, 0.001, 0.0, 0.0) == pytest.approx(0.101)
    assert kv_transfer_s(1e9, 10e9, 0.001, 0.75, 0.0) == pytest.approx(0.026)
    assert kv_transfer_s(1e9, 10e9, 0.001, 0.0, 0.5) == pytest.approx(0.201)


def test_a_full_link_falls_behind():
    load = link_load_ratio(np.array([5.0, 10.0, 20.0]), 1e9, 10e9)
    assert load.tolist() == [0.5, 1.0, 2.0]
    assert kv_transfer_s(1e9, 10e9, 0.0, 0.0, load).tolist() == [0.2, np.inf, np.inf]


def test_shared_evenly_as_a_simulation_of_the_link_sees_it():
    """Processor sharing with sizes of two kinds: each takes 1 / (1 - load) times its time alone."""
    generator = np.random.default_rng(3)
    rate, sizes_s = 4.0, np.array([0.05, 0.25])
    arrivals = np.cumsum(generator.exponential(1.0 / rate, 40_000))
    kinds = generator.integers(0, 2, arrivals.size)
    took = shared_link(arrivals, sizes_s[kinds])
    load = rate * sizes_s.mean()
    for kind, alone_s in enumerate(sizes_s):
        planned = kv_transfer_s(alone_s, 1.0, 0.0, 0.0, load)
        assert took[kinds == kind].mean() == pytest.approx(planned, rel=0.05)


def shared_link(arrivals, sizes_s):
    """When each transfer ends after its arrival, all in progress at equal speed."""
    left, now, coming, took = {}, 0.0, 0, np.zeros(arrivals.size)
    while coming < arrivals.size or left:
        next_in = arrivals[coming] if coming < arrivals.size else np.inf
        next_out = now + min(left.values()) * len(left) if left else np.inf
        then = min(next_in, next_out)
        left = {key: rest - (then - now) / len(left) for key, rest in left.items()}
        now = then
        for key in [key for key, rest in left.items() if rest <= 1e-12]:
            took[key] = now - arrivals[key]
            del left[key]
        if then == next_in:
            left[coming] = sizes_s[coming]
            coming += 1
    return took
