"""What must hold for any configuration: better hardware is never slower, more work is never faster."""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.physics import memory
from planner.schema.catalog import Accelerator
from planner.steptime.build import build_specs
from planner.steptime.memory import max_sequences, memory_account, sequence_bytes
from planner.steptime.step import step_time_s, total_step_s
from tests import step_samples as samples

ZERO = np.array([0])
QUICK = settings(max_examples=60, deadline=None, derandomize=True)
CALIBRATIONS = [samples.calibration(overlap_exponent=p) for p in (1.0, 1.22, 4.0)]

layouts = st.builds(
    dict,
    model=st.sampled_from(samples.MODELS),
    calibration=st.sampled_from(CALIBRATIONS),
    weights=st.sampled_from([samples.BF16, samples.FP8]),
    kv=st.sampled_from([samples.BF16, samples.FP8]),
    tp=st.sampled_from([1, 2, 4, 8, 32]),
    pp=st.sampled_from([1, 2, 3]),
    attention_dp=st.sampled_from([1, 2, 8]),
    fast_link=st.booleans(),
)
loads = st.tuples(
    st.floats(1, 1e4), st.floats(1, 1e6), st.floats(0, 1e5), st.floats(0, 1e5), st.floats(0, 100)
)


def seconds(layout, load, **changes) -> float:
    specs = build_specs([samples.configuration(**layout, **changes)])
    return float(total_step_s(specs, ZERO, *load)[0])


def scaled(part: str, field: str, factor: float) -> Accelerator:
    """The box with one rate changed."""
    old = getattr(samples.BOX, part)
    return samples.BOX.model_copy(
        update={part: old.model_copy(update={field: getattr(old, field) * int(factor)})}
    )


@QUICK
@given(layouts, loads, st.integers(1, 10))
def test_better_hardware_is_never_slower(layout, load, factor):
    base_s = seconds(layout, load)
    for part, field in (
        ("memory", "bandwidth"),
        ("compute", "bf16"),
        ("compute", "fp8"),
        ("link", "one_way"),
        ("host", "pcie_one_way"),
    ):
        assert seconds(layout, load, accelerator=scaled(part, field, factor)) <= base_s * (1 + 1e-12), field


@QUICK
@given(layouts, loads, st.floats(1, 10))
def test_a_faster_network_is_never_slower(layout, load, factor):
    network = {"spans_servers": True, "network_latency_s": 1e-5}
    slow_s = seconds(layout, load, network_bytes_per_s=1e9, **network)
    assert seconds(layout, load, network_bytes_per_s=1e9 * factor, **network) <= slow_s * (1 + 1e-12)


@QUICK
@given(layouts, loads, st.integers(0, 4), st.floats(1, 100))
def test_more_work_is_never_faster(layout, load, what, factor):
    more = tuple(value * factor if place == what else value for place, value in enumerate(load))
    assert seconds(layout, more) >= seconds(layout, load) * (1 - 1e-12)


@QUICK
@given(layouts, loads)
def test_parts_sum_to_the_total_and_agree_with_the_fast_path(layout, load):
    specs = build_specs([samples.configuration(**layout)])
    times = step_time_s(specs, ZERO, *load)
    parts = [
        getattr(times, field.name)[0]
        for field in dataclasses.fields(times)
        if field.name not in ("total_s", "bound")
    ]
    assert min(parts) >= 0
    np.testing.assert_allclose(sum(parts), times.total_s[0], rtol=1e-12)
    np.testing.assert_allclose(total_step_s(specs, ZERO, *load), times.total_s, rtol=1e-12)


@QUICK
@given(
    layouts,
    st.sampled_from([1.0, 1e3, 1e6]),
    st.sampled_from([1.0, 1e6]),
    st.sampled_from([0.0, 1.0, 1e6]),
)
def test_edges_are_finite_and_positive(layout, sequences, context_tokens, prompt_tokens):
    got = seconds(layout, (sequences, context_tokens, prompt_tokens, prompt_tokens / 2, 1.0))
    assert np.isfinite(got)
    assert got > 0


@QUICK
@given(st.integers(1, 10**6), st.sampled_from([1, 16, 32, 128]))
def test_twice_the_context_takes_twice_the_blocks(blocks, block_tokens):
    tokens = blocks * block_tokens
    assert memory.kv_blocks(2 * tokens, block_tokens) == 2 * memory.kv_blocks(tokens, block_tokens)


@QUICK
@given(st.integers(1, 10**6), st.sampled_from([1, 2, 4]))
def test_twice_the_context_takes_twice_the_cache_of_full_attention_only(blocks, tp):
    specs = build_specs(
        [samples.configuration(model=model, tp=tp) for model in (samples.DENSE, samples.WINDOWED)]
    )
    once, twice = (sequence_bytes(specs, np.arange(2), 16.0 * n) for n in (blocks, 2 * blocks))
    assert twice[0] == 2 * once[0]
    assert twice[1] <= 2 * once[1]


@QUICK
@given(layouts, st.floats(0, 0.9), st.floats(0, 0.9), st.floats(1, 1e6), st.floats(1, 1e6))
def test_less_headroom_and_shorter_sequences_never_hold_fewer(layout, headroom, less, tokens, fewer):
    specs = build_specs([samples.configuration(**layout)])
    tight = memory_account(specs, ZERO, max(headroom, less)).kv_cache_bytes
    loose = memory_account(specs, ZERO, min(headroom, less)).kv_cache_bytes
    assert loose[0] >= tight[0] >= 0
    longer, shorter = max(tokens, fewer), min(tokens, fewer)
    assert max_sequences(specs, ZERO, loose, shorter)[0] >= max_sequences(specs, ZERO, tight, longer)[0]
