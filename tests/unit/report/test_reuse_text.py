"""What the page of a plan says about KV that is used again."""

import pytest

from planner.report import plan_text, terminal
from planner.schema.reuse_state import PoolReuse, SessionsTaken

TAKEN = SessionsTaken(
    workload="chat",
    requests_rps=44.4,
    turns_mean=8.0,
    input_tokens={"mean": 9708.0, "p95": 16_037.0, "p99": 19_283.0},
    new_tokens_mean=1231.0,
    resting=2333.3,
    resting_tokens=9635.0,
    resting_bytes=420e9,
    sticky=True,
)
FOUND = PoolReuse(routing="cache-aware", hit=0.789, held=0.125, cache_share=0.25, cache_bytes=19.1e9)


def words(plan, reuse, sessions=()):
    pools = tuple(pool.model_copy(update={"reuse": reuse}) for pool in plan.pools)
    changed = plan.model_copy(update={"pools": pools, "sessions": sessions})
    return " ".join(terminal.render(plan_text.view(changed), width=100).split())


def test_nothing_is_said_where_nothing_was_asked(chat_plan):
    assert "KV used again" not in words(chat_plan, None)


def test_sessions_are_told_with_what_follows(chat_plan):
    text = words(chat_plan, FOUND, (TAKEN,))
    assert "chat: 44.4 req/s from sessions of 8.00 turns." in text
    assert "9,708 tokens (P95 16,037), 1,231 of them new" in text
    assert "2,333 sessions rest between turns with 9,635 tokens each: 391 GiB of KV." in text
    alike = words(chat_plan, FOUND, (TAKEN.model_copy(update={"shared_tokens": 3000.0}),))
    assert "with 9,635 tokens each, 3,000 of them the same in all: 391 GiB of KV." in alike


@pytest.mark.parametrize(
    ("changes", "needs"),
    [
        ({}, "Requests with one prefix must reach one replica."),
        ({"replicas_from": 4}, "reach one replica, and the workload must have 4 replicas or more."),
        (
            {"replicas_from": 4, "replicas_to": 4},
            "reach one replica, and the workload must have exactly 4 replicas.",
        ),
        (
            {"replicas_to": 6, "routing": "round-robin"},
            "Requests may reach any replica; the workload must have 1 to 6 replicas.",
        ),
        ({"routing": "round-robin"}, "Requests may reach any replica."),
    ],
)
def test_hits_come_with_what_they_count_on(chat_plan, changes, needs):
    text = words(chat_plan, FOUND.model_copy(update=changes))
    assert "78.9 % of prompt tokens are found at full load; 12.5 % of requests find their own" in text
    assert "(25 % more blocks, 17.8 GiB a GPU)" in text
    assert needs in text


def test_fetching_is_compared_with_computing_again(chat_plan):
    fetched = {"tier": "host", "fetched": 0.725, "fetch_s": 0.00203, "compute_s": 0.0664}
    text = words(chat_plan, FOUND.model_copy(update=fetched))
    assert "72.5 % fetch it from host memory in 2.03 ms; to compute it again would take 66.4 ms." in text


def test_requests_set_aside_and_caches_that_do_not_pay(chat_plan):
    none = {"hit": 0.0, "held": 0.0, "cache_share": 0.0, "cache_bytes": 0.0}
    text = words(chat_plan, FOUND.model_copy(update=none | {"tier": "nvme", "sets_aside": True}))
    assert "KV is sized for what requests need on average; what does not fit waits in drives." in text
    assert "nothing is kept: it would take more room than it saves time." in words(
        chat_plan, FOUND.model_copy(update=none)
    )


def test_what_is_held_once_is_said_with_its_size(chat_plan):
    once = {"held": 1.0, "cache_share": 0.0, "cache_bytes": 0.0, "held_once_tokens": 3000.0}
    pool = FOUND.model_copy(update=once | {"held_once_bytes": 197e6, "read_there_tokens": 2000.0})
    text = words(chat_plan, pool)
    assert "found at full load; 3,000 tokens (188 MiB a GPU) are held once;" in text
    assert "a request reads 2,000 there and holds the rest itself." in text
    assert "requests find their own" not in text
