"""Differences between plans made by hand: every sentence and number is written out here."""

import copy

import pytest

from planner.explain.difference import difference, is_cause

BUDGET = {"id": "budget", "value": 40.0, "limit": 60.0, "unit": "USD/h", "slack": 20.0, "binding": False}


def texts(before, after):
    return [entry.text for entry in difference(before, after)]


def entry(before, after, what):
    found = [item for item in difference(before, after) if item.what == what]
    assert len(found) == 1, [item.what for item in difference(before, after)]
    return found[0]


def whats(before, after):
    return [item.what for item in difference(before, after)]


@pytest.fixture
def pool(chat_plan):
    """A copy of the only pool of the sample, to be changed."""
    return chat_plan.pools[0].model_dump()


def test_the_same_plan_does_not_differ(chat_plan, two_pools, no_plan):
    for plan in (chat_plan, two_pools, no_plan):
        assert difference(plan, copy.deepcopy(plan)) == ()


def test_cost_that_falls(make_plan, chat_plan):
    # 69.00 - 56.60 = 12.40; 56.60 / 69.00 = 0.8203
    found = entry(
        make_plan(cost_usd_per_hour=69.0, cost_usd_per_million_output_tokens=None),
        make_plan(cost_usd_per_hour=56.6, cost_usd_per_million_output_tokens=None),
        "cost",
    )
    assert found.text == "Costs 12.40 USD/h less (-18 %): 56.60 USD/h instead of 69.00 USD/h."
    assert (found.before, found.after, found.unit) == (69.0, 56.6, "USD/h")


def test_cost_that_rises_from_nothing(make_plan):
    found = entry(make_plan(cost_usd_per_hour=0.0), make_plan(cost_usd_per_hour=2.5), "cost")
    assert found.text == "Costs 2.50 USD/h more: 2.50 USD/h instead of 0.00 USD/h."


def test_cost_per_token_is_told_only_where_it_moves_otherwise(make_plan):
    before = make_plan(cost_usd_per_hour=40.0, cost_usd_per_million_output_tokens=4.0)
    same_traffic = make_plan(cost_usd_per_hour=50.0, cost_usd_per_million_output_tokens=5.0)
    more_traffic = make_plan(cost_usd_per_hour=50.0, cost_usd_per_million_output_tokens=3.0)
    assert "cost_per_million_output_tokens" not in whats(before, same_traffic)
    assert entry(before, more_traffic, "cost_per_million_output_tokens").text == (
        "A million output tokens costs 1.00 USD less (-25 %): 3.00 USD instead of 4.00 USD."
    )


def test_status_both_ways(make_plan, chat_plan, no_plan, two_pools):
    assert texts(chat_plan, no_plan)[0] == "No plan keeps every limit; before, there was a plan."
    assert texts(no_plan, chat_plan)[0] == "There is a plan; before, no plan kept every limit."
    unproved = make_plan(
        status="feasible", objective={"name": "cost", "value": 40.0, "lower_bound": 39.0, "gap": 0.025}
    )
    assert texts(chat_plan, unproved)[0] == (
        "The plan is not proved: at most 2.5 % from the best possible; before, it was."
    )
    assert texts(unproved, chat_plan)[0] == (
        "The plan is proved; before, at most 2.5 % from the best possible."
    )
    cut = make_plan(status="unknown", pools=[], gpus={}, cost_usd_per_hour=None)
    assert texts(chat_plan, cut)[0] == "The search stopped without a plan; before, there was a plan."
    assert texts(cut, no_plan)[0] == (
        "No plan keeps every limit; before, the search stopped without an answer."
    )


def test_no_plan_says_what_is_in_the_way_and_nothing_of_pools(chat_plan, no_plan):
    found = texts(chat_plan, no_plan)
    assert "In the way: ttft:chat. The nearest candidate reaches 121 ms, the limit is 100 ms." in found
    assert not any("replica" in text for text in found)


def test_a_plan_after_none_says_what_it_buys(chat_plan, no_plan):
    found = texts(no_plan, chat_plan)
    assert found[1:4] == [
        "Costs 40.00 USD/h.",
        "A million output tokens costs 4.03 USD.",
        "Buys 16 × h100-sxm.",
    ]
    assert "chat is served by 8 replicas of h100-sxm (TP 2, weights fp8, KV fp8, batch 96)." in found


