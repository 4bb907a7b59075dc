"""Shares of limits between prefill and decode workers."""

from __future__ import annotations

import pytest

from planner.performance.division import (
    ANSWER_PERCENT,
    KV_TRANSFER_PERCENT,
    LARGEST_ROOM,
    SENDER_BOUNDS_MS,
    SLOW_LINK_PERCENT,
    START_PERCENT,
    Division,
    first_limits_s,
    useful,
)


def test_limits_on_the_first_token():
    limits = {"ttft_p99": 2.0, "ttft_mean": 0.5, "itl_p99": 0.03, "e2e_p95": 10.0, "e2e_mean": 1.0}
    # Answers take 80 % of E2E: 2 s are left at P95, and of the means the smaller one counts.
    assert first_limits_s(limits, 80) == pytest.approx({"mean": 0.2, "p95": 2.0, "p99": 2.0})
    assert first_limits_s({"itl_p99": 0.03}, 0) == {}


def test_rooms_are_nested():
    """A larger room leaves more for start and KV transfer, or pairs would not keep their shares."""
    assert len(START_PERCENT) == len(KV_TRANSFER_PERCENT)
    for shares in (START_PERCENT, KV_TRANSFER_PERCENT, ANSWER_PERCENT, SENDER_BOUNDS_MS):
        assert list(shares) == sorted(set(shares))
    rooms = [Division(*pair).room for pair in zip(START_PERCENT, KV_TRANSFER_PERCENT, strict=True)]
    assert rooms == sorted(set(rooms))
    assert max(rooms) < LARGEST_ROOM
    assert Division(sender_ms=SENDER_BOUNDS_MS[-1]).room == LARGEST_ROOM


def test_shares_on_a_slow_link_fit_nobody_else():
    tracks = [Division(*pair, own_track=True).track for pair in SLOW_LINK_PERCENT]
    assert len(set(tracks)) == len(SLOW_LINK_PERCENT)
    assert all(start + kv_transfer < 100 for start, kv_transfer in SLOW_LINK_PERCENT)
    assert Division(*SLOW_LINK_PERCENT[0]).track == ""


def test_what_must_agree_and_what_is_told():
    plain, split = Division(10, 3), Division(10, 3, answer=85, local_tokens=500)
    assert (plain.track, plain.text) == ("", "13 % of TTFT after prefill")
    assert split.track == "answers 85 % of E2E, prompts up to 500 tokens at decode"
    assert Division(sender_ms=16).text == "KV transfer within 16 ms"
    assert Division().text == ""


@pytest.mark.parametrize(
    ("least", "most", "found"),
    [
        (1.0, 2.0, [0]),
        (4.0, 9.0, [1, 2]),
        (4.0, 10.0, [1, 2]),
        (0.0, 1e9, [0, 1, 2, 3]),
        (50.0, 60.0, []),
        (12.0, 11.0, [3]),
    ],
)
def test_bounds_worth_trying(least, most, found):
    places = useful((3, 6, 10, 15), least, most)
    assert places == found
