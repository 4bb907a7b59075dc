"""Traffic and bytes of a workload against numbers worked out by hand."""

import numpy as np
import pytest

from planner.loaders.catalog import load_catalog
from planner.performance.sizing import kv_usage_fraction, workload_sizing
from planner.schema.traffic import Traffic
from planner.steptime.build import build_specs
from planner.steptime.model_facts import model_facts
from tests import step_samples as samples

BOOK = load_catalog()
FORMATS = {entry.id: entry for entry in BOOK.number_formats}


def sized(model, tokens, weights=(), kv=()):
    """Running requests hold ``tokens`` on average: a prompt, and half of an answer of 200 tokens."""
    one, prompt = np.array([1.0]), tokens - 100.0
    traffic = Traffic(
        input_weight=one,
        input_tokens=one * prompt,
        output_weight=one,
        output_tokens=one * 200.0,
        input_mean_tokens=prompt,
        output_mean_tokens=200.0,
        input_p95_tokens=3000.0,
        output_p95_tokens=400.0,
        input_p99_tokens=4000.0,
        output_p99_tokens=600.0,
        kv_tokens=5000,
        cached_fraction=0.25,
        arrival_scv_ratio=2.0,
    )
    facts = model_facts(BOOK.model(model))
    return workload_sizing("chat", facts, traffic, 40.0, 16.0, weights, kv, FORMATS)


def test_traffic_is_told_as_it_is():
    found = sized("llama-3.3-70b", 4096)
    assert found.input_tokens == {"mean": 3996.0, "p95": 3000.0, "p99": 4000.0}
    assert found.output_tokens == {"mean": 200.0, "p95": 400.0, "p99": 600.0}
    assert (found.peak_rps, found.mean_rps, found.arrival_scv_ratio) == (40.0, 16.0, 2.0)
    assert (found.sequence_tokens, found.cached_fraction) == (4096, 0.25)


def test_bytes_of_llama_70b():
    found = sized("llama-3.3-70b", 4096, weights=["fp8"], kv=["fp8"])
    # 70.55e9 parameters at two bytes; 2 x 80 layers x 8 heads x 128 x 2 bytes = 327,680 bytes a token.
    assert found.checkpoint == "bf16"
    assert found.weights_bytes["bf16"] == pytest.approx(141.1e9, rel=1e-3)
    assert list(found.weights_bytes) == ["bf16", "fp8"]
    assert found.sequence_bytes == {"bf16": 4096 * 327_680.0, "fp8": 4096 * 163_840.0}


def test_windows_hold_no_more_than_their_tokens():
    # By hand, 16 bit: 507,904 bytes a token while all layers keep it, 81,920 past the window of 1,024.
    found = sized("gemma-3-27b", 4096)
    assert found.sequence_bytes["bf16"] == 4096 * 81_920.0 + 1024 * (507_904.0 - 81_920.0)


def test_the_state_of_linear_layers_counts():
    facts = model_facts(BOOK.model("qwen3-next-80b-a3b"))
    found = sized("qwen3-next-80b-a3b", 1000)
    assert facts.state_bytes_per_sequence > 0
    assert found.sequence_bytes["bf16"] == 1000 * 24_576.0 + facts.state_bytes_per_sequence


def test_the_checkpoint_comes_first_whatever_is_asked_for():
    assert list(sized("deepseek-v3", 100, weights=["bf16", "fp8"]).weights_bytes) == ["fp8", "bf16"]


def test_cache_in_use_is_what_the_decoding_sequences_take():
    # 4 layers x 400 values x 2 bytes, halved by TP 2: 1,600 bytes a token. 10 sequences of 1,600 tokens are
    # 25.6 MB of 51.2 MB; two attention ranks share the sequences.
    specs = build_specs([samples.configuration(tp=2), samples.configuration(tp=2, attention_dp=2)])
    assert kv_usage_fraction(specs, 0, 10.0, 1600.0, 51.2e6) == pytest.approx(0.5)
    assert kv_usage_fraction(specs, 1, 10.0, 1600.0, 51.2e6) == pytest.approx(0.25)


def test_without_a_cache_nothing_is_known():
    specs = build_specs([samples.configuration()])
    assert kv_usage_fraction(specs, 0, 10.0, 1600.0, 0.0) is None