def test_gpus_by_type(make_plan):
    before = make_plan(gpus={"h100-sxm": 16, "l40s": 4})
    after = make_plan(gpus={"b200": 9, "h100-sxm": 8})
    assert [text for text in texts(before, after) if text.startswith("Buys")] == [
        "Buys 9 × b200; before, none.",
        "Buys 8 × h100-sxm instead of 16.",
        "Buys no l40s; before, 4.",
    ]


def test_a_pool_that_grows_tells_each_number(make_plan, pool):
    after = make_plan(
        pools=[pool | {"replicas": 11, "max_batch": 64, "batched_tokens": 512, "capacity_rps": 4.4}]
    )
    found = [text for text in texts(make_plan(), after) if "chat/serve/1" in text]
    assert found == [
        "chat/serve/1 (h100-sxm) has 11 replicas instead of 8.",
        "chat/serve/1 (h100-sxm) has a batch of 64 instead of 96.",
        "chat/serve/1 (h100-sxm) takes 512 tokens in one step instead of 2,048.",
        "One replica of chat/serve/1 (h100-sxm) carries 4.40 req/s instead of 6.37 req/s.",
    ]
    assert entry(make_plan(), after, "pool:chat/serve/1/replicas").after == 11


def test_a_number_that_reads_alike_does_not_differ(make_plan, pool):
    after = make_plan(pools=[pool | {"capacity_rps": pool["capacity_rps"] * (1 + 1e-12)}])
    assert difference(make_plan(), after) == ()


def test_another_configuration_replaces_the_pool(make_plan, pool):
    other = pool | {"gpu": "h200-sxm", "tp": 4, "replicas": 3, "weights": "bf16", "option": "other"}
    assert entry(make_plan(), make_plan(pools=[other]), "pool:chat/serve/1").text == (
        "chat is served by 3 replicas of h200-sxm (TP 4, weights bf16, KV fp8, batch 96) instead of "
        "8 replicas of h100-sxm (TP 2, weights fp8, KV fp8, batch 96)."
    )


def test_pools_keep_their_twin_whatever_their_number(make_plan, pool):
    """The same option under another id is the same pool, not one that went and one that came."""
    small = pool | {"id": "chat/serve/2", "option": "small", "gpu": "l40s", "tp": 1, "replicas": 2}
    before = make_plan(pools=[pool, small])
    after = make_plan(pools=[small | {"id": "chat/serve/1"}, pool | {"id": "chat/serve/2", "replicas": 9}])
    assert [text for text in texts(before, after) if "replica" in text] == [
        "chat/serve/2 (h100-sxm) has 9 replicas instead of 8."
    ]


def test_a_pool_comes_and_goes(make_plan, pool):
    small = pool | {"id": "chat/serve/2", "option": "small", "gpu": "l40s", "tp": 1, "replicas": 1}
    words = "1 replica of l40s (one GPU, weights fp8, KV fp8, batch 96)"
    one, two = make_plan(), make_plan(pools=[pool, small])
    assert entry(one, two, "pool:chat/serve/2").text == f"chat is served by {words} too."
    assert entry(two, one, "pool:chat/serve/2").text == f"chat is no longer served by {words}."
    assert entry(two, one, "pool:chat/serve/2").after is None


def test_prefill_and_decode_instead_of_one(make_plan, pool):
    disaggregated = {"mode": "disaggregated"}
    after = make_plan(
        pools=[
            pool | disaggregated | {"id": "chat/prefill/1", "role": "prefill", "replicas": 2},
            pool | disaggregated | {"id": "chat/decode/1", "role": "decode", "replicas": 3},
        ],
        pd_ratio={"gpus": "4:6", "replicas": "2:3"},
    )
    found = texts(make_plan(), after)
    assert found[0] == "chat is served disaggregated instead of aggregated."
    assert any(text.startswith("chat prefills on 2 replicas of h100-sxm") for text in found)
    assert any(text.startswith("chat decodes on 3 replicas of h100-sxm") for text in found)
    other = after.model_copy(update={"pd_ratio": {"gpus": "4:8", "replicas": "2:4"}})
    assert texts(after, other) == [
        "Prefill to decode is 4:8 in GPUs; before, 4:6.",
        "Prefill to decode is 2:4 in replicas; before, 2:3.",
    ]


