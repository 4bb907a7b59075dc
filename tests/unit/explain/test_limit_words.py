"""Limits in words, and what stands in the way, as far as a document says."""

import pytest

from planner.explain.in_the_way import blocking, in_the_way
from planner.explain.limit_words import limit_in_words

FLEET = {"fleet": {"budget": "20 USD/h", "max_gpus": 8, "stock": {"h100-sxm": 4}}}


@pytest.fixture
def stuck(no_plan):
    """An honest no with a fleet in its problem."""
    inputs = no_plan.inputs.model_copy(update={"problem": FLEET})
    return no_plan.model_copy(update={"inputs": inputs})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ttft:chat", "ttft:chat (time to first token, P99, 100 ms)"),
        ("vram:chat", "vram:chat (memory of one GPU, 128 GiB)"),
        ("itl:other", "itl:other (inter-token latency)"),
        ("budget", "budget (20 USD/h)"),
        ("max-gpus", "max-gpus (8 GPUs)"),
        ("stock:h100-sxm", "stock:h100-sxm (4 GPUs)"),
        ("unservable:chat/all", "unservable:chat/all"),
    ],
)
def test_words(stuck, name, words):
    assert limit_in_words(stuck, name) == words


def test_limits_of_a_plan_come_from_its_states(chat_plan):
    assert limit_in_words(chat_plan, "itl:chat") == "itl:chat (inter-token latency, 60.0 ms)"


def test_members_of_conflicts_block(no_plan):
    assert [item.id for item in blocking(no_plan)] == ["ttft:chat"]


def test_without_conflicts_those_that_remove_most_block(no_plan):
    unknown = no_plan.model_copy(update={"conflicts": ()})
    assert [item.id for item in blocking(unknown)] == ["ttft:chat"]
    rows = [item.model_copy(update={"alone": 0, "total": 344}) for item in no_plan.removed]
    level = unknown.model_copy(update={"removed": tuple(rows)})
    assert [item.id for item in blocking(level)] == ["ttft:chat", "vram:chat"]
    assert blocking(unknown.model_copy(update={"removed": ()})) == []


def test_limits_of_the_whole_fleet_remove_no_candidate_and_block(no_plan):
    stock = no_plan.removed[0].model_copy(update={"id": "stock:l40s", "alone": 0, "total": 0})
    plan = no_plan.model_copy(update={"conflicts": (), "removed": (*no_plan.removed, stock)})
    assert [item.id for item in blocking(plan)] == ["ttft:chat", "stock:l40s"]


def test_a_bit_has_no_value_to_come_near(no_plan):
    bit = no_plan.removed[0].model_copy(update={"nearest_value": None, "limit": None})
    assert in_the_way(bit) == "In the way: ttft:chat (time to first token, P99)."
    assert in_the_way(bit.model_copy(update={"title": ""})) == "In the way: ttft:chat."


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("quota:eu", "quota:eu (all GPUs there together, 128 GPUs)"),
        ("changes", "changes (GPUs added or removed, 16 GPUs)"),
        ("supply:h100-sxm/spot", "supply:h100-sxm/spot (what the market has, 64 GPUs)"),
        ("supply:h100-sxm/spot#2", "supply:h100-sxm/spot#2 (what the market has, 8 GPUs)"),
        ("share:h100-sxm/spot", "share:h100-sxm/spot (of all GPUs of this type, 50 %)"),
        ("supply:l40s/spot", "supply:l40s/spot (what the market has)"),
        ("budget:day", "budget:day (4000 USD in 24 h)"),
        ("budget", "budget (200 USD/h)"),
    ],
)
def test_limits_of_a_fleet_over_hours(no_plan, name, words):
    fleet = {
        "quota": {"eu": 128},
        "max_changes": 16,
        "budget": {"per_hour": "200 USD/h", "per_day": 4000},
        "supply": [
            {"gpu": "h100-sxm", "term": "spot", "max_gpus": 64, "max_share": "50 %"},
            {"gpu": "h100-sxm", "term": "owned", "max_gpus": 2},
            {"gpu": "h100-sxm", "term": "spot", "max_gpus": 8},
        ],
    }
    inputs = no_plan.inputs.model_copy(update={"problem": {"fleet": fleet}})
    assert limit_in_words(no_plan.model_copy(update={"inputs": inputs}), name) == words
