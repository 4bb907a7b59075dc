"""Step times of tiny configurations, computed by hand; and the fast path against the operators."""

from __future__ import annotations

import dataclasses
import math
from statistics import NormalDist

import numpy as np
import pytest

from planner.errors import InputError
from planner.steptime.build import build_specs
from planner.steptime.prompt import prompt_alone_s
from planner.steptime.step import step_time_s, total_step_s
from tests import step_samples as samples

ZERO = np.array([0])


def one(**changes):
    return build_specs([samples.configuration(**changes)])


def test_decode_step_of_the_dense_model_by_hand():
    """30 sequences at 1,000 tokens; 10 rows of padding; rates 5e13 FLOP/s and 5e11 B/s; no overlap."""
    times = step_time_s(one(), ZERO, 30.0, 1000.0)
    expected = {
        "attention_projections_s": 2 * 40 * 9.6e6 / 5e13 + 1.92e7 / 5e11,
        "mlp_s": 2 * 40 * 48e6 / 5e13 + 9.6e7 / 5e11,
        "experts_s": 0.0,
        "decode_attention_s": 30 * 1000 * 4 * 4000 / 2.5e13 + 30 * 1000 * 4 * 800 / 8e11,
        "prefill_attention_s": 0.0,
        "head_s": 2 * 40 * 1e7 / 5e13 + 2e7 / 5e11 + 4 * 5 * 30 * 1e4 / 1e12,
        "elementwise_s": 2 * 10 * 30 * 4 * 1000 / 1e12,
        "communication_s": 0.0,
        "fixed_s": 4 * 1e-5 + 1e-3 + 30 * 1e-6,
    }
    for name, seconds in expected.items():
        assert getattr(times, name)[0] == pytest.approx(seconds), name
    assert times.total_s[0] == pytest.approx(1.59616e-3)
    assert times.bound[0] == "overhead"


def test_mixed_step_reads_weights_once_and_adds_both_attentions():
    times = step_time_s(one(), ZERO, 30.0, 1000.0, 100.0, 50.0, 1.0)
    assert times.mlp_s[0] == pytest.approx(2 * 140 * 48e6 / 5e13 + 9.6e7 / 5e11)
    assert times.prefill_attention_s[0] == pytest.approx(100 * 50 * 4 * 4000 / 5e13)
    assert times.head_s[0] == pytest.approx(2 * 41 * 1e7 / 5e13 + 2e7 / 5e11 + 4 * 5 * 31 * 1e4 / 1e12)
    assert times.decode_attention_s[0] == pytest.approx(1.392e-4)


def test_tensor_parallel_splits_work_and_pays_for_all_reduce():
    times = step_time_s(one(tp=2), ZERO, 30.0, 1000.0)
    # Two calls in each of 4 layers; 60 kB each at half of 100 GB/s, and 5 us.
    assert times.communication_s[0] == pytest.approx(8 * (6e4 / 5e10 + 5e-6))
    assert times.mlp_s[0] == pytest.approx(2.688e-4 / 2)
    assert times.decode_attention_s[0] == pytest.approx(1.392e-4 / 2)
    assert times.elementwise_s[0] == pytest.approx(2.4e-6 * 0.75)


def test_kv_heads_are_replicated_beyond_one_per_rank():
    four, two = step_time_s(one(tp=4), ZERO, 30.0, 1000.0), step_time_s(one(tp=2), ZERO, 30.0, 1000.0)
    memory_s = 30 * 1000 * 4 * 400 / 8e11  # one of two heads, with two or with four ranks
    assert two.decode_attention_s[0] == pytest.approx(memory_s + 0.96e-5)
    assert four.decode_attention_s[0] == pytest.approx(memory_s + 0.48e-5)


def test_latent_cache_is_read_whole_on_every_rank():
    times = step_time_s(one(model=samples.MLA, tp=2), ZERO, 30.0, 1000.0)
    assert times.decode_attention_s[0] == pytest.approx(30 * 1000 * 4 * 120 / 8e11 + 0.96e-5)


def test_experts_by_hand():
    """Two tokens touch 7/16 of 8 experts; products at a quarter of 1e14 FLOP/s."""
    times = step_time_s(one(model=samples.MOE), ZERO, 2.0, 100.0)
    rows = 2 * 2 + 2 * 8 * 7 / 16
    compute_s = 2 * rows * 3e6 * 4 / 2.5e13
    memory_s = 4 * 8 * 7 / 16 * 6e6 / 5e11
    rows_s = 4 * 5 * 2 * 2 * 1000 * 2 / 1e12  # five passes over 2 x 2 hidden states
    assert times.experts_s[0] == pytest.approx(compute_s + memory_s + rows_s)
    assert times.fixed_s[0] == pytest.approx(4 * 3e-5 + 1e-3 + 2e-6)


