"""Single configurations: what cannot run says why and by how much; what fits is ordered by price."""

from __future__ import annotations

import pytest

from planner.app import estimate as estimate_case
from planner.app import fit as fit_case
from planner.errors import InputError
from planner.steptime.remembered import Remembered

GIB = 2**30


def estimate(**changes):
    asked = {"model": "llama-3.1-8b", "gpu": "h100-sxm", "isl": 1000, "osl": 200} | changes
    return estimate_case.estimate(**asked)


def reason(found, name):
    return next(item for item in found.cannot_run if item.id == name)


def test_a_model_that_does_not_fit_says_by_how_much():
    found = estimate(model="llama-3.3-70b")
    why = reason(found, "vram")
    assert why.value > why.limit > 0.85 * 80e9
    assert why.unit == "B"


def test_heads_that_do_not_divide():
    found = estimate(model="qwen2.5-7b", tp=8)
    why = reason(found, "divisibility")
    assert (why.value, why.limit) == (8, 4)
    assert why.text == "28 query heads and 4 KV heads do not divide by 8"


def test_a_group_beyond_the_server():
    found = estimate(model="llama-3.3-70b", tp=16)
    assert (reason(found, "interconnect").value, reason(found, "interconnect").limit) == (16, 8)


def test_a_context_beyond_the_window():
    found = estimate(isl=200_000)
    assert reason(found, "context").limit == 131_072


def test_a_context_that_is_stated_sizes_the_cache():
    short, long_ = estimate(context=2000), estimate(context=8000)
    assert long_.max_batch < short.max_batch


def test_more_requests_in_flight_are_slower_each_and_faster_together():
    one, many = estimate(concurrency=1), estimate(concurrency=64)
    assert many.tpot_s["mean"] > one.tpot_s["mean"]
    assert many.output_tokens_per_s > 10 * one.output_tokens_per_s


def test_requests_beyond_the_batch_wait():
    found = estimate(concurrency=100_000)
    assert found.ttft_s["mean"] > 60.0
    assert found.decoding <= found.max_batch
    assert "run at once" in found.warnings[0]


def test_little_s_law_holds_for_requests_in_flight():
    found = estimate(concurrency=32)
    inside = found.requests_per_s * (found.ttft_s["mean"] + 200 * found.tpot_s["mean"])
    # The formula of benchmarks counts what client and server take before the engine besides.
    assert inside == pytest.approx(32, rel=0.03)


def test_open_load_below_capacity_returns_its_rate():
    assert estimate(rps=2.0).requests_per_s == pytest.approx(2.0, rel=1e-3)


def test_memory_utilization_moves_the_cache_and_the_profile_of_the_batch_that_it_holds():
    low, high = estimate(memory_utilization="80 %"), estimate(memory_utilization="95 %")
    taken = [item.memory_bytes.kv_cache + item.memory_bytes.activations for item in (low, high)]
    assert taken[1] - taken[0] == pytest.approx(0.15 * high.memory_bytes.capacity)
    assert high.max_batch > low.max_batch
    assert high.memory_bytes.weights == low.memory_bytes.weights


def test_unknown_names_are_told_together():
    with pytest.raises(InputError) as problem:
        estimate(gpu="h1000-sxm", engine="vlm", weights="fp9")
    assert [fault.key for fault in problem.value.faults] == ["--gpu", "--engine", "--weights"]
    assert 'Maybe "h100-sxm"?' in str(problem.value.faults[0])


def test_the_router_lists_what_holds_cheapest_first():
    found = fit_case.fit("llama-3.3-70b", context_tokens=16_000, concurrency=16)
    prices = [row.usd_per_hour for row in found.rows]
    assert prices == sorted(prices)
    assert all(row.holds >= 16 for row in found.rows)
    assert len({(row.gpu, row.gpus) for row in found.rows}) == len(found.rows)


def test_the_router_refuses_a_context_beyond_the_window():
    with pytest.raises(InputError, match="131,072"):
        fit_case.fit("llama-3.3-70b", context_tokens=1_000_000, concurrency=1)


def test_more_sequences_and_other_formats_are_answered_as_if_asked_first(monkeypatch):
    asked = [
        {"context_tokens": 8192, "concurrency": 1},
        {"context_tokens": 8192, "concurrency": 64},
        {"context_tokens": 8192, "concurrency": 64, "weights": "fp8"},
        {"context_tokens": 8192, "concurrency": 64, "accelerators": ("h100-sxm", "l40s")},
        {"context_tokens": 32768, "concurrency": 64},
    ]
    moved = [fit_case.fit("qwen3-8b", **one) for one in asked]
    alone = []
    for one in asked:
        monkeypatch.setattr(fit_case, "_HELD", Remembered(1))
        alone.append(fit_case.fit("qwen3-8b", **one))
    assert moved == alone
    assert len({str(found) for found in moved}) == len(asked)
