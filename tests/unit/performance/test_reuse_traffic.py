"""Traffic with hits, trimming and eviction, and what the load model makes of it."""

from __future__ import annotations

import dataclasses

import load_samples as samples
import numpy as np
import pytest

from planner.performance.capacity import capacities
from planner.performance.load import Fetching
from planner.performance.memory_fit import memory_fit
from planner.performance.open_load import measure
from planner.performance.reuse import in_blocks, traffic_at
from planner.performance.running import held_tokens
from planner.performance.traffic import traffic
from planner.schema.lengths import Lengths, LengthSide
from planner.schema.reuse import KvEviction, PrefixCache, Trim
from planner.schema.traces import TraceLengths
from planner.steptime.build import build_specs
from planner.steptime.memory import sequence_bytes

ROWS = np.zeros(1, dtype=np.int64)


def lengths_of(prompt, answer):
    side = lambda value: LengthSide(fixed=value) if isinstance(value, int) else LengthSide(**value)  # noqa: E731
    return Lengths(input=side(prompt), output=side(answer))


def traffic_with(prompt, answer, trace=None, lengths=None, **fields):
    lengths = lengths or lengths_of(prompt, answer)
    return traffic(samples.workload(lengths, **fields), lengths, trace, 0, 0.95, 0.25)


def cached(hit="60 %", **fields):
    return traffic_with(*samples.RETRIEVAL, prefix_cache=PrefixCache(hit=hit, **fields))


def rate(traffic_, item=None, batch=64, limits_s=None):
    workers = samples.replicas_of([item or samples.configuration()])
    limits_s = {"ttft_p99": 2.0, "itl_p99": 0.1} if limits_s is None else limits_s
    found = capacities(workers, np.array([batch]), traffic_, samples.MEDIANS, limits_s)
    return float(found.rate_rps[0])


def latency(traffic_, name, concurrency=4.0):
    workers = samples.replicas_of([samples.configuration()])
    load = measure(
        workers, ROWS, np.array([concurrency]), np.array([64.0]), traffic_, samples.MEDIANS, (name,)
    )
    return float(load.latency_s[name][0])


def test_full_hits_are_those_of_the_plain_key():
    plain = samples.traffic_of(*samples.RETRIEVAL, prefix_cache_hit="60 %")
    detailed = cached()
    assert detailed.prefill_mean_tokens == pytest.approx(plain.prefill_mean_tokens)
    assert detailed.prefill_scv_ratio == pytest.approx(plain.prefill_scv_ratio)
    assert detailed.kv_tokens == plain.kv_tokens
    assert rate(detailed) == pytest.approx(rate(plain), rel=1e-9)
    for name in ("ttft_mean", "ttft_p99", "itl_p99", "e2e_p95"):
        assert latency(detailed, name) == pytest.approx(latency(plain, name), rel=1e-6)


def test_no_hits_are_those_without_a_cache():
    plain = samples.traffic_of(*samples.RETRIEVAL)
    cold = traffic_at(cached(), 0.0)
    assert rate(cold) == pytest.approx(rate(plain), rel=1e-9)
    assert latency(cold, "ttft_p99") == pytest.approx(latency(plain, "ttft_p99"), rel=1e-6)


def test_hits_help_and_their_loss_shows_in_the_tail_first():
    shares = (0.0, 0.25, 0.5, 0.75, 1.0)
    parts = [traffic_at(cached(), share) for share in shares]
    assert [part.cached_fraction for part in parts] == pytest.approx([0.6 * share for share in shares])
    rates = [rate(part) for part in parts]
    assert rates == sorted(rates)
    assert rates[-1] > 1.2 * rates[0]


def test_a_quarter_of_misses_shows_in_the_tail_only():
    """Equal prompts at hardly any load: the slowest in a hundred waits as if nothing was cached."""
    equal = traffic_with(8000, 150, prefix_cache=PrefixCache(hit="60 %"))
    parts = [traffic_at(equal, share) for share in (0.0, 0.75, 1.0)]
    tail = [latency(part, "ttft_p99", 0.01) for part in parts]
    middle = [latency(part, "ttft_p50", 0.01) for part in parts]
    assert tail[1] == pytest.approx(tail[0], rel=0.01)
    assert middle[1] == pytest.approx(middle[2], rel=0.01)
    assert tail[0] > 1.5 * tail[2]


def test_a_prefix_cache_without_hits_is_none():
    assert cached(hit="0 %").reuse is None


