"""The thirteen steps with the numbers of plans made by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.explain.difference import difference
from planner.explain.monitoring import targets
from planner.explain.sizing.steps import STEPS, steps
from planner.explain.why import why
from planner.loaders.catalog import load_catalog
from planner.report import (
    alternatives_text,
    explain_text,
    pareto_text,
    relax_text,
    steps_text,
    terminal,
    whatif_text,
)
from planner.schema.answers import Plans, WhatIf
from planner.schema.explanation import Explanation
from planner.schema.plan import Plan
from planner.schema.policy import Alarms, RulesOfThumb
from planner.schema.sizing import WorkloadSizing
from tests.conftest import CHAT_PLAN, NO_PLAN

BOOK = load_catalog()
RULES = RulesOfThumb.of(BOOK.find("judgment", "sizing"))
ALARMS = Alarms.of(BOOK.find("judgment", "monitoring"))
PROBLEM = {
    "name": "chat-70b",
    "workloads": [
        {
            "name": "chat",
            "demand": {"peak_rps": "40", "mean_rps": "16"},
            "slo": {"ttft_p99": "1.5 s", "itl_p99": "0.06 s"},
            "precision": {"weights": ["bf16", "fp8"]},
        }
    ],
    "fleet": {"headroom": {"capacity": "20 %"}, "redundancy": 0},
    "search": {"modes": ["aggregated"], "rules_off": []},
}
SIZING = {
    "workload": "chat",
    "peak_rps": 40.0,
    "mean_rps": 16.0,
    "arrival_scv_ratio": 1.0,
    "input_tokens": {"mean": 1285.4, "p95": 3400.0, "p99": 4142.0},
    "output_tokens": {"mean": 170.0, "p95": 480.0, "p99": 601.0},
    "sequence_tokens": 3544,
    "cached_fraction": 0.0,
    "checkpoint": "bf16",
    "weights_bytes": {"bf16": 140e9, "fp8": 70e9},
    "sequence_bytes": {"bf16": 1.0e9, "fp8": 0.5e9},
}


def inputs(**changes):
    return {"problem": PROBLEM | changes, "catalog": "a", "calibration": "b"}


@pytest.fixture
def make(make_plan):
    """A plan with problem and sizing; ``pool`` replaces fields of its only pool."""

    def build(pool=None, sizing=None, problem=None, **changes):
        pools = [CHAT_PLAN["pools"][0] | (pool or {})]
        given = {"pools": pools, "sizing": [SIZING | (sizing or {})], "inputs": inputs(**(problem or {}))}
        return make_plan(**(given | changes))

    return build


def step(plan, number):
    return steps(plan, RULES, ALARMS)[number - 1]


def figures(found):
    return {(figure.of, figure.name): figure.value for figure in found.figures}


def value(found, name):
    return figures(found)[("", name)]


def test_all_thirteen_in_order(make):
    found = steps(make(), RULES, ALARMS)
    assert [item.number for item in found] == list(range(1, 14))
    assert len(STEPS) == 13
    for item in found:
        assert item.title
        assert item.asks.endswith(".")
        assert f"9.1, step {item.number}" in item.section
        assert item.verdict
        assert item.figures


def test_workload(make):
    found = step(make(), 1)
    assert value(found, "peak rate") == 40.0
    assert value(found, "prompt") == "mean 1,285, P95 3,400, P99 4,142 tokens"
    assert value(found, "limits") == "TTFT P99 1.50 s, ITL P99 60.0 ms"
    assert found.verdict == ("Sized for 40.0 req/s and 3,544 tokens a sequence.",)
    assert not found.open


def test_a_mean_that_nobody_stated_is_left_to_do(make):
    workload = PROBLEM["workloads"][0] | {"demand": {"peak_rps": "40"}, "slo": {}}
    found = step(make(problem={"workloads": [workload]}, constraints=[]), 1)
    assert found.open
    assert found.verdict == (
        "Sized for 40.0 req/s and 3,544 tokens a sequence. "
        "Nobody waits: without a latency limit only cost counts.",
        "The mean rate is not stated, so cost per token takes the fleet as always full.",
    )


def test_hardware(make):
    found = step(make(), 2)
    assert value(found, "GPU") == "h100-sxm"
    assert value(found, "price of a GPU") == 2.5  # 40 USD/h over 16
    assert value(found, "prefill waits for") == "compute"
    assert ("", "next GPU type") not in figures(found)  # the runner-up is of the same type
    assert found.verdict == ("h100-sxm: the gap between tokens sets the capacity, so answers decide.",)


def test_routing_is_a_question_from_nine_gpus_up(make):
    large = step(make(), 3)
    assert large.open
    assert value(large, "llama-3.3-70b") == 16
    assert not step(make({"replicas": 4}), 3).open
    assert step(make(problem={"tiers": [{"name": "t"}]}), 3).verdict == ("The problem states its tiers.",)


def test_memory_floor_and_what_formats_save(make):
    # 8 replicas x 96 sequences x 1 GB = 768 GB of KV, with weights 908 GB; 66.7 GB are left on a GPU.
    floor = step(make(), 4)
    assert value(floor, "sequences held at the peak") == 768
    assert value(floor, "their KV in bf16") == 768e9
    assert value(floor, "left for weights and KV on a GPU") == pytest.approx(66.7e9)
    assert floor.verdict == ("Uncompressed, one copy needs 3 GPUs of h100-sxm, with all KV 14 GPUs.",)
    # 70 + 384 = 454 GB: half.
    narrow = step(make(), 5)
    assert value(narrow, "weights in fp8") == "65.2 GiB (-50 %)"
    assert value(narrow, "allowed") == "weights bf16 or fp8"
    text = (
        "With weights in fp8, KV in fp8 weights and KV take 50 % less, and the floor falls from 14 to 7 GPUs."
    )
    assert narrow.verdict == (text,)


def test_nothing_is_compressed(make):
    found = step(make({"weights": "bf16", "kv": "bf16"}), 5)
    assert found.verdict == ("Nothing is compressed: weights in bf16, KV in bf16.",)


def test_parallelism_beside_the_fewest_gpus(make):
    # 70 GB over 66.7 GB a GPU: two.
    assert step(make(), 6).verdict == ("A replica is TP 2, the fewest GPUs that hold the weights.",)
    wide = step(make({"tp": 4, "gpus_per_replica": 4}), 6)
    assert wide.verdict == (
        "A replica is TP 4 where 2 GPUs hold the weights: the rest buys latency and room for KV.",
        "Tensor parallelism above 2 wants a fast link: the rules on links are kept.",
    )
    off = PROBLEM["search"] | {"rules_off": ["tensor-parallel-over-pcie"]}
    loose = step(make({"tp": 4, "gpus_per_replica": 4}, problem={"search": off}), 6)
    assert loose.open
    assert "switched off: tensor-parallel-over-pcie" in loose.verdict[1]


def test_operating_point_agrees_with_littles_law(make):
    # 6 req/s x (5.2 - 0.412) s = 28.7 decoding; the sample plan says 41.3.
    found = step(make(), 7)
    assert found.verdict == (
        "One replica carries 6.37 req/s, limited by itl:chat. "
        "Little's law gives 28.7 requests decoding at once, the plan 41.3.",
    )
    assert not found.open
    assert step(make({"concurrency": 5.0}), 7).open


def test_what_every_replica_holds_needs_no_routing(make):
    reuse = {"hit": 0.4, "held": 1.0, "cache_share": 0.0, "cache_bytes": 0.0, "routing": "round-robin"}
    found = step(make({"reuse": reuse}, sizing={"cached_fraction": 0.6}), 8)
    assert not found.open
    text = "40 % of the prompt tokens come from the prefix cache, whichever replica a request reaches."
    assert text in found.verdict
    nothing = step(make({"reuse": reuse | {"hit": 0.0}}, sizing={"cached_fraction": 0.6}), 8)
    assert not any("prefix cache" in line for line in nothing.verdict)


def test_a_floor_that_stays_is_said_to_stay(make):
    small = {"weights_bytes": {"bf16": 10e9, "fp8": 9e9}, "sequence_bytes": {"bf16": 1e3, "fp8": 5e2}}
    (text,) = step(make(sizing=small), 5).verdict
    assert (
        text == "With weights in fp8, KV in fp8 weights and KV take 10 % less, and the floor stays at 1 GPU."
    )


def test_prefix_hits_need_routing(make):
    found = step(make(sizing={"cached_fraction": 0.6}), 8)
    assert found.open
    assert found.verdict[-1] == (
        "60 % of the prompt tokens come from the prefix cache: that takes routing by prefix, since round "
        "robin over 8 replicas finds a prefix on one of 8."
    )
    assert not step(make(), 8).open


def test_batching_says_what_was_not_searched(make):
    assert step(make(), 9).open
    both = {"search": {"modes": ["aggregated", "disaggregated"]}}
    found = step(make(problem=both), 9)
    assert not found.open
    assert value(found, "ways searched") == "aggregated and disaggregated"
    disaggregated = step(
        make({"mode": "disaggregated", "role": "decode"}, problem=both, pd_ratio={"gpus": "2:6"}), 9
    )
    assert value(disaggregated, "prefill to decode in GPUs") == "2:6"
    assert disaggregated.verdict == (
        "Prompts and answers run on replicas of their own: neither stalls the other.",
    )


def test_re_check_names_the_nearest_limit(make):
    found = step(make(), 10)
    # itl:chat has 0.2 ms of 60 ms left.
    assert found.verdict[0] == (
        "Every limit is kept with all of the above; the nearest, itl:chat, has 0.3 % left."
    )
    assert found.open
    assert not step(make({"evidence": "measured"}), 10).open


def test_fleet_divides_once(make):
    # 40 x 1.2 / 6.37 = 7.54
    found = step(make(), 11)
    assert found.verdict == ("48.0 req/s with the margin over 6.37 req/s a replica is 7.54: 8 replicas.",)
    assert not found.open
    spare = step(make({"replicas": 9}, problem={"fleet": PROBLEM["fleet"] | {"redundancy": 1}}), 11)
    assert spare.verdict[0].endswith("is 7.54: 8 replicas, 9 with spares and minimum.")
    assert value(spare, "spares") == "1 replica"


def test_uneven_traffic_wants_a_larger_margin(make):
    found = step(make(sizing={"arrival_scv_ratio": 2.0}), 11)
    assert found.open
    assert found.verdict[-1].endswith("The margin is 20 %; the method keeps 50 % for traffic like this.")


def test_cost_and_the_utilization_trap(make):
    # 40 USD/h x 8,760 h
    assert step(make(), 12).verdict == ("40.00 USD an hour, 350,400 USD a year.",)
    low = step(make(mean_utilization=0.25), 12)
    assert low.open
    assert "A mean utilization of 25 % is below 40 %" in low.verdict[0]


def test_what_to_validate_are_the_targets(make):
    found = step(make(), 13)
    assert value(found, "ttft_p99_s") == "1.41 s, alarm above 1.50 s"
    assert len(found.figures) == len(targets(make(), ALARMS))


def test_several_pools_are_told_apart(make_plan, two_pools):
    found = step(two_pools, 7)
    assert {of for of, _ in figures(found)} == {"chat/serve/1", "docs/serve/1"}
    assert any(line.startswith("docs/serve/1: One replica carries 0.81") for line in found.verdict)


def test_measured_workers_have_no_memory_to_add_up(make):
    pool = {"evidence": "measured", "memory_bytes": None, "option": "W-1", "model": ""}
    plan = make(pool).model_copy(update={"sizing": ()})
    assert step(plan, 4).verdict == ("Measured workers: their table says no more.",)
    assert value(step(plan, 6), "worker") == "W-1"
    assert value(step(plan, 1), "peak_rps") == "40"
    assert step(plan, 1).verdict == ("Sized for 40.0 req/s.",)
    assert step(plan, 5).figures == ()
    # 40 x 1.2 / 6.37 = 7.54, from the problem alone.
    assert step(plan, 11).verdict[0].endswith("is 7.54: 8 replicas.")
    assert all(item.verdict for item in steps(plan, RULES, ALARMS))


def test_without_a_plan_each_step_says_what_stands_in_the_way(make_plan):
    stuck = make_plan(**NO_PLAN | {"sizing": [SIZING], "inputs": inputs()})
    found = steps(stuck, RULES, ALARMS)
    # The sample names a conflict of budget and ttft:chat; vram:chat removes candidates but is in no conflict.
    assert value(found[3], "vram:chat removes") == "344 candidates, 0 of them alone"
    assert found[3].verdict == ("Nothing here stands in the way of a plan.",)
    assert found[9].verdict == (
        "In the way: ttft:chat. The nearest candidate reaches 121 ms, the limit is 100 ms.",
    )
    assert [item.number for item in found if item.open and item.number not in (9,)] == [10]


def test_while_conflicts_are_not_known_what_removes_most_is_in_the_way(make_plan):
    stuck = make_plan(**NO_PLAN | {"conflicts": [], "inputs": inputs()})
    found = steps(stuck, RULES, ALARMS)
    assert found[9].open
    assert not found[3].open


def test_why_says_that_one_replica_less_is_too_little(make):
    found = why(make())
    assert found[0] == (
        "chat/serve/1: 8 replicas of h100-sxm (TP 2, weights fp8, KV fp8, batch 96). One carries 6.37 req/s; "
        "the gap between tokens stops it there. Prefill waits for compute, decode waits for memory bandwidth."
    )
    # 8 x 6.37 = 50.96; 7 x 6.37 = 44.6
    assert found[1] == (
        "chat needs 48.0 req/s (40.0 req/s at the peak and 20 % kept free); the plan carries 51.0 req/s, "
        "with one replica less only 44.6 req/s."
    )
    assert found[2] == "Next best of one kind: 20 × h100-sxm, which costs 25 % more."


def test_why_counts_the_spares(make):
    fleet = PROBLEM["fleet"] | {"redundancy": 1}
    found = why(make({"replicas": 9}, problem={"fleet": fleet}))
    # 9 x 6.37 = 57.33; one lost: 50.96
    assert found[1].endswith("the plan carries 57.3 req/s, and 51.0 req/s with 1 replica lost.")


def test_prefill_and_decode_each_carry_every_request(make):
    disaggregated = [
        CHAT_PLAN["pools"][0]
        | {"id": "chat/prefill/1", "role": "prefill", "replicas": 3, "capacity_rps": 17.0},
        CHAT_PLAN["pools"][0]
        | {"id": "chat/decode/1", "role": "decode", "replicas": 5, "capacity_rps": 10.0},
    ]
    plan = make(pools=disaggregated)
    words = "prefill carries 51.0 req/s and decode carries 50.0 req/s."
    assert why(plan)[2].endswith(words)
    assert step(plan, 11).verdict == (f"48.0 req/s with the margin; {words}",)


def test_why_has_nothing_to_say_without_a_plan(no_plan):
    assert why(no_plan) == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10**6) | st.floats(-1e6, 1e6) | st.text(max_size=8)
    | st.sampled_from(["20 %", "1e400 %", "1e400 s", "40", "1e400", "nan"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "workloads", "fleet", "headroom", "capacity", "search", "modes", "slo",
                             "precision", "weights", "redundancy", "lora", "demand", "tiers", "rules_off"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(
    problem=st.dictionaries(st.sampled_from(["workloads", "fleet", "search", "tiers"]), JSON, max_size=4),
    workload=st.dictionaries(
        st.sampled_from(["demand", "slo", "precision", "headroom", "redundancy", "lora"]), JSON, max_size=4
    ),
    zero=st.sampled_from(
        ["replicas", "gpus_per_replica", "max_batch", "capacity_rps", "load_rps", "usd_per_hour"]
    ),
    status=st.sampled_from(["optimal", "infeasible", "unknown"]),
)
def test_documents_that_people_edited_are_read_without_fail(problem, workload, zero, status):
    problem.setdefault("workloads", [{"name": "chat", **workload}])
    base = CHAT_PLAN if status == "optimal" else NO_PLAN | {"status": status}
    pool = CHAT_PLAN["pools"][0]
    plan = Plan.model_validate(
        base
        | {
            "inputs": {"problem": problem, "catalog": "a", "calibration": "b"},
            "sizing": [WorkloadSizing.model_validate(SIZING)],
            "pools": [pool | {zero: 0 if isinstance(pool[zero], int) else 0.0}],
        }
    )
    walked = Explanation(plan=plan, steps=steps(plan, RULES, ALARMS))
    assert len(walked.steps) == 13
    watched = Explanation(plan=plan, targets=targets(plan, ALARMS))
    other = Plan.model_validate(CHAT_PLAN)
    compared = WhatIf(before=plan, after=other, difference=difference(plan, other))
    for view in (
        steps_text.view(walked),
        explain_text.view(watched),
        relax_text.view(plan),
        whatif_text.view(compared),
        pareto_text.view(Plans(plans=(plan, other, plan), axes=("cost", "itl", "gpus"))),
        alternatives_text.view(Plans(plans=(plan, other))),
    ):
        assert terminal.render(view, width=80)
