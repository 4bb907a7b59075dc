"""The beginning of many requests is held once in each cache, and running sequences hold what follows it."""

from __future__ import annotations

import load_samples as samples
import numpy as np
import pytest

from planner.performance.kv_retention import kv_retentions
from planner.performance.memory_fit import memory_fit
from planner.performance.residency import LEVELS
from planner.performance.traffic import traffic
from planner.schema.lengths import Lengths
from planner.schema.workload import Workload
from planner.steptime.build import build_specs
from tests import step_samples

ITEMS = [
    *(samples.configuration(tp=tp, kv=step_samples.FP8) for tp in (4, 8)),
    samples.configuration(tp=4, kv=step_samples.BF16, attention_dp=2),
    *(step_samples.configuration(model=model) for model in (step_samples.WINDOWED, step_samples.LINEAR)),
]
SPECS = build_specs(ITEMS)
FACTS = samples.DENSE_70B
LENGTHS = Lengths.model_validate({"input": {"fixed": 4000}, "output": {"fixed": 400}})
NO_CACHE = memory_fit(
    SPECS, samples.traffic_of({"fixed": 4000}, {"fixed": 400}), 0.1, np.zeros(len(ITEMS)), samples.FILL
).max_sequences


def of_prefixes(**cache):
    return traffic(
        Workload.model_validate(
            {"name": "w", "model": "m", "demand": {"peak_rps": 8}, "prefix_cache": cache}
        ),
        LENGTHS, None, 0, 0.95, 0.25,
    )  # fmt: skip


def of_sessions(shared, **cache):
    sessions = {
        "per_hour": 3600, "turns": 4, "growth": 500, "think_time": "60 s", "first_input": 4000,
        "output": 300, "shared_input": shared,
    }  # fmt: skip
    made = {"name": "w", "model": "m", "demand": {"sessions": sessions}, "prefix_cache": cache or None}
    return traffic(Workload.model_validate(made), None, None, 0, 0.95, 0.25)


def retentions(part):
    return kv_retentions(part, SPECS, FACTS, 0.1, 0.25, samples.FILL, 8.0, None, {"itl_p99": 0.08})


def all_held(part):
    return next(retention for retention in retentions(part) if retention.once is not None)


@pytest.mark.parametrize("count", [1, 6])
def test_the_batch_by_hand(count):
    """4,400 tokens a sequence, of which 2,000 lie in one of the prefixes of 2,000 that a cache holds once."""
    retention = all_held(of_prefixes(hit="50 %", prefixes=count, prefix_tokens=2000))
    pool = memory_fit(SPECS, of_prefixes(hit="0 %"), 0.1, 0.0, samples.FILL).account.kv_cache_bytes
    for row in range(3):
        token, block = SPECS.kv_full_bytes_per_token[row], SPECS.kv_block_tokens[row]
        assert 2000 % block == 0
        assert 4400 % block == 0
        expected = (pool[row] - count * 2000 * token) // (2400 * token) * SPECS.attention_dp[row]
        assert retention.max_sequences[row] == min(expected, SPECS.max_running[row] * SPECS.attention_dp[row])
        assert NO_CACHE[row] < expected


def test_only_whole_blocks_are_shared():
    block = int(SPECS.kv_block_tokens[0])
    retention = all_held(of_prefixes(hit="50 %", prefixes=1, prefix_tokens=2 * block + 1))
    assert retention.once.spared_bytes[0] == 2 * block * SPECS.kv_full_bytes_per_token[0]
    assert retention.once.copy_bytes[0] == 3 * block * SPECS.kv_full_bytes_per_token[0]


def test_what_is_held_everywhere_is_found_whatever_routing_and_number():
    for routing in ("round-robin", "cache-aware"):
        retention = all_held(of_prefixes(hit="50 %", prefixes=3, prefix_tokens=2000, routing=routing))
        assert (retention.held.cache == LEVELS).all()


def test_prefixes_that_leave_no_room_are_not_all_held():
    retention = all_held(of_prefixes(hit="50 %", prefixes=1_000_000, prefix_tokens=2000))
    assert not retention.usable.any()


def test_a_stated_share_is_kept():
    assert all(
        retention.share == 0.5
        for retention in retentions(of_prefixes(hit="50 %", prefixes=1, prefix_tokens=9, share="50 %"))
    )


LONGER = (0, 1, 15, 16, 17, 90, 100, 110, 333, 1000, 2048, 3999, 4000)
"""Around whole blocks and the window of the model that has one."""


def test_a_longer_common_prefix_never_lowers_the_batch():
    batches = []
    for shared in LONGER:
        if shared:
            part = of_prefixes(hit=f"{shared / 40:.4f} %", prefixes=1, prefix_tokens=shared)
            batches.append(all_held(part).max_sequences)
        else:
            batches.append(NO_CACHE)
    assert (np.diff(np.array(batches), axis=0) >= 0).all()
    assert batches[-1][2] > batches[0][2]


def test_nor_that_of_sessions_in_any_way():
    known = {}
    for shared in LONGER:
        for retention in retentions(of_sessions(shared)):
            before = known.get(retention.share)
            assert before is None or (retention.max_sequences >= before).all()
            known[retention.share] = retention.max_sequences
    assert set(known) == {0.0, 0.25, 0.5, 1.0, 2.0, 4.0}


def test_a_session_at_rest_holds_what_is_its_own():
    """Twice the room for a session, beside the one copy, holds twice the sessions."""
    alone, shared = (
        next(retention for retention in retentions(of_sessions(tokens)) if retention.share == 0.25)
        for tokens in (0, 3200)
    )
    rest = of_sessions(0).reuse.entry_tokens
    token, block = SPECS.kv_full_bytes_per_token[0], SPECS.kv_block_tokens[0]
    own = np.ceil(rest / block) * block
    room = memory_fit(SPECS, of_sessions(0), 0.1, 0.25, samples.FILL).account.kv_cache_bytes[0] * 0.2
    ratio = (room - 3200 * token) / (own - 3200) / (room / own)
    assert shared.held.full_rps[0] / alone.held.full_rps[0] == pytest.approx(ratio)
