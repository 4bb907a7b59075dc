"""How many requests a replica holds."""

from __future__ import annotations

import dataclasses

import load_samples as samples
import numpy as np
import pytest

from planner.performance.memory_fit import Fill, memory_fit
from planner.performance.running import held_tokens, running_of_pairs
from planner.performance.traffic import traffic
from planner.schema.lengths import Lengths
from planner.steptime.build import build_specs
from planner.steptime.memory import memory_account, sequence_bytes
from tests import step_samples

ROWS = np.zeros(1, dtype=np.int64)
CHAT = samples.traffic_of(*samples.CHAT)
OPEN = Fill(0.01, 3.09)
_SAMPLE = samples.configuration().engine
UNLIMITED = _SAMPLE.model_copy(update={"limits": _SAMPLE.limits.model_copy(update={"max_running": 100_000})})


def with_memory(**facts):
    """The sample configuration on an engine that divides memory so."""
    memory = UNLIMITED.memory.model_copy(update=facts)
    return samples.configuration(engine=UNLIMITED.model_copy(update={"memory": memory}), tp=2)


def fit(item=None, part=CHAT, fill=samples.FILL, headroom=0.1, share=0.0, **changes):
    specs = build_specs([item or samples.configuration(engine=UNLIMITED, **changes)])
    return memory_fit(specs, part, headroom, share, fill)


def held(*args, **changes):
    return int(fit(*args, **changes).max_sequences[0])


def test_requests_fill_the_cache_and_one_more_does_not():
    found = fit()
    number, cache = found.max_sequences[0], found.account.kv_cache_bytes[0]
    assert found.need.bytes_of(float(number))[0] <= cache < found.need.bytes_of(number + 1.0)[0]
    # Not every slot at the longest, and not at the mean.
    assert found.need.longest_bytes[0] * number > cache > found.need.running.mean_bytes[0] * number


def test_requests_of_one_size_fill_the_cache_to_the_last():
    lengths = samples.traffic_of({"fixed": 1008}, {"fixed": 1})
    found = fit(part=lengths)
    one = sequence_bytes(build_specs([samples.configuration()]), ROWS, 1009.0)[0]
    assert int(found.max_sequences[0]) == int(found.account.kv_cache_bytes[0] / one)


def test_the_longest_request_must_fit_alone():
    """Requests of 100 tokens in 199 of 200, and one of 10,000 more: the window of P99 decides."""
    one = memory_account(build_specs([samples.configuration()]), ROWS, 0.1).kv_cache_bytes[0]
    tokens = one / sequence_bytes(build_specs([samples.configuration()]), ROWS, 16_000.0)[0] * 16_000.0
    fitting, beyond = (dataclasses.replace(CHAT, kv_tokens=int(share * tokens)) for share in (0.9, 1.1))
    assert held(part=fitting) == held()
    assert held(part=beyond) == 0


def test_more_memory_never_holds_fewer_and_longer_requests_never_more():
    by_headroom = [held(headroom=share) for share in (0.4, 0.3, 0.2, 0.1, 0.0)]
    assert by_headroom == sorted(by_headroom)
    for fill in (samples.FILL, OPEN):
        by_length = [
            held(part=samples.traffic_of({"p50": n, "p95": 4 * n}, {"p50": 200, "p95": 700}), fill=fill)
            for n in (250, 500, 1000, 2000, 4000)
        ]
        assert by_length == sorted(by_length, reverse=True)
    by_care = [held(fill=Fill(share)) for share in (1e-4, 1e-3, 1e-2, 1e-1)]
    assert by_care == sorted(by_care)


def test_a_batch_that_is_rarely_full_may_have_more_slots():
    assert held() < held(fill=OPEN) < 1.3 * held()


@pytest.mark.parametrize("model", step_samples.MODELS, ids=lambda model: model.id)
def test_every_kind_of_cache(model):
    """Windows, latent attention and constant state: the most that draws fit, by the same formula."""
    item = step_samples.configuration(model=model, engine=step_samples.configuration().engine)
    specs = build_specs([item])
    found = memory_fit(specs, CHAT, 0.1, 0.0, samples.FILL)
    weight, tokens, _ = held_tokens(CHAT)
    sizes = sequence_bytes(specs, ROWS, tokens[:, None])[:, 0]
    number = int(found.max_sequences[0] / item.attention_dp)
    assert number >= 1
    draws = np.random.default_rng(3).choice(sizes, (4000, number), p=weight).sum(axis=1)
    assert (draws > found.account.kv_cache_bytes[0]).mean() < 0.01


def test_a_whole_answer_is_reserved_where_the_engine_does_so():
    assert held(with_memory(reserves_answer=True)) < held(with_memory())
    weight, growing, reserved = held_tokens(CHAT)
    mean, by_length = float(weight @ growing), CHAT.output_weight * CHAT.output_tokens**2
    assert mean == pytest.approx(CHAT.decode_context_tokens)
    answer = float(by_length.sum()) / CHAT.output_mean_tokens
    assert float(weight @ reserved) == pytest.approx(CHAT.input_mean_tokens + answer)


def test_prompts_and_answers_that_go_together_are_drawn_together():
    """Long prompts with short answers run rarely: by hand, and through buckets."""
    found = running_of_pairs(np.array([0.5, 0.5]), np.array([100.0, 8000.0]), np.array([900.0, 100.0]))
    assert found.weight == pytest.approx([0.9, 0.1])
    buckets = [
        {"name": "talk", "share": 0.5, "input": 100, "output": 900},
        {"name": "read", "share": 0.5, "input": 8000, "output": 100},
    ]
    lengths = Lengths(buckets=buckets)
    together = traffic(samples.workload(lengths), lengths, None, 0, 0.99)
    weight, tokens, _ = held_tokens(together)
    assert float(weight @ tokens) == pytest.approx(together.decode_context_tokens)
    apart = dataclasses.replace(together, running=None)
    assert held(part=together) > 1.5 * held(part=apart)


def test_activations_follow_the_batch():
    """A small card: the profile of all sequences that the engine could run would leave no cache at all."""
    item = with_memory(sampler_sequences=20_000)
    specs = build_specs([item])
    logit = 128_256 * specs.sampler_bytes_per_logit[0]
    resident = memory_account(specs, ROWS, 0.1, running=1.0).resident_bytes[0]
    share = (resident + 5000 * logit) / specs.capacity_bytes[0]
    found = fit(item, headroom=1.0 - float(share))
    number = float(found.max_sequences[0])
    assert 30 <= number < 5000
    grown = found.account.activations_bytes - memory_account(specs, ROWS, 0.1, running=1.0).activations_bytes
    assert grown[0] == pytest.approx((number - 1.0) * logit)
    assert not memory_account(specs, ROWS, 1.0 - float(share)).fits[0]
    told = memory_fit(specs, CHAT, 1.0 - float(share), 0.0, samples.FILL, planned=np.array([8]))
    assert told.account.kv_cache_bytes[0] > found.account.kv_cache_bytes[0]