def test_what_is_reused_follows_the_keys():
    found = cached(prefixes=40, prefix_tokens=3000, routing="round-robin", reuse=5).reuse
    assert (found.entries, found.entry_tokens, found.reuse_requests) == (40.0, 3000.0, 5.0)
    assert found.scattered
    assert found.shares == (0.25, 0.5, 1.0, 2.0, 4.0)
    assert cached().reuse.shares == (0.25,)
    assert cached(share="10 %").reuse.shares == (0.1,)
    assert cached(working_set="40 GB").reuse.set_bytes == 4e10


def test_fetching_takes_time_on_its_link_and_none_of_the_gpu():
    warm, fetched = traffic_at(cached(), 1.0), traffic_at(cached(), 0.0, 1.0)
    assert fetched.prefill_mean_tokens == pytest.approx(warm.prefill_mean_tokens)
    assert fetched.reloaded_mean_tokens == pytest.approx(0.6 * fetched.input_mean_tokens)
    workers = samples.replicas_of([samples.configuration()])
    link = Fetching(s_per_token=np.array([1e-5]), links=np.array([2.0]))

    def load(part, replicas):
        wanted, batch = ("ttft_mean", "itl_p99"), np.array([64.0])
        return measure(replicas, ROWS, np.array([2.0]), batch, part, samples.MEDIANS, wanted)

    before, after = load(warm, workers), load(fetched, workers.with_fetching(link))
    busy = float(after.rate_rps[0]) * fetched.reloaded_mean_tokens * 1e-5 / 2.0
    assert float(after.link_utilization[0]) == pytest.approx(busy)
    waited = float(after.latency_s["ttft_mean"][0] - before.latency_s["ttft_mean"][0])
    assert waited == pytest.approx(fetched.reloaded_mean_tokens * 1e-5 / (1.0 - busy), rel=1e-6)
    assert after.latency_s["itl_p99"] == pytest.approx(before.latency_s["itl_p99"], rel=1e-6)


def test_a_full_link_stops_a_replica():
    """One second for a prompt: less than one request a second, whatever the limits."""
    fetched = traffic_at(cached(), 0.0, 1.0)
    slow = Fetching(np.array([1.0 / fetched.reloaded_mean_tokens]), np.ones(1))
    workers = samples.replicas_of([samples.configuration()]).with_fetching(slow)
    batch = dataclasses.replace(samples.MEDIANS, saturated=True)
    found = capacities(workers, np.array([64]), fetched, batch, {})
    assert 0.5 < float(found.rate_rps[0]) < 1.0
    assert rate(traffic_at(cached(), 1.0), limits_s={}) > 1.0


def test_trimming_scales_prompts_and_cuts_answers():
    plain = traffic_with(*samples.CHAT)
    cut = traffic_with(*samples.CHAT, trim=Trim(input="30 %", output_cap=200))
    assert cut.input_mean_tokens == pytest.approx(0.7 * plain.input_mean_tokens)
    assert cut.input_p95_tokens == pytest.approx(0.7 * plain.input_p95_tokens)
    assert cut.output_p95_tokens == cut.output_p99_tokens == 200.0
    assert cut.output_tokens.max() == 200.0
    # Below the cap the distribution is the same one.
    assert cut.output_tokens[:7] == pytest.approx(plain.output_tokens[:7])
    assert cut.output_mean_tokens < plain.output_mean_tokens


def test_trimming_a_trace_and_buckets_by_hand():
    trace = TraceLengths(None, np.array([100, 200, 300]), np.array([10, 20, 90]))
    named = Lengths(trace="x.csv")
    cut = traffic_with(0, 0, trace, named, trim=Trim(input="50 %", output_cap=30))
    assert (cut.input_mean_tokens, cut.output_mean_tokens) == pytest.approx((100.0, 20.0))
    assert cut.answer_input_tokens == pytest.approx((50 * 10 + 100 * 20 + 150 * 30) / 60.0)
    buckets = Lengths(buckets=[{"name": "a", "share": 1, "input": 100, "output": 40}])
    assert traffic_with(0, 0, None, buckets, trim=Trim(output_cap=30)).kv_tokens == 130


def test_images_are_not_trimmed():
    lengths = lengths_of(1000, 100)
    plain = samples.workload(lengths, images={"per_request": 2}, trim=Trim(input="50 %"))
    assert traffic(plain, lengths, None, 300, 0.95).input_mean_tokens == 500.0 + 600.0