def test_attention_ranks_share_experts_and_exchange_tokens():
    """The hottest of four ranks: a quarter more by skew, and what chance adds to 10 tokens of two experts."""
    times = step_time_s(one(model=samples.MOE, attention_dp=4, ep=4), ZERO, 8.0, 100.0)
    above = NormalDist().inv_cdf((4 - 0.375) / (4 + 0.25))
    even = 1 - 0.75**10
    touched = min(even + above * math.sqrt(even * (1 - even) * 0.75 / 2), 1.0)
    tokens = 10 + above * math.sqrt(10 * 0.75 * 6 / (7 * 2 * 0.25))
    rows = (tokens * 2 + 2 * 8 * touched) / 4
    experts_s = 2 * rows * 3e6 * 4 / 2.5e13 + 4 * 2 * touched * 6e6 / 5e11
    rows_s = 4 * 5 * tokens * 2 / 4 * 1000 * 2 / 1e12
    assert times.experts_s[0] == pytest.approx(experts_s + rows_s)
    exchange_s = 2 * 0.75 * 8 * 1000 * 4 / 5e10 + 2 * 5e-6
    assert times.communication_s[0] == pytest.approx(4 * exchange_s)
    # Two tokens a rank.
    assert times.attention_projections_s[0] == pytest.approx(2 * 12 * 9.6e6 / 5e13 + 1.92e7 / 5e11)


def test_layers_with_windows_and_sparse_layers_read_what_is_theirs():
    """Four layers of 400 values: at 1000 tokens 3 x 100 tokens of 200 values are 150 of a full layer."""
    full = step_time_s(one(), ZERO, 30.0, 1000.0)
    narrow = dataclasses.replace(samples.WINDOWED, sliding_kv_elements_per_token_layer=200)
    step = step_time_s(one(model=narrow), ZERO, 30.0, 1000.0)
    assert step.decode_attention_s[0] == pytest.approx(full.decode_attention_s[0] * (1000 + 3 * 50) / 4000)
    sparse = dataclasses.replace(samples.DENSE, sparse_top_k_tokens=200, sparse_layers=3)
    step = step_time_s(one(model=sparse), ZERO, 30.0, 1000.0)
    assert step.decode_attention_s[0] == pytest.approx(full.decode_attention_s[0] * (1000 + 3 * 200) / 4000)


def test_windows_and_top_k_cap_the_context():
    full = step_time_s(one(), ZERO, 30.0, 1000.0).decode_attention_s[0]
    windowed = step_time_s(one(model=samples.WINDOWED), ZERO, 30.0, 1000.0).decode_attention_s[0]
    sparse = step_time_s(one(model=samples.SPARSE), ZERO, 30.0, 1000.0).decode_attention_s[0]
    assert windowed == pytest.approx(full * 0.325)
    assert sparse == pytest.approx(full * 0.064)


def test_an_indexer_scores_the_whole_context_on_every_rank():
    """528 bytes and 16,384 FLOP a token, at 0.8 of 1 TB/s and a quarter (prompts half) of 200 TFLOPS."""
    for tp in (1, 2):
        plain, picking = (one(model=model, tp=tp) for model in (samples.SPARSE, samples.INDEXED))
        kept = picking.kv_full_bytes_per_token[0] - plain.kv_full_bytes_per_token[0]
        assert kept == pytest.approx(528)
        before, after = (step_time_s(specs, ZERO, 30.0, 1000.0, 100.0, 50.0) for specs in (plain, picking))
        decode_s = 30 * 1000 * 528 / 8e11 + 30 * 1000 * 16_384 / 5e13
        assert after.decode_attention_s[0] - before.decode_attention_s[0] == pytest.approx(decode_s)
        prefill_s = 100 * 50 * 16_384 / 1e14
        assert after.prefill_attention_s[0] - before.prefill_attention_s[0] == pytest.approx(prefill_s)


def test_linear_layers_read_and_write_their_state():
    times = step_time_s(one(model=samples.LINEAR), ZERO, 30.0, 1000.0)
    assert times.decode_attention_s[0] == pytest.approx(1.392e-4 / 4 + 2 * 30 * 6e5 / 8e11)
    assert times.attention_projections_s[0] == pytest.approx(2 * 40 * 5.4e6 / 5e13 + 1.08e7 / 5e11)


