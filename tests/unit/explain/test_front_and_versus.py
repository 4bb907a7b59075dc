"""Values on axes, knees and short comparisons, against numbers chosen here."""

import pytest

from planner.explain.front import axis_value, knee
from planner.explain.versus import versus


@pytest.fixture
def at(make_plan, chat_plan):
    """A plan with a cost, a P99 gap in ms and GPUs."""
    pool = chat_plan.pools[0].model_dump()

    def make(cost, itl_ms, gpus=8):
        return make_plan(
            cost_usd_per_hour=cost,
            gpus={"h100-sxm": gpus},
            pools=[pool | {"itl_s": {"p99": itl_ms / 1e3, "mean": 0.001}}],
        )

    return make


def test_values(at, make_plan, chat_plan):
    plan = at(12.5, 30, gpus=6)
    assert axis_value(plan, "cost") == 12.5
    assert axis_value(plan, "gpus") == 6
    assert axis_value(plan, "power") == 1400.0
    assert axis_value(plan, "itl_p99") == 0.03
    assert axis_value(plan, "itl_mean") == 0.001
    assert axis_value(plan, "ttft_p95") == 0.98
    assert axis_value(plan, "ttft_p90") is None


def test_the_slowest_pool_counts_and_a_table_may_state_no_percentile(make_plan, chat_plan):
    pool = chat_plan.pools[0].model_dump() | {"evidence": "measured"}
    plan = make_plan(pools=[pool | {"itl_s": {"stated": 0.02}}, pool | {"itl_s": {"p95": 0.05}}])
    assert axis_value(plan, "itl") == axis_value(plan, "itl_p99") == 0.05


def test_unknown_power_of_one_pool_is_unknown(make_plan, chat_plan):
    pool = chat_plan.pools[0].model_dump()
    assert axis_value(make_plan(pools=[pool, pool | {"power_w": None}]), "power") is None


def test_knee_by_ratios(at):
    # Logarithms scaled to [0, 1]: (0, 1), (0.17, 0.31), (1, 0): distances 1, 0.35, 1.
    axes = ("cost", "itl_p99")
    assert knee([at(10, 60), at(12, 28), at(30, 20)], axes) == 1
    # (0, 1), (0.94, 0.87), (1, 0): the middle one is worse than both ends.
    assert knee([at(10, 60), at(28, 52), at(30, 20)], axes) == 0
    # Scaled as they are, (60, 100) would be nearest: 0.82. By ratios it is bad on both: 1.14.
    assert knee([at(10, 160), at(60, 100), at(80, 80), at(100, 10)], axes) == 0


def test_an_axis_that_reaches_zero_has_no_logarithm(at):
    # (0, 1), (0.2, 0.29), (1, 0): distances 1, 0.35, 1.
    assert knee([at(0, 60), at(2, 27), at(10, 20)], ("cost", "itl_p99")) == 1


def test_no_knee_of_two_plans_or_without_values(at, no_plan):
    axes = ("cost", "itl_p99")
    assert knee([at(10, 60), at(30, 20)], axes) is None
    assert knee([at(10, 60), at(30, 20), no_plan], axes) is None
    assert knee([at(10, 60), at(20, 30), at(30, 20)], ()) is None


def test_an_axis_without_spread_does_not_count(at):
    assert knee([at(30, 20), at(10, 20), at(20, 20)], ("cost", "itl_p99")) == 1


def test_versus_names_what_is_bought_first(make_plan, chat_plan):
    pool = chat_plan.pools[0].model_dump()
    other = make_plan(
        gpus={"h200-sxm": 12}, pools=[pool | {"gpu": "h200-sxm", "tp": 4, "weights": "bf16", "max_batch": 12}]
    )
    assert versus(chat_plan, other) == (
        "12 × h200-sxm instead of 16 × h100-sxm, TP 4 instead of TP 2, weights bf16 instead of fp8"
    )


def test_versus_falls_back_to_smaller_things(make_plan, chat_plan):
    pool = chat_plan.pools[0].model_dump()
    assert versus(chat_plan, make_plan(pools=[pool | {"batched_tokens": 512}])) == (
        "chunk 512 instead of 2,048"
    )
    assert versus(chat_plan, make_plan(pools=[pool | {"replicas": 7}])) == "7 replicas instead of 8"
    assert versus(chat_plan, make_plan()) == "the same pools, other shares of the traffic"
