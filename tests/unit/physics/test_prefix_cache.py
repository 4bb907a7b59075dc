"""What prefix caches hold, against simulated caches."""

from collections import OrderedDict

import numpy as np
import pytest

from planner.physics.prefix_cache import gathered_fraction, overcommitted_sequences, scattered_fraction

PREFIXES, REQUESTS = 400, 120_000


class Cache:
    """Least recently used, with room for some prefixes; what was not asked for in ``stay`` is gone."""

    def __init__(self, room, stay=float("inf")):
        self.room, self.stay, self.held = room, stay, OrderedDict()

    def ask(self, prefix, now):
        last = self.held.pop(prefix, None)
        self.held[prefix] = now
        if len(self.held) > self.room:
            self.held.popitem(last=False)
        return last is not None and now - last <= self.stay


def simulated(caches, scattered, seed=7):
    """Share of requests that find their prefix, after a warm-up; requests come at rate 1 per prefix."""
    generator = np.random.default_rng(seed)
    times = np.cumsum(generator.exponential(1.0 / PREFIXES, REQUESTS))
    prefixes = generator.integers(0, PREFIXES, REQUESTS)
    places = generator.integers(0, len(caches), REQUESTS) if scattered else prefixes % len(caches)
    found = [
        caches[place].ask(prefix, now) for now, prefix, place in zip(times, prefixes, places, strict=True)
    ]
    return float(np.mean(found[REQUESTS // 4 :]))


@pytest.mark.parametrize(("caches", "room"), [(1, 100), (2, 100), (4, 50), (4, 100), (8, 50)])
def test_equal_prefixes_in_one_place_share_the_room_of_all(caches, room):
    found = simulated([Cache(room) for _ in range(caches)], scattered=False)
    assert found == pytest.approx(float(gathered_fraction(caches, room, PREFIXES)), abs=0.02)


@pytest.mark.parametrize("stay", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("caches", [1, 2, 3, 8])
def test_scattered_requests_see_one_part_of_the_reuse(caches, stay):
    """``stay`` is also the number of requests with one prefix during its stay."""
    alone = simulated([Cache(PREFIXES, stay)], scattered=True)
    found = simulated([Cache(PREFIXES, stay) for _ in range(caches)], scattered=True)
    assert found / alone == pytest.approx(float(scattered_fraction(caches, 1.0, 1.0, stay)), abs=0.02)


@pytest.mark.parametrize(("caches", "room"), [(2, 40), (2, 200), (6, 60)])
def test_scattered_requests_and_small_caches(caches, room):
    """The working set of a stay of 1 is 1 - 1/e of the prefixes."""
    alone = simulated([Cache(PREFIXES, 1.0)], scattered=True)
    found = simulated([Cache(room, 1.0) for _ in range(caches)], scattered=True)
    expected = scattered_fraction(caches, room, PREFIXES * (1.0 - np.exp(-1.0)), 1.0)
    assert found / alone == pytest.approx(float(expected), abs=0.04)


def test_rare_reuse_falls_to_one_part_in_n():
    ranks = np.array([1.0, 2.0, 5.0, 100.0])
    assert scattered_fraction(ranks, 1.0, 1.0) == pytest.approx(1.0 / ranks)
    assert scattered_fraction(ranks, 1.0, 1.0, 1e-6) == pytest.approx(1.0 / ranks, rel=1e-5)
    assert scattered_fraction(ranks, 1.0, 1.0, 1e6) == pytest.approx(np.ones(4))
    assert scattered_fraction(ranks, 0.1, 1.0) == pytest.approx([0.1, 0.1, 0.1, 0.01])


def test_no_form_of_routing_beats_a_single_full_cache():
    ranks = np.arange(1.0, 50.0)
    for reuse in (0.0, 0.3, 3.0, 30.0):
        scattered = scattered_fraction(ranks, 2.0, 1.0, reuse)
        assert (scattered <= gathered_fraction(ranks, 2.0, 1.0) + 1e-12).all()
        assert (np.diff(scattered) <= 1e-12).all()
        assert (scattered >= 1.0 / ranks - 1e-12).all()


def test_a_full_pool_runs_what_a_simulation_runs():
    generator = np.random.default_rng(3)
    mean, spread, pool = 10.0, 6.0, 4000.0
    need = generator.gamma((mean / spread) ** 2, spread**2 / mean, (20_000, int(pool / mean)))
    fitting = np.minimum(need.sum(axis=1), pool).mean() / mean
    assert float(overcommitted_sequences(pool, mean, spread)) == pytest.approx(fitting, rel=2e-3)
    assert float(overcommitted_sequences(pool, mean, 0.0)) == pool / mean
    assert float(overcommitted_sequences(1.0, 10.0, 1000.0)) == 0.0