def test_pipeline_of_two_stages():
    """Two micro-batches of 15 pass two stages of 2 layers; each stage is taken to have a head."""
    specs = one(pp=2, spans_servers=True, network_bytes_per_s=1e10, network_latency_s=1e-5)
    times = step_time_s(specs, ZERO, 30.0, 1000.0)
    assert times.mlp_s[0] == pytest.approx(2 * (2 * 25 * 24e6 / 5e13 + 4.8e7 / 5e11))
    assert times.decode_attention_s[0] == pytest.approx(1.392e-4 / 2)
    assert times.communication_s[0] == pytest.approx(15 * 1000 * 2 / 5e9 + 1.5e-5)
    assert times.fixed_s[0] == pytest.approx(2 * (2e-5 + 1e-3) + 30 * 1e-6)


def test_fp8_halves_bytes_and_uses_its_own_rate():
    times = step_time_s(one(weights=samples.FP8, attention_weights=samples.BF16), ZERO, 30.0, 1000.0)
    assert times.mlp_s[0] == pytest.approx(2 * 40 * 48e6 / (2e14 * 0.4) + 4.8e7 / 5e11)
    assert times.attention_projections_s[0] == pytest.approx(5.376e-5)


def test_formats_without_a_native_path_compute_in_sixteen_bit():
    card = samples.accelerator(
        compute=samples.AcceleratorCompute(bf16="100 TFLOPS", fp8="200 TFLOPS", source="sample")
    )
    times = step_time_s(one(accelerator=card, weights=samples.FP8), ZERO, 30.0, 1000.0)
    assert times.mlp_s[0] == pytest.approx(2 * 40 * 48e6 / (1e14 * 0.4) + 4.8e7 / 5e11)


@pytest.mark.parametrize(("tp", "rate", "latency_s"), [(2, 1e10, 2e-5), (3, 8e9, 4e-5), (8, 8e9, 4e-5)])
def test_measured_pcie_replaces_the_link(tp: int, rate: float, latency_s: float):
    card = samples.accelerator(link=samples.MEASURED_PCIE)
    times = step_time_s(one(accelerator=card, tp=tp, fast_link=False), ZERO, 30.0, 1000.0)
    sent = 2 * (tp - 1) / tp * 6e4
    assert times.communication_s[0] == pytest.approx(8 * (sent / rate + latency_s))


def test_pcie_without_a_measurement_takes_its_rate_and_the_longer_latency():
    times = step_time_s(one(tp=2, fast_link=False), ZERO, 30.0, 1000.0)
    assert times.communication_s[0] == pytest.approx(8 * (6e4 / 8e9 + 1e-5))


def test_a_mesh_gives_two_ranks_one_link_and_no_switch():
    mesh = samples.AcceleratorLink(
        kind="xgmi", one_way="70 GB/s", pair_one_way="10 GB/s", domain=8, source="sample"
    )
    for tp, rate in ((2, 5e9), (4, 15e9), (8, 35e9)):
        times = step_time_s(one(accelerator=samples.accelerator(link=mesh), tp=tp), ZERO, 30.0, 1000.0)
        sent = 2 * (tp - 1) / tp * 6e4
        assert times.communication_s[0] == pytest.approx(8 * (sent / rate + 1e-5))


def test_tensor_parallel_over_servers_talks_at_the_network_rate():
    specs = one(tp=16, spans_servers=True, network_bytes_per_s=2e10, network_latency_s=2e-5)
    times = step_time_s(specs, ZERO, 30.0, 1000.0)
    assert times.communication_s[0] == pytest.approx(8 * (2 * 15 / 16 * 6e4 / 1e10 + 2.5e-5))


def test_no_link_at_all_is_said_in_words():
    host = samples.AcceleratorHost(node_size=8, source="sample")
    link = samples.AcceleratorLink(kind="none", domain=1, source="sample")
    with pytest.raises(InputError, match="no link and no PCIe rate"):
        one(accelerator=samples.accelerator(host=host, link=link), tp=2)


def test_missing_parameters_are_named():
    poor = samples.ROUND.model_copy(update={"parameters": {}})
    with pytest.raises(InputError, match="round: parameters"):
        one(calibration=poor)
    with pytest.raises(InputError, match="no engine 'motor'"):
        one(calibration=samples.ROUND.model_copy(update={"engines": {}}))
    with pytest.raises(InputError, match="neither bf16 nor default"):
        one(calibration=samples.ROUND.model_copy(update={"compute_efficiency": {}}))


