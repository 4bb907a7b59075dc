"""The prefix cache of a simulated replica: what is found, what makes room, what stays."""

from __future__ import annotations

from planner.performance.prefix_cache import PrefixCache
from planner.performance.run_requests import Requests

REQUESTS = Requests(
    prompt=[100, 100, 100], answer=[50, 50, 50], group=[0, 0, 1], group_tokens=60, again=[0, 1, 2]
)


def test_a_group_finds_its_beginning_and_the_same_prompt_all_but_its_last_token():
    cache = PrefixCache(REQUESTS)
    assert cache.matched_tokens(0) == 0
    cache.remember(0)
    assert (cache.matched_tokens(0), cache.matched_tokens(1), cache.matched_tokens(2)) == (99, 60, 0)
    assert cache.tokens == 100


def test_answers_take_room_until_it_is_needed():
    cache = PrefixCache(REQUESTS)
    cache.remember(2)
    cache.leave(2)
    assert cache.tokens == 150
    cache.remember(0)
    cache.evict(180.0)
    # The prompt of request 2 and the beginning of its group were used longest ago.
    assert cache.matched_tokens(2) == 0
    assert cache.matched_tokens(0) == 99


def test_what_is_read_stays_and_keeps_its_place_in_the_order():
    cache = PrefixCache(REQUESTS)
    cache.remember(0)
    cache.remember(2)
    cache.pin(0, 1)
    assert cache.pinned == 100
    cache.evict(0.0)
    assert (cache.matched_tokens(0), cache.matched_tokens(2)) == (99, 0)
    assert cache.tokens == cache.pinned == 100
    cache.pin(0, -1)
    cache.evict(0.0)
    assert cache.tokens == cache.pinned == 0
