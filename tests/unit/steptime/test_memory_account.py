"""Where memory goes, for tiny configurations computed by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from planner.schema.configuration import AdapterSlots
from planner.steptime.build import build_specs
from planner.steptime.memory import max_sequences, memory_account, sequence_bytes
from tests import step_samples as samples

ZERO = np.array([0])
ATTENTION, MLP, ENDS = 19.2e6, 96e6, 20e6  # bytes in 16 bit: 4 x 2.4 M, 4 x 12 M, 10 M weights
LOGITS = 100 * 10_000 * 10  # sampler of the sample engine


def account(headroom_fraction=0.0, **changes):
    specs = build_specs([samples.configuration(**changes)])
    return memory_account(specs, ZERO, headroom_fraction)


def test_one_gpu_by_hand():
    got = account()
    weights = ATTENTION + MLP + 2 * ENDS
    assert got.weights_bytes[0] == weights
    assert got.activations_bytes[0] == LOGITS
    assert got.framework_bytes[0] == 0.5e9
    assert got.kv_cache_bytes[0] == pytest.approx(72e9 - weights - LOGITS - 0.5e9)
    assert got.free_bytes[0] == pytest.approx(8e9)
    assert got.load_peak_bytes[0] == pytest.approx(1.1 * weights + 0.5e9)
    assert got.host_bytes[0] == pytest.approx(0.5 * weights)
    assert got.fits[0]


def test_parts_sum_to_the_capacity():
    layouts = [{}, {"tp": 4}, {"pp": 2}, {"attention_dp": 2}]
    specs = build_specs(
        [
            samples.configuration(model=m, adapters=AdapterSlots(4, 16), **layout)
            for m in samples.MODELS
            for layout in layouts
        ]
    )
    got = memory_account(specs, np.arange(len(specs)), 0.2)
    parts = got.weights_bytes + got.kv_cache_bytes + got.activations_bytes + got.framework_bytes
    np.testing.assert_allclose(parts + got.adapters_bytes + got.free_bytes, got.capacity_bytes)


def test_tensor_parallel_splits_everything_and_pays_for_buffers():
    got = account(tp=4)
    assert got.weights_bytes[0] == (ATTENTION + MLP + 2 * ENDS) / 4
    assert got.framework_bytes[0] == 1e9


def test_stages_hold_the_larger_share_of_layers_and_one_end():
    assert account(pp=2).weights_bytes[0] == (ATTENTION + MLP) / 2 + ENDS
    # Three stages of four layers: the largest has two.
    assert account(pp=3).weights_bytes[0] == (ATTENTION + MLP) / 2 + ENDS


def test_attention_ranks_replicate_all_but_the_experts():
    routed = 4 * 8 * 3e6 * 2
    assert account(model=samples.MOE).weights_bytes[0] == ATTENTION + 2 * ENDS + routed
    spread = account(model=samples.MOE, attention_dp=4, ep=4)
    assert spread.weights_bytes[0] == ATTENTION + 2 * ENDS + routed / 4


def test_experts_that_do_not_divide_fill_one_gpu_more():
    uneven = account(model=samples.MOE, tp=3, ep=3)  # 8 experts on 3 GPUs: 3, 3, 2
    assert uneven.weights_bytes[0] == pytest.approx((ATTENTION + 2 * ENDS) / 3 + 4 * 3 * 3e6 * 2)


def test_norms_and_routers_are_on_every_gpu():
    model = dataclasses.replace(samples.MOE, norm_params=9000, router_params_per_moe_layer=8000)
    gap = account(model=model, tp=4).weights_bytes[0] - account(model=samples.MOE, tp=4).weights_bytes[0]
    assert gap == 2 * 9000 + 2 * 4 * 8000


def test_attention_may_be_stored_in_another_format():
    got = account(weights=samples.FP8)
    assert got.weights_bytes[0] == ATTENTION + MLP / 2 + 2 * ENDS


def test_headroom_and_utilization_take_the_tighter():
    assert account(0.2).kv_cache_bytes[0] == pytest.approx(account().kv_cache_bytes[0] - 8e9)
    assert account(0.05).kv_cache_bytes[0] == account().kv_cache_bytes[0]


def test_engines_that_share_out_what_loading_leaves():
    motor = samples.engine(basis="free-after-load")
    resident = ATTENTION + MLP + 2 * ENDS + LOGITS + 0.5e9
    assert account(engine=motor).kv_cache_bytes[0] == pytest.approx(0.9 * (80e9 - resident))
    assert account(0.5, engine=motor).kv_cache_bytes[0] == pytest.approx(40e9 - resident)


def test_what_does_not_fit_has_no_cache():
    huge = dataclasses.replace(samples.DENSE, dense_mlp_params_per_layer=9_000_000_000)
    got = account(model=huge)
    assert got.kv_cache_bytes[0] == 0.0
    assert not got.fits[0]
    assert got.free_bytes[0] < 8e9


def test_a_second_copy_while_loading_may_be_what_breaks():
    large = dataclasses.replace(samples.DENSE, dense_mlp_params_per_layer=8_000_000_000)
    assert account(model=large).fits[0]
    assert not account(model=large, engine=samples.engine(load_copy="50 %")).fits[0]


def test_adapters_by_hand():
    items = [samples.configuration(adapters=AdapterSlots(3, 8), tp=tp) for tp in (1, 2)]
    got = memory_account(build_specs(items), np.array([0, 1]))
    attention = 2 * (1000 + 1000) + 2 * 1000 + 400
    feed_forward = 3 * (1000 + 4000)
    assert got.adapters_bytes[0] == 3 * 8 * 4 * (attention + feed_forward) * 2
    # Seven factors are as wide as the hidden state and whole on every rank; the others are halved.
    halved = (attention + feed_forward - 7 * 1000) / 2
    assert got.adapters_bytes[1] == 3 * 8 * 4 * (7 * 1000 + halved) * 2


def test_images_take_activation_memory():
    model = dataclasses.replace(
        samples.DENSE, tokens_per_image=1000, patches_per_token=4, vision_hidden_size=500
    )
    motor = samples.engine(workspace_copies=1)
    specs = build_specs([samples.configuration(model=m, engine=motor) for m in (model, samples.DENSE)])
    got = memory_account(specs, np.array([0, 1]), images=2.0).activations_bytes
    assert got[0] - got[1] == 2 * 1000 * 4 * 500 * 2
    assert got[1] == LOGITS + 2048 * 8_000 * 2  # gate and up, 4,000 each


def test_sequences_that_fit():
    specs = build_specs(
        [
            samples.configuration(),
            samples.configuration(attention_dp=4),
            samples.configuration(pp=2),
            samples.configuration(model=samples.WINDOWED),
            samples.configuration(model=samples.LINEAR),
        ]
    )
    rows = np.arange(5)
    # 4 layers x 400 values x 2 B = 3,200 B a token; 1,000 tokens take 63 blocks of 16.
    expected = [3200 * 1008, 3200 * 1008, 1600 * 1008, 800 * 1008 + 2400 * 112, 800 * 1008 + 6e5]
    np.testing.assert_allclose(sequence_bytes(specs, rows, 1000.0), expected)
    pool = 1e9
    np.testing.assert_array_equal(
        max_sequences(specs, rows, pool, 1000.0),
        [310, 1240, 620, 930, 711],
    )


def test_no_cache_means_no_limit():
    free = dataclasses.replace(samples.DENSE, full_layers=0, linear_layers=4)
    specs = build_specs([samples.configuration(model=free)])
    assert max_sequences(specs, ZERO, 1e9, 1000.0)[0] == np.inf
