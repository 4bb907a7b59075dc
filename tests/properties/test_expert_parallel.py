"""Experts spread over GPUs: what must hold of bytes, times and exchange, whatever the numbers."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.physics import moe
from planner.schema.configuration import ExpertTraffic
from planner.steptime.build import build_specs
from planner.steptime.memory import memory_account
from planner.steptime.step import step_time_s, total_step_s
from tests import step_samples as samples

ZERO = np.array([0])
QUICK = settings(max_examples=30, deadline=None, derandomize=True)
EVEN = ExpertTraffic(imbalance_ratio=1.0)
MIXTURE = dataclasses.replace(samples.MOE, experts=64, experts_per_token=4, expert_params=300_000)
TOKENS = st.floats(1.0, 4096.0)
DEGREES = st.sampled_from([1, 2, 4, 8])


def specs(**changes):
    return build_specs([samples.configuration(**{"model": MIXTURE} | changes)])


def step(sequences, **changes):
    return step_time_s(specs(**changes), ZERO, sequences, 100.0)


def weights_bytes(**changes):
    return memory_account(specs(**changes), ZERO).weights_bytes[0]


@QUICK
@given(st.integers(8, 300), st.sampled_from([2, 4, 8]))
def test_a_rank_stores_whole_experts(experts, ranks):
    """``ceil(E / ep)`` of them on the fullest GPU, where a cut takes ``E / n``: equal only if they divide."""
    model = dataclasses.replace(MIXTURE, experts=experts)
    cut, spread = (weights_bytes(model=model, tp=ranks, ep=ep) for ep in (1, ranks))
    one_bytes = 300_000 * 2 * 4  # in all four layers
    np.testing.assert_allclose(spread - cut, (math.ceil(experts / ranks) - experts / ranks) * one_bytes)


@QUICK
@given(st.integers(100, 3000), st.sampled_from([2, 4, 8]))
def test_cut_experts_are_padded_at_least_as_much_as_whole_ones(inner, ranks):
    form = samples.BF16.model_copy(update={"expert_multiple": 256})
    model = dataclasses.replace(
        MIXTURE, expert_intermediate_size=inner, expert_params=3 * 1000 * inner, experts=64
    )
    cut, spread = (weights_bytes(model=model, weights=form, tp=ranks, ep=ep) for ep in (1, ranks))
    assert spread <= cut * (1 + 1e-12)


@QUICK
@given(TOKENS, DEGREES, DEGREES)
def test_evenly_loaded_ranks_do_the_same_work_and_move_fewer_rows(tokens, first, second):
    """Eight GPUs, and whole experts on 1, 2, 4 or 8 ranks of them, all with the mean load."""
    less, more = sorted((first, second))
    narrow, wide = (step(tokens, tp=8, ep=ep, experts=EVEN) for ep in (less, more))
    # One shard of all experts and all of one eighth of them: products and weights are the same.
    rows_s = 4 * 5 * 4 * tokens * (1 / less - 1 / more) * 1000 * 2 / 1e12
    np.testing.assert_allclose(narrow.experts_s - wide.experts_s, rows_s, atol=1e-12)
    # They meet in the same all-reduce.
    assert narrow.communication_s[0] == wide.communication_s[0]


@QUICK
@given(st.floats(1.0, 4.0), st.sampled_from([2, 4, 8]))
def test_few_tokens_leave_ranks_of_whole_experts_idle(tokens, ranks):
    """The others wait for the rank that reads the most experts; cut experts are read by all GPUs evenly."""
    cut, spread = (step(tokens, tp=ranks, ep=ep).experts_s[0] for ep in (1, ranks))
    assert spread > cut


@QUICK
@given(TOKENS, st.sampled_from([2, 4, 8]), st.floats(0.0, 2.0), st.floats(0.0, 2.0))
def test_skew_and_chance_never_make_a_step_faster(tokens, ranks, skew, chance):
    def total_s(skew_ratio, share):
        numbers = samples.calibration(expert_imbalance=skew_ratio, expert_chance=share)
        return step(tokens, tp=ranks, ep=ranks, calibration=numbers).total_s[0]

    even_s = total_s(0.0, 0.0)
    np.testing.assert_allclose(even_s, step(tokens, tp=ranks, ep=ranks, experts=EVEN).total_s[0])
    slack = 1 + 1e-12
    assert even_s <= total_s(skew, 0.0) * slack <= total_s(skew, chance) * slack**2
    assert even_s <= total_s(0.0, chance) * slack


@QUICK
@given(TOKENS, TOKENS, DEGREES, DEGREES)
def test_more_tokens_never_take_less_time(first, second, ranks, ep):
    less, more = sorted((first, second))
    layout = specs(tp=2, attention_dp=ranks, ep=min(ep, 2 * ranks))
    short_s, long_s = (total_step_s(layout, ZERO, tokens, 100.0)[0] for tokens in (less, more))
    assert short_s <= long_s * (1 + 1e-12)


@QUICK
@given(st.floats(64.0, 4096.0), st.sampled_from([2, 4, 8, 16, 32]))
def test_the_exchange_grows_with_the_ranks_that_talk(tokens, ranks):
    """In a server every rank gathers the tokens of all others, further ranks are over the network."""

    def exchange_s(count):
        wide = {"spans_servers": True, "network_bytes_per_s": 1e10, "network_latency_s": 5e-6}
        return step(tokens, attention_dp=count, ep=count, **(wide if count > 8 else {})).communication_s[0]

    if ranks <= 8:
        assert exchange_s(ranks) > exchange_s(ranks // 2)
    else:  # each GPU has fewer tokens to send, and more of them leave the server
        per_token = [exchange_s(count) * count for count in (ranks // 2, ranks)]
        assert per_token[1] > per_token[0]


@QUICK
@given(TOKENS, st.sampled_from([2, 4, 8, 16, 64]))
def test_a_hot_rank_has_at_least_the_mean_and_at_most_everything(tokens, ranks):
    held = 1 / ranks
    z = moe.largest_deviation(ranks)
    most = moe.largest_ratio(64.0, 4.0, held)
    hot = moe.hottest_tokens(tokens, 1.0, moe.row_spread(64.0, 4.0, held, z), most)
    assert tokens <= hot <= most * tokens
    touched = moe.touched_fraction(tokens, 64.0, 4.0)
    assert touched <= moe.hottest_touched(touched, moe.hit_spread(64.0, held, z)) <= 1.0