@pytest.mark.parametrize(
    ("changes", "load", "bound"),
    [
        (
            {"model": dataclasses.replace(samples.DENSE, layers=200, dense_layers=200)},
            (0, 0, 1e5, 500),
            "compute",
        ),
        ({}, (2000.0, 5000.0, 0, 0), "memory-bandwidth"),
        ({"tp": 8, "fast_link": False}, (0, 0, 1e5, 500), "interconnect"),
        ({}, (1.0, 100.0, 0, 0), "overhead"),
    ],
)
def test_the_bound_that_holds(changes, load, bound):
    assert step_time_s(one(**changes), ZERO, *load).bound[0] == bound


def every_layout():
    layouts = [
        {},
        {"tp": 2},
        {"tp": 16, "spans_servers": True, "network_bytes_per_s": 2e10, "network_latency_s": 1e-5},
        {"pp": 2, "tp": 2},
        {"pp": 3},
        {"attention_dp": 4, "ep": 4},
        {"attention_dp": 2, "tp": 2, "pp": 2, "ep": 4},
    ]
    calibrations = [samples.ROUND, samples.calibration(overlap_exponent=1.22)]
    return [
        samples.configuration(model=model, calibration=numbers, weights=form, **layout)
        for model in samples.MODELS
        for numbers in calibrations
        for form in (samples.BF16, samples.FP8)
        for layout in layouts
    ]


def test_fast_path_equals_the_sum_of_the_operators():
    configurations = every_layout()
    generator = np.random.default_rng(3)
    rows = generator.integers(0, len(configurations), 3000)
    loads = [generator.uniform(0, high, 3000) for high in (500, 20_000, 4000, 5000, 8)]
    for subset in (configurations, configurations[: len(configurations) // 2]):
        specs = build_specs(subset)
        picked = rows % len(subset)
        slow = step_time_s(specs, picked, *loads)
        np.testing.assert_allclose(total_step_s(specs, picked, *loads), slow.total_s, rtol=1e-12)


def test_company_and_broadcasting_do_not_change_numbers():
    specs = build_specs(every_layout())
    rows = np.arange(20_000) % len(specs)
    batch = np.linspace(1, 300, len(rows))
    long = total_step_s(specs, rows, batch, 2000.0)
    few = rows[:50, None]
    grid = total_step_s(specs, few, np.array([1.0, 8.0, 64.0]), 2000.0)
    assert grid.shape == (50, 3)
    for place in (0, 8192, len(rows) - 1):
        alone = total_step_s(specs, rows[[place]], batch[place], 2000.0)
        assert long[place] == pytest.approx(alone[0], rel=1e-14)
    np.testing.assert_allclose(grid[:, 1], total_step_s(specs, rows[:50], 8.0, 2000.0), rtol=1e-14)


def test_prompt_alone_passes_the_stages_one_after_the_other():
    flat, staged = one(), one(pp=2)
    alone = prompt_alone_s(flat, ZERO, 1000.0)[0]
    by_hand = step_time_s(flat, ZERO, 0.0, 0.0, 1000.0, 500.0, 1.0).total_s[0]
    assert alone == pytest.approx(by_hand)
    # Twice the stages, half the layers in each: only overhead per step, head and KV transfer come twice.
    again_s = 1e-3 + 2 * 11 * 1e7 / 5e13 + 2e7 / 5e11 + 4 * 5 * 1e4 / 1e12
    handed_s = 1000 * 1000 * 2 / 5e10 + 5e-6
    assert prompt_alone_s(staged, ZERO, 1000.0)[0] == pytest.approx(alone + again_s + handed_s)


def test_a_prompt_stays_on_one_attention_rank_and_the_others_have_one_too():
    ranks = one(attention_dp=4)
    four = step_time_s(ranks, ZERO, 0.0, 0.0, 4000.0, 500.0, 4.0)
    assert prompt_alone_s(ranks, ZERO, 1000.0)[0] == pytest.approx(four.total_s[0])
    # Nobody shares its attention: as long as on a single GPU.
    alone = step_time_s(one(), ZERO, 0.0, 0.0, 1000.0, 500.0, 1.0)
    assert four.prefill_attention_s[0] == pytest.approx(alone.prefill_attention_s[0])


def test_cached_prompt_tokens_are_attended_to_but_not_computed():
    specs = one()
    cached = prompt_alone_s(specs, ZERO, 1000.0, 600.0)[0]
    by_hand = step_time_s(specs, ZERO, 0.0, 0.0, 400.0, 800.0, 1.0).total_s[0]
    assert cached == pytest.approx(by_hand)


def test_an_empty_list_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        build_specs([])
