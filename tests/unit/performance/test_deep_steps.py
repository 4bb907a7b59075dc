"""Prompts cut to chunks that count what they take, against chunks counted one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.performance.deep_steps import DeepSteps, deep_steps, pieces_of
from planner.performance.steady_state import prompt_context_tokens, steady_state
from tests import load_samples as samples

LONG = ({"p50": 12_000, "p90": 40_000, "p99": 90_000}, {"p50": 200, "p99": 900})
LINE = np.zeros(1, dtype=np.int64)


def steps_of(traffic, growth, rows=1):
    most = float(traffic.input_tokens.max())
    return DeepSteps(prompt_context_tokens(traffic), most, np.ones(rows), np.full(rows, growth), traffic)


def one_by_one(traffic, chunk, steps):
    """Weight and counted tokens of every piece."""
    found = []
    rows = zip(traffic.input_weight, traffic.input_tokens, traffic.computed_tokens, strict=True)
    for weight, tokens, computed in rows:
        done = 0.0
        while computed - done > 1e-9:
            take = min(chunk, computed - done)
            context = tokens - computed + done + take / 2.0
            found.append((weight, take * float(steps.weight(np.array([context]))[0])))
            done += take
    return np.array(found).T


@given(
    st.sampled_from([300, 1000, 2048, 8192, 200_000]), st.floats(0.0, 2e-5), st.sampled_from(["0 %", "60 %"])
)
def test_pieces_are_those_that_are_counted_one_by_one(chunk, growth, cached):
    traffic = samples.traffic_of(*LONG, prefix_cache_hit=cached)
    steps = steps_of(traffic, growth)
    found = pieces_of(np.array([float(chunk)]), traffic, steps)
    weight, tokens = one_by_one(traffic, float(chunk), steps)
    pieces, mean = weight.sum(), float(traffic.input_weight @ traffic.computed_tokens)
    assert found.mean_tokens == pytest.approx(mean / pieces)
    second = weight @ tokens**2 / pieces
    expected = max(second / (mean / pieces) ** 2 - 1.0, 1e-3)
    assert found.scv_ratio == pytest.approx(expected, rel=1e-6, abs=2e-3)
    # Counted to the half of a chunk of every prompt.
    for size in found.sizes[:, 0]:
        exact = weight[tokens >= size * chunk].sum() / pieces
        assert found.cuts.long_fraction(np.array([size]))[0] == pytest.approx(exact, abs=0.51 / pieces + 1e-9)


@given(st.floats(0.0, 3e-5), st.lists(st.floats(1e-4, 50.0), min_size=1, max_size=9), st.floats(1e-3, 0.9))
def test_the_longest_piece_of_enough_lies_between_the_levels_around_it(growth, pieces, rare):
    chunk = np.geomspace(300.0, 200_000.0, len(pieces))
    traffic = samples.traffic_of(*LONG)
    found = pieces_of(chunk, traffic, steps_of(traffic, growth, chunk.size))
    pieces = np.array(pieces)
    longest = found.longest(pieces, rare)
    more = np.array([pieces * found.cuts.long_fraction(sizes) for sizes in found.sizes]) > rare
    ladder = np.concatenate((np.zeros((1, chunk.size)), found.sizes, found.sizes[-1:]))
    place, rows = more.sum(axis=0), np.arange(chunk.size)
    assert (np.where(place > 0, ladder[place, rows], 0.0) <= longest + 1e-12).all()
    assert (longest <= np.where(place > 0, ladder[place + 1, rows], 0.0) + 1e-12).all()


@given(st.floats(0.0, 3e-5), st.sampled_from(["0 %", "60 %", "90 %"]))
def test_tokens_count_one_on_average(growth, cached):
    traffic = samples.traffic_of(*LONG, prefix_cache_hit=cached)
    steps = steps_of(traffic, min(growth, 0.9 / prompt_context_tokens(traffic)))
    weight, tokens = one_by_one(traffic, 64.0, steps)
    assert weight @ tokens == pytest.approx(traffic.input_weight @ traffic.computed_tokens, rel=1e-3)


def test_deeper_prompts_take_longer_steps_and_vary_more():
    item = samples.configuration(batched_tokens=2048)
    model = samples.replicas_of([item])
    spread, steps = [], []
    for prompt in ({"p50": 1000, "p99": 4000}, {"p50": 8000, "p99": 32_000}, LONG[0]):
        traffic = samples.traffic_of(prompt, LONG[1])
        state = steady_state(model, LINE, np.array([4.0]), traffic, samples.MEDIANS)
        found = deep_steps(model, state, traffic, samples.MEDIANS)
        spread.append(float(found.prompt_moments[0][0]) - traffic.prefill_scv_ratio)
        steps.append(float(found.step_s(state, found.most_ratio * state.chunk)[0]))
    assert all(more > 0.0 for more in spread)
    assert spread == sorted(spread)
    assert steps == sorted(steps)


def test_a_step_is_as_long_as_the_step_model_says():
    traffic = samples.traffic_of(*LONG)
    model = samples.replicas_of([samples.configuration(batched_tokens=2048)])
    state = steady_state(model, LINE, np.array([6.0]), traffic, samples.MEDIANS)
    found = deep_steps(model, state, traffic, samples.MEDIANS)
    assert found.step_s(state, state.chunk_mean) == pytest.approx(state.mixed_s)
    assert found.step_s(state, state.chunk) == pytest.approx(found.full_s)
    context = np.full(1, traffic.decode_context_tokens)
    deepest = np.array([found.most_tokens])
    longest = model.mixed_s(LINE, state.mean, context, state.chunk, deepest, np.ones(1))
    assert found.step_s(state, found.most_ratio * state.chunk) == pytest.approx(longest, rel=1e-3)


def test_no_configuration_is_a_question_too():
    traffic = samples.traffic_of(*LONG)
    model, none = samples.replicas_of([samples.configuration()]), np.zeros(0)
    state = steady_state(model, np.zeros(0, dtype=np.int64), none, traffic, samples.MEDIANS)
    found = deep_steps(model, state, traffic, samples.MEDIANS)
    assert found.full_s.shape == (0,)
    assert pieces_of(none, traffic, found).mean_tokens.shape == (0,)
