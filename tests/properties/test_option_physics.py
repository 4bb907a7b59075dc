"""Options of a replica: what must hold whatever their numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.physics import moe, speculation
from planner.schema.configuration import AdapterSlots, Drafting, ExpertTraffic
from planner.steptime.build import build_specs
from planner.steptime.memory import memory_account, sequence_bytes
from planner.steptime.step import step_time_s, total_step_s
from tests import step_samples as samples

ZERO = np.array([0])
QUICK = settings(max_examples=60, deadline=None, derandomize=True)
SHARES = st.floats(0.0, 1.0)
DRAFTS = st.integers(1, 8)
RATIOS = st.floats(1.0, 20.0)
SEQUENCES = st.floats(1.0, 2000.0)


def drafting(tokens):
    return Drafting("ngram", tokens, 0.5, None, None, 0.0, 0.0)


@st.composite
def options(draw):
    """A replica with any mixture of options."""
    experts = ExpertTraffic(draw(st.none() | RATIOS), draw(st.none() | RATIOS), 1.0, 2.0)
    fields = {
        "drafting": draw(st.none() | DRAFTS.map(drafting)),
        "adapters": draw(st.none() | st.builds(AdapterSlots, st.integers(1, 300), st.integers(1, 64))),
        "experts": experts,
    }
    layout = draw(
        st.sampled_from(
            [
                {},
                {"tp": 2},
                {"pp": 2},
                {"attention_dp": 4, "ep": 4},
                {"tp": 8, "ep": 8},
                {"tp": 4, "ep": 2, "pp": 2},
                {"attention_dp": 16, "ep": 16, "spans_servers": True, "network_bytes_per_s": 1e10},
            ]
        )
    )
    return samples.configuration(model=draw(st.sampled_from(samples.MODELS)), **fields, **layout)


@QUICK
@given(options(), SEQUENCES, st.floats(1.0, 1e5), st.floats(0.0, 1e4))
def test_the_fast_path_agrees_whatever_the_options(item, sequences, context, prompt):
    specs = build_specs([item])
    load = (sequences, context, prompt, prompt / 2.0, 1.0)
    slow, fast = step_time_s(specs, ZERO, *load).total_s, total_step_s(specs, ZERO, *load)
    np.testing.assert_allclose(fast, slow, rtol=1e-9)


@QUICK
@given(options())
def test_parts_of_memory_add_up_whatever_the_options(item):
    got = memory_account(build_specs([item]), ZERO)
    parts = got.weights_bytes + got.kv_cache_bytes + got.activations_bytes + got.framework_bytes
    np.testing.assert_allclose(parts + got.adapters_bytes + got.free_bytes, got.capacity_bytes)


@QUICK
@given(SHARES, SHARES, DRAFTS)
def test_more_accepted_drafts_emit_more_and_never_all_of_them_and_more(first, second, tokens):
    less, more = sorted((first, second))
    low, high = (float(speculation.tokens_per_step(a, float(tokens))) for a in (less, more))
    assert 1.0 <= low <= high <= tokens + 1.0
    assert float(speculation.tokens_per_step(more, tokens + 1.0)) >= high


@QUICK
@given(DRAFTS, SEQUENCES)
def test_verifying_takes_longer_than_a_plain_step_and_less_than_a_step_a_token(tokens, sequences):
    plain, verified = (
        total_step_s(build_specs([samples.configuration(drafting=draft)]), ZERO, sequences, 1000.0)[0]
        for draft in (None, drafting(tokens))
    )
    assert plain <= verified <= (1 + tokens) * plain * (1.0 + 1e-12)


@QUICK
@given(DRAFTS, st.integers(1, 100_000))
def test_drafts_take_room_for_no_more_than_their_tokens(tokens, length):
    plain, drafted = (
        sequence_bytes(build_specs([samples.configuration(drafting=draft)]), ZERO, float(length))[0]
        for draft in (None, drafting(tokens))
    )
    later = sequence_bytes(build_specs([samples.configuration()]), ZERO, float(length + tokens))[0]
    assert plain <= drafted == later


@QUICK
@given(RATIOS, RATIOS, SEQUENCES)
def test_hotter_ranks_are_never_faster_and_a_cap_never_slower(first, second, sequences):
    layout = {"model": samples.MOE, "attention_dp": 4, "ep": 4}

    def experts_s(*ratios):
        specs = build_specs([samples.configuration(experts=ExpertTraffic(*ratios), **layout)])
        return step_time_s(specs, ZERO, sequences, 100.0).experts_s[0]

    cool, hot = sorted((first, second))
    assert experts_s(cool) <= experts_s(hot)
    assert experts_s(hot, cool) <= experts_s(hot)
    assert experts_s(hot, cool) == experts_s(cool)


@QUICK
@given(RATIOS, RATIOS)
def test_what_is_computed_and_what_overflows_are_what_came(imbalance, capacity):
    computed = float(moe.hottest_ratio(imbalance, capacity))
    overflow = float(moe.overflow_fraction(imbalance, capacity))
    np.testing.assert_allclose(computed + overflow * imbalance, imbalance)
