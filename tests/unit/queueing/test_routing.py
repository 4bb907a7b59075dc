"""Waiting in pools: what is exact at the edges, and what never turns around."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.queueing import waiting
from planner.queueing.routing import (
    MOST_SERVERS,
    busy_fraction,
    erlang_c_fraction,
    meanwhile_ratio,
    pool_wait,
    repeated_fraction,
    seen_ratio,
)

POLICIES = ("random", "cache-aware", "round-robin", "power-of-two", "least-loaded", "shared-queue")
SIZES = (1, 2, 3, 4, 6, 8, 16, 32, 64, 1000)
BUSY = st.floats(0.01, 0.98)
SLOWED = st.floats(0.0, 1.0)


def wait(policy, replicas, busy, slowed=0.3, arrivals=1.0, service=1.0):
    slowed = None if slowed is None else np.full_like(np.atleast_1d(busy), slowed)
    return pool_wait(
        policy, replicas, np.atleast_1d(busy), np.ones_like(np.atleast_1d(busy)), arrivals, service, slowed
    )


@pytest.mark.parametrize("policy", POLICIES)
@given(BUSY, SLOWED, st.floats(0.2, 4.0))
def test_a_pool_of_one_is_a_queue_of_its_own(policy, busy, slowed, arrivals):
    alone = waiting.mean_wait_s(np.array([busy]), np.ones(1), arrivals, 1.0)
    assert wait(policy, 1, busy, slowed, arrivals).mean_s == pytest.approx(alone)


@given(BUSY, st.floats(0.0, 4.0))
def test_where_answers_are_not_slowed_a_count_of_them_says_nothing(busy, service):
    found = wait("least-loaded", 1000, busy, 1.0, 1.0, service)
    random = wait("random", 1000, busy, 1.0, 1.0, service)
    assert found.mean_s == pytest.approx(random.mean_s, rel=1e-9)
    assert found.random_ratio == pytest.approx(1.0)


@given(BUSY, st.floats(0.0, 4.0))
def test_where_answers_stop_meanwhile_half_of_the_prompts_that_meet_one_meet_no_second(busy, service):
    found = wait("least-loaded", 1000, busy, 0.0, 1.0, service)
    rest_s, alone_s = (1.0 + service) / 2.0, wait("random", 1, busy, 0.0, 1.0, service).mean_s
    own = 1.0 / MOST_SERVERS
    assert found.mean_s == pytest.approx(own * alone_s + (1.0 - own) * busy / 2.0 * rest_s)


@pytest.mark.parametrize("slowed", [None, 0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("arrivals", [1.0, 2.0, 4.0])
def test_more_replicas_never_wait_longer(policy, slowed, arrivals):
    busy = np.linspace(0.02, 0.98, 49)
    waits = [wait(policy, replicas, busy, slowed, arrivals).mean_s for replicas in SIZES]
    assert all((after <= before * (1.0 + 1e-9)).all() for before, after in pairwise(waits))


@pytest.mark.parametrize("slowed", [None, 0.0, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("replicas", [1, 2, 5, 64])
@pytest.mark.parametrize("arrivals", [0.5, 1.0, 3.0])
def test_more_load_never_waits_less(policy, slowed, replicas, arrivals):
    found = wait(policy, replicas, np.linspace(0.01, 0.99, 99), slowed, arrivals)
    assert (np.diff(found.mean_s) >= -1e-12).all()
    assert ((found.probability_fraction >= 0.0) & (found.probability_fraction <= 1.0)).all()


@given(BUSY, SLOWED, st.sampled_from(SIZES), st.floats(1.0, 4.0))
def test_least_loaded_lies_between_a_shared_queue_and_queues_at_random(busy, slowed, replicas, arrivals):
    found = wait("least-loaded", replicas, busy, slowed, arrivals).mean_s
    alone = waiting.mean_wait_s(np.array([busy]), np.ones(1), arrivals, 1.0)
    assert found <= alone * (1.0 + 1e-9)
    assert found >= 0.0


@given(BUSY, SLOWED, SLOWED, st.sampled_from(SIZES))
def test_answers_that_slow_down_more_even_queues_more(busy, one, other, replicas):
    low, high = sorted((one, other))
    assert (
        wait("least-loaded", replicas, busy, low).mean_s
        <= wait("least-loaded", replicas, busy, high).mean_s + 1e-12
    )


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("replicas", [1, 3, 64])
def test_a_full_pool_has_no_end_of_its_queue(policy, replicas):
    for busy in (1.0, 1.5):
        found = wait(policy, replicas, busy)
        assert np.isinf(found.mean_s).all()
        assert not np.isnan(found.probability_fraction).any()


def simulated_wait(replicas, both, busy, count, seed=1):
    """Mean wait over service of exponential prompts that join the shortest queue, of all or of two."""
    draws = np.random.default_rng(seed).random((count, 3)).tolist()
    number, total, area, time = [0] * replicas, 0, 0.0, 0.0
    arriving = replicas * busy
    for event, one, other in draws:
        rate = arriving + replicas
        area, time, place = area + total / rate, time + 1.0 / rate, event * rate - arriving
        first = int(one * replicas)
        if place < 0.0:
            # The first of equals, from a place at random on.
            others = [1 + int(other * (replicas - 1))] if both else range(1, replicas)
            asked = [first, *((first + more) % replicas for more in others)]
            number[min(asked, key=number.__getitem__)] += 1
            total += 1
        elif number[int(place)]:
            number[int(place)] -= 1
            total -= 1
    return area / time / arriving - 1.0


@pytest.mark.parametrize(
    ("policy", "replicas", "busy", "above"),
    [
        ("least-loaded", 2, 0.7, 0.1),
        ("least-loaded", 8, 0.8, 0.18),
        ("power-of-two", 4, 0.7, 0.1),
        ("power-of-two", 16, 0.8, 0.1),
    ],
)
def test_prompts_alone_take_hardly_longer_than_simulated_and_never_less(policy, replicas, busy, above):
    seen = 1.0 + simulated_wait(replicas, policy == "power-of-two", busy, 300_000)
    planned = 1.0 + wait(policy, replicas, busy, None).mean_s[0]
    assert 0.99 * seen <= planned <= (1.0 + above) * seen


@given(BUSY, st.floats(0.2, 4.0))
def test_two_choices_of_two_are_the_shorter_of_two(busy, arrivals):
    one, other = (wait(policy, 2, busy, None, arrivals) for policy in ("power-of-two", "least-loaded"))
    assert one.mean_s == pytest.approx(other.mean_s)
    assert one.probability_fraction == pytest.approx(other.probability_fraction)


@given(BUSY)
def test_both_of_two_choices_in_a_large_pool_are_busy_as_if_apart(busy):
    found = busy_fraction("power-of-two", 1000, np.array([busy]), 1.0, np.ones(1))
    assert found == pytest.approx([busy * busy], rel=2.0 / MOST_SERVERS)


@pytest.mark.parametrize("policy", POLICIES)
@given(BUSY, st.floats(1.0, 4.0), st.floats(0.0, 4.0))
def test_the_larger_a_pool_the_fewer_find_no_idle_replica(policy, busy, arrivals, service):
    found = [busy_fraction(policy, n, np.array([busy]), arrivals, np.array([service]))[0] for n in SIZES]
    one = waiting.wait_probability_fraction(np.array([busy]), arrivals, np.array([service]))[0]
    assert found[0] == pytest.approx(one)
    assert all(after <= before * (1.0 + 1e-9) for before, after in pairwise(found))


def test_a_shared_queue_is_found_as_erlang_has_it():
    busy = np.linspace(0.05, 0.95, 10)
    for policy in ("shared-queue", "least-loaded"):
        found = busy_fraction(policy, 5, busy, 1.0, np.ones(10))
        assert found == pytest.approx(erlang_c_fraction(busy, 5))


@pytest.mark.parametrize("policy", POLICIES)
@given(BUSY, SLOWED, st.sampled_from(SIZES), st.floats(0.5, 4.0))
def test_who_knows_what_a_replica_does_sends_it_less_meanwhile(policy, busy, slowed, replicas, arrivals):
    found = wait(policy, replicas, busy, slowed, arrivals)
    ratio = meanwhile_ratio(policy, replicas, np.array([busy]), found, np.array([slowed]))
    if replicas == 1 or policy in ("random", "cache-aware", "round-robin"):
        assert ratio == 1.0
    else:
        assert 0.0 <= ratio[0] <= 1.0


@given(BUSY, SLOWED, st.sampled_from(SIZES))
def test_what_a_router_sees_of_queues_is_what_it_leaves_of_them(busy, slowed, replicas):
    left = seen_ratio("least-loaded", replicas, np.array([slowed]))
    if replicas > 1:
        assert left == pytest.approx(wait("least-loaded", replicas, busy, slowed).random_ratio)
    for policy in ("random", "cache-aware", "round-robin"):
        assert seen_ratio(policy, replicas, np.array([slowed])) == 1.0


def test_from_a_shared_queue_little_comes_to_a_replica_that_hardly_ends_a_step():
    busy, idle = np.array([0.5]), wait("shared-queue", 64, 0.5, 0.1)
    assert meanwhile_ratio("shared-queue", 64, busy, idle, np.array([0.1])) == pytest.approx(
        [(1 + 0.1 / 0.55) / 2]
    )
    assert meanwhile_ratio("shared-queue", 64, busy, idle, np.ones(1)) == pytest.approx([1.0])


@given(st.floats(0.0, 1000.0), st.floats(0.0, 4.0))
def test_only_many_answers_of_one_length_repeat_arrivals(running, scv):
    few, many = repeated_fraction("least-loaded", np.array([running, running + 1.0]), 0.0)
    assert 0.0 <= few < many <= 1.0
    varied = repeated_fraction("least-loaded", np.array([running]), scv)[0]
    assert 0.0 <= varied <= few
    assert scv < 0.01 or varied == 0.0
    assert repeated_fraction("shared-queue", np.array([running]), 0.0) == 0.0