def test_measured_options_are_never_one_another(make_plan, pool):
    measured = pool | {"evidence": "measured", "option": "W-1", "weights": "", "kv": ""}
    before, after = (
        make_plan(pools=[measured]),
        make_plan(pools=[measured | {"option": "W-2", "replicas": 4}]),
    )
    assert entry(before, after, "pool:chat/serve/1").text == (
        "chat is served by 4 replicas of W-2 on h100-sxm instead of 8 replicas of W-1 on h100-sxm."
    )


def test_latency_with_a_limit_that_moved(make_plan, chat_plan):
    states = [state.model_dump() for state in chat_plan.constraints]
    faster = [
        state | ({"value": 0.031, "limit": 0.04} if state["id"] == "itl:chat" else {}) for state in states
    ]
    assert texts(chat_plan, make_plan(constraints=faster)) == [
        "itl:chat (P99 gap between tokens) is 31.0 ms instead of 59.8 ms, within 40.0 ms instead of 60.0 ms."
    ]


def test_what_holds_the_plan_back(make_plan, chat_plan):
    states = [state.model_dump() for state in chat_plan.constraints]
    bound = [state | {"binding": state["id"] in ("ttft:chat", "budget")} for state in states]
    found = entry(chat_plan, make_plan(constraints=bound), "binding")
    assert found.text == "What holds the plan back is budget and ttft:chat; before, itl:chat."
    free = make_plan(constraints=[BUDGET])
    assert entry(chat_plan, free, "binding").text == (
        "What holds the plan back is nothing; before, itl:chat."
    )


def test_conflicts_come_and_go_whatever_their_order(make_plan, no_plan):
    reordered = no_plan.model_copy(update={"conflicts": (("ttft:chat", "budget"),)})
    assert difference(no_plan, reordered) == ()
    other = no_plan.model_copy(update={"conflicts": (("vram:chat",),)})
    found = texts(no_plan, other)
    assert "vram:chat cannot hold; before, it could." in found
    assert "budget and ttft:chat can hold together; before, they could not." in found


def test_power_counts_where_it_is_minimized(make_plan, pool):
    watts = {"name": "power", "value": 1400.0, "lower_bound": 1400.0, "gap": 0.0}
    before = make_plan(objective=watts, pools=[pool | {"power_w": 1400.0}])
    after = make_plan(objective=watts, pools=[pool | {"power_w": 1200.0}])
    assert texts(before, after) == ["Draws 1,200 W instead of 1,400 W."]
    assert texts(make_plan(), make_plan(pools=[pool | {"power_w": 1200.0}])) == []


def test_inputs_come_after_effects(make_plan):
    before = make_plan(inputs={"problem": {"x": 1}, "catalog": "sha256:aaaaaaaaaa", "calibration": "c"})
    after = make_plan(
        inputs={"problem": {"x": 2}, "catalog": "sha256:bbbbbbbbbb", "calibration": "c"},
        gpus={"h100-sxm": 20},
    )
    entries = difference(before, after)
    assert [item.text for item in entries] == [
        "Buys 20 × h100-sxm instead of 16.",
        "x is 2; before, 1.",
        "The catalog is another one (bbbbbbbb; before, aaaaaaaa): prices and facts may differ.",
    ]
    assert [is_cause(item) for item in entries] == [False, True, True]


def test_the_program_and_the_seed(make_plan, chat_plan):
    made = chat_plan.provenance.model_dump()
    other = make_plan(provenance=made | {"planner": "0.3.0", "seed": 7})
    # A proved plan does not depend on the seed.
    assert texts(chat_plan, other) == ["Made with planner 0.3.0; before, planner 0.2.0."]
    cut = {"status": "feasible"}
    assert texts(make_plan(**cut), make_plan(**cut, provenance=made | {"seed": 7})) == [
        "Made with seed 7; before, seed 0."
    ]
