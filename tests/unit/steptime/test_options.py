"""Options of a replica in step time and memory, by hand; the fast path against the operators."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from planner.schema.configuration import AdapterSlots, Drafting, ExpertTraffic
from planner.schema.number_format import StructuredSparsity
from planner.steptime.build import build_specs
from planner.steptime.drafting import drafts_of, eagle_head
from planner.steptime.memory import memory_account, sequence_bytes
from planner.steptime.rates import peak_flops_per_s, reachable_fraction, skips_zeros
from planner.steptime.step import step_time_s, total_step_s
from tests import step_samples as samples

ZERO = np.array([0])
LOAD = (30.0, 1000.0)
NOTHING = (0.0, 0.0, 0.0)


def one(**changes):
    return build_specs([samples.configuration(**changes)])


def drafting(kind="ngram", tokens=3, model=None, weights=None):
    return Drafting(
        kind=kind,
        tokens=tokens,
        acceptance_fraction=0.5,
        model=model,
        weights=weights,
        pass_overhead_s=2e-4,
        sequence_overhead_s=5e-6 if model is None else 0.0,
    )


SMALL = dataclasses.replace(samples.DENSE, id="small", layers=1, full_layers=1, dense_layers=1)
WITH_MODEL = drafting("draft-model", model=SMALL, weights=samples.BF16)
OPTIONS = [
    {"drafting": drafting()},
    {"adapters": AdapterSlots(3, 8)},
    {"adapters": AdapterSlots(30, 8), "drafting": drafting(tokens=1), "tp": 2},
    {"ep": 4, "attention_dp": 4, "experts": ExpertTraffic(imbalance_ratio=1.5)},
    {"ep": 2, "tp": 2, "experts": ExpertTraffic(2.0, 1.25), "drafting": drafting()},
    {"ep": 8, "tp": 8},
    {"ep": 2, "tp": 4, "pp": 2},
    {"ep": 16, "attention_dp": 16, "spans_servers": True, "network_bytes_per_s": 1e10},
    {"pp": 2, "adapters": AdapterSlots(5, 4)},
]


@pytest.mark.parametrize("model", samples.MODELS, ids=lambda model: model.id)
@pytest.mark.parametrize("exponent", [1.0, 1.3])
def test_the_fast_path_agrees_with_the_operators(model, exponent):
    numbers = samples.calibration(overlap_exponent=exponent)
    specs = build_specs([samples.configuration(model=model, calibration=numbers, **o) for o in OPTIONS])
    rows = np.arange(len(specs))
    for load in (
        (1.0, 10.0),
        (30.0, 1000.0),
        (64.0, 500.0, 700.0, 300.0, 2.0),
        (0.0, 0.0, 512.0, 256.0, 1.0),
    ):
        slow = step_time_s(specs, rows, *load).total_s
        np.testing.assert_allclose(total_step_s(specs, rows, *load), slow, rtol=1e-12)


def test_verified_tokens_by_hand():
    """30 sequences of four tokens: products over 120 rows and 10 of padding; weights and cache once."""
    times = step_time_s(one(drafting=drafting()), ZERO, *LOAD)
    assert times.mlp_s[0] == pytest.approx(2 * 130 * 48e6 / 5e13 + 9.6e7 / 5e11)
    attention_flops, cache_bytes = 30 * 1000 * 4 * 4000 * 4, 30 * 1000 * 4 * 800
    assert times.decode_attention_s[0] == pytest.approx(attention_flops / 2.5e13 + cache_bytes / 8e11)
    logits_s = 4 * 5 * 120 * 1e4 / 1e12
    assert times.head_s[0] == pytest.approx(2 * 130 * 1e7 / 5e13 + 2e7 / 5e11 + logits_s)
    assert times.elementwise_s[0] == pytest.approx(2 * 10 * 120 * 4 * 1000 / 1e12)
    # The scheduler sees sequences, not tokens.
    assert times.fixed_s[0] == pytest.approx(4 * 1e-5 + 1e-3 + 30 * 1e-6)


def test_linear_layers_keep_the_state_of_every_token_to_verify():
    times = step_time_s(one(model=samples.LINEAR, drafting=drafting(tokens=2)), ZERO, *LOAD)
    attention_s = 30 * 1000 * (4000 * 3 / 2.5e13 + 800 / 8e11)
    assert times.decode_attention_s[0] == pytest.approx(attention_s + (1 + 3) * 30 * 6e5 / 8e11)


def test_n_grams_take_host_time_for_each_sequence():
    drafts = drafts_of([samples.configuration(), samples.configuration(drafting=drafting())])
    rows = np.array([0, 1])
    got = drafts.time_s(rows, np.array([30.0, 30.0]), np.array([1000.0, 1000.0]), *NOTHING)
    np.testing.assert_allclose(got, [0.0, 30 * 5e-6])
    np.testing.assert_allclose(drafts.tokens_per_step, [1.0, 1.875])
    assert drafts_of([samples.configuration()]) is None


def test_a_model_that_drafts_takes_a_pass_for_each_draft():
    """The first pass reads the tokens of the last step and prompt tokens; host time is that of a launch."""
    drafts = drafts_of([samples.configuration(drafting=WITH_MODEL)])
    load = (30.0, 1000.0, 100.0, 50.0, 1.0)
    got = drafts.time_s(ZERO, *(np.array([value]) for value in load))
    other_s = 1e-3 + 30 * 1e-6 - 2e-4  # what a scheduled step has and a launched pass has not
    first = step_time_s(one(model=SMALL, drafting=drafting()), ZERO, *load).total_s - other_s
    later = step_time_s(one(model=SMALL), ZERO, *LOAD).total_s - other_s
    np.testing.assert_allclose(got, first + 2 * later)


def test_a_model_that_drafts_takes_memory_for_weights_and_cache():
    plain, drafted = one(tp=2), one(tp=2, drafting=WITH_MODEL)
    added = (memory_account(drafted, ZERO).weights_bytes - memory_account(plain, ZERO).weights_bytes)[0]
    # One layer of 14.4 M weights, embedding and head of 10 M each, 16 bit, over two GPUs.
    assert added == pytest.approx((14.4e6 + 20e6) * 2 / 2)
    # Both caches, in blocks of 16 tokens; the drafts take three places.
    blocks = -(-(1000 + 3) // 16) * 16
    assert sequence_bytes(drafted, ZERO, 1000.0)[0] == pytest.approx(blocks * (4 + 1) * 800 / 2)


def test_heads_that_do_not_divide_keep_the_draft_model_whole():
    odd = dataclasses.replace(SMALL, query_heads=5, kv_heads=1)
    writer = drafting("draft-model", model=odd, weights=samples.BF16)
    plain, drafted = one(tp=2), one(tp=2, drafting=writer)
    added = (memory_account(drafted, ZERO).weights_bytes - memory_account(plain, ZERO).weights_bytes)[0]
    assert added == pytest.approx((14.4e6 + 20e6) * 2)


def test_a_head_is_one_layer_of_the_models_width():
    head = eagle_head(samples.DENSE)
    assert (head.layers, head.attention_layers, head.embedding_params, head.lm_head_params) == (1, 1, 0, 0)
    writer = drafting("eagle", model=head, weights=samples.BF16)
    plain, drafted = one(), one(drafting=writer)
    added = (memory_account(drafted, ZERO).weights_bytes - memory_account(plain, ZERO).weights_bytes)[0]
    # Attention 2.4 M, feed-forward 12 M, three hidden states into one 3 M, two norms.
    assert added == pytest.approx((2.4e6 + 12e6 + 3e6 + 2000) * 2)


def test_a_head_of_a_mixture_is_dense():
    head = eagle_head(samples.MOE)
    assert (head.experts, head.moe_layers) == (0, 0)
    assert head.dense_mlp_params_per_layer == 2 * 3_000_000


def test_the_hottest_rank_sets_the_time_of_the_experts():
    """8 tokens, 1.5 times the mean: the hot rank sees the rows and experts of 12 tokens."""
    layout = {"model": samples.MOE, "attention_dp": 4, "ep": 4}
    even = step_time_s(one(experts=ExpertTraffic(imbalance_ratio=1.0), **layout), ZERO, 8.0, 100.0)
    hot = step_time_s(one(experts=ExpertTraffic(imbalance_ratio=1.5), **layout), ZERO, 8.0, 100.0)
    for times, tokens in ((even, 8), (hot, 12)):
        touched = 1 - 0.75**tokens
        rows = tokens * 2 + 2 * 8 * touched
        expected = 2 * rows * 3e6 * 4 / 4 / 2.5e13 + 4 * 8 * touched * 6e6 / 4 / 5e11
        expected += 4 * 5 * tokens * 2 / 4 * 1000 * 2 / 1e12
        assert times.experts_s[0] == pytest.approx(expected)
    # Inside a server every rank gets all tokens anyway.
    assert hot.communication_s[0] == even.communication_s[0]


def test_a_capacity_factor_caps_the_hot_rank_and_pads_exchange_and_buffers():
    layout = {"model": samples.MOE, "attention_dp": 4, "ep": 4}
    capped = one(experts=ExpertTraffic(1.5, 1.25), **layout)
    same = one(experts=ExpertTraffic(imbalance_ratio=1.25), **layout)
    np.testing.assert_allclose(
        step_time_s(capped, ZERO, 8.0, 100.0).experts_s, step_time_s(same, ZERO, 8.0, 100.0).experts_s
    )
    even = one(experts=ExpertTraffic(1.0, 1.25), **layout)
    sent_s = 2 * 0.75 * 8 * 1000 * 4 * 1.25 / 5e10 + 2 * 5e-6
    assert step_time_s(even, ZERO, 8.0, 100.0).communication_s[0] == pytest.approx(4 * sent_s)
    free = one(experts=ExpertTraffic(imbalance_ratio=1.0), **layout)
    added = memory_account(even, ZERO).activations_bytes - memory_account(free, ZERO).activations_bytes
    # 2,048 tokens a rank, 4 ranks, 2 experts each, over 4 GPUs: 4,096 rows and a quarter more.
    assert added[0] == pytest.approx(1.25 * 4096 * 1000 * 3)


def test_imbalance_does_not_matter_where_experts_are_split_like_the_rest():
    plain = one(model=samples.MOE, tp=4)
    stated = one(model=samples.MOE, tp=4, experts=ExpertTraffic(3.0, 1.25))
    assert total_step_s(stated, ZERO, *LOAD)[0] == total_step_s(plain, ZERO, *LOAD)[0]


def test_experts_over_two_servers_talk_over_the_network():
    """16 GPUs in servers of 8: of 32 tokens each GPU owns 2, half of whose copies leave the server."""
    wide_layout = {
        "model": samples.MOE,
        "attention_dp": 16,
        "ep": 16,
        "spans_servers": True,
        "network_bytes_per_s": 1e10,
        "network_latency_s": 1e-5,
        "experts": ExpertTraffic(1.0, None, dispatch_bytes=1.0, combine_bytes=2.0, start_s=3e-5),
    }
    wide = one(**wide_layout)
    times = step_time_s(wide, ZERO, 32.0, 100.0)
    copies = 16 * (1 - (15 / 16) ** 2)
    sent = 32 / 16 * copies * 0.5 * 1000 * 3
    exchange_s = sent / (1e10 * 0.5) + 2 * (3e-5 + 1e-5)
    assert times.communication_s[0] == pytest.approx(4 * exchange_s)
    hot = samples.configuration(**wide_layout | {"experts": ExpertTraffic(1.5, None, 1.0, 2.0, 3e-5)})
    hot_s = 1.5 * sent / (1e10 * 0.5) + 2 * (3e-5 + 1e-5)
    assert step_time_s(build_specs([hot]), ZERO, 32.0, 100.0).communication_s[0] == pytest.approx(4 * hot_s)
    # One of eight experts on the fullest GPU; room for what a full step sends there: 2,048 tokens a rank.
    account = memory_account(wide, ZERO)
    assert account.weights_bytes[0] == pytest.approx(19.2e6 + 40e6 + 4 * 3e6 * 2)
    assert account.activations_bytes[0] - memory_account(one(model=samples.MOE), ZERO).activations_bytes[
        0
    ] == pytest.approx(2048 * 2 * 1000 * 3)


def test_adapters_by_hand():
    """30 requests over 3 adapters of rank 8: all three are in the batch."""
    plain = step_time_s(one(), ZERO, *LOAD)
    times = step_time_s(one(adapters=AdapterSlots(3, 8)), ZERO, *LOAD)
    params = 8 * 4 * (2 * 2000 + 2 * 1000 + 400 + 3 * 5000)
    used = 3 * (1 - (2 / 3) ** 30)
    expected = 2 * (30 + used * 10) * params / 5e13 + used * params * 2 / 5e11
    assert times.adapters_s[0] == pytest.approx(expected)
    # Eight kernels a layer at an eleventh of the overhead of a layer each.
    assert times.fixed_s[0] - plain.fixed_s[0] == pytest.approx(8 * 4 * 1e-5 / 11)
    assert plain.adapters_s[0] == 0.0


@pytest.fixture
def sparse():
    pattern = StructuredSparsity(
        dense="fp8", architectures=("hopper",), peak_ratio=2, reach="50 %", source="sample"
    )
    return samples.number_format("fp8-2of4", 5, "fp8").model_copy(
        update={"sparse": pattern, "nominal_bits": 8}
    )


def test_sparse_weights_are_shorter_and_multiplied_faster(sparse):
    assert peak_flops_per_s(samples.BOX, sparse) == 4e14
    assert reachable_fraction(samples.ROUND, samples.BOX, sparse) == pytest.approx(0.4 * 0.5)
    times = step_time_s(one(weights=sparse), ZERO, *LOAD)
    dense = step_time_s(one(weights=samples.FP8), ZERO, *LOAD)
    assert times.mlp_s[0] == pytest.approx(2 * 40 * 48e6 / (4e14 * 0.2) + 48e6 * 5 / 8 / 5e11)
    for name in ("decode_attention_s", "head_s", "elementwise_s", "fixed_s"):
        assert getattr(times, name)[0] == getattr(dense, name)[0]


def test_units_that_do_not_skip_zeros_gain_nothing(sparse):
    old = samples.accelerator(architecture="turing")
    other = samples.accelerator(
        compute=samples.AcceleratorCompute(bf16="100 TFLOPS", fp8="200 TFLOPS", source="sample")
    )
    assert skips_zeros(samples.BOX, sparse)
    assert not skips_zeros(old, sparse)
    assert not skips_zeros(other, sparse)
    assert peak_flops_per_s(old, sparse) == 2e14
    assert peak_flops_per_s(other, sparse) == 1e14