def test_eviction_keeps_part_of_the_cache_and_of_its_reads():
    plain = traffic_with(*samples.RETRIEVAL)
    evicted = traffic_with(*samples.RETRIEVAL, kv_eviction=KvEviction(keep="50 %"))
    assert evicted.decode_context_tokens == pytest.approx(0.5 * plain.decode_context_tokens)
    assert evicted.kv_tokens == plain.kv_tokens  # the window must still hold the request
    assert evicted.prefill_mean_tokens == plain.prefill_mean_tokens
    specs = build_specs([samples.configuration()])
    held = memory_fit(specs, evicted, 0.1, 0.0, samples.FILL)
    whole, half = (
        float(sequence_bytes(specs, ROWS, share * plain.input_p99_tokens)[0]) for share in (1.0, 0.5)
    )
    room = float(held.account.kv_cache_bytes[0]) - (whole - half)
    needed = [float(held.need.bytes_of(held.max_sequences[0] + more)[0]) for more in (0.0, 1.0)]
    assert needed[0] <= room < needed[1]
    assert held.max_sequences[0] > 1.8 * memory_fit(specs, plain, 0.1, 0.0, samples.FILL).max_sequences[0]


def test_requests_set_aside_leave_room_for_the_mean():
    plain = traffic_with(*samples.RETRIEVAL)
    specs = build_specs([samples.configuration()])
    strict = memory_fit(specs, plain, 0.1, np.zeros(1), samples.FILL)
    loose = memory_fit(specs, plain, 0.1, np.zeros(1), samples.FILL, np.ones(1, dtype=bool))
    mean, spread = loose.need.running.mean_bytes[0], loose.need.running.spread_bytes[0]
    assert mean == pytest.approx(sequence_bytes(specs, ROWS, plain.decode_context_tokens)[0], rel=0.01)
    pool = float(loose.account.kv_cache_bytes[0])
    assert strict.max_sequences[0] < loose.max_sequences[0] < pool / mean
    missing = spread * np.sqrt(pool / mean) / np.sqrt(2.0 * np.pi)
    assert int(loose.max_sequences[0]) == int((pool - missing) / mean)


def test_the_spread_of_running_requests_against_samples():
    plain = traffic_with({"p50": 1000, "p99": 5000}, {"p50": 130, "p99": 700})
    generator = np.random.default_rng(2)
    prompts = generator.choice(plain.input_tokens, 400_000, p=plain.input_weight)
    by_length = plain.output_weight * plain.output_tokens
    answers = generator.choice(plain.output_tokens, 400_000, p=by_length / by_length.sum())
    need = prompts + generator.random(400_000) * answers
    weight, tokens, _ = held_tokens(plain)
    assert float(weight @ tokens) == pytest.approx(plain.decode_context_tokens)
    assert plain.decode_context_tokens == pytest.approx(float(need.mean()), rel=5e-3)
    spread = np.sqrt(weight @ (tokens - need.mean()) ** 2)
    assert spread == pytest.approx(float(need.std()), rel=1e-2)


def test_hashed_blocks_find_whole_blocks():
    """A prefix of 1,030 tokens that all have in common, and one of unknown end behind it."""
    found = dataclasses.replace(
        cached().reuse,
        tokens=np.array([2000.0, 2000.0]),
        weight=np.array([0.5, 0.5]),
        found_tokens=np.array([1030.0, 1500.0]),
        always_tokens=np.array([1030.0, 1030.0]),
        shared_tokens=1030.0,
    )
    hashed = in_blocks(found, 16)
    assert hashed.always_tokens.tolist() == [1024.0, 1024.0]
    assert hashed.found_tokens.tolist() == [1024.0, 1500.0 - 7.5]
    assert hashed.shared_tokens == 1024.0
    assert in_blocks(found, 1) is found


@pytest.mark.parametrize(("length", "found"), [(1030, 1024 / 1030), (1024, 1.0), (15, 0.0)])
def test_stated_prefixes_end_where_they_are_said_to(length, found):
    whole = dataclasses.replace(cached().reuse, prefix_tokens=float(length))
    assert in_blocks(whole, 16).found_tokens == pytest.approx(whole.found_tokens * found)


@pytest.mark.parametrize(("block", "less"), [(2, 1), (16, 2), (64, 16)])
def test_larger_blocks_never_find_more(block, less):
    small, large = in_blocks(cached().reuse, less), in_blocks(cached().reuse, block)
    assert (large.found_tokens <= small.found_tokens).all()
    assert (large.found_tokens >= 0.0).all()
