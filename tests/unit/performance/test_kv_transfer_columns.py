"""What each GPU of a worker sends or receives, by layout, model and link."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from planner.performance.kv_transfer import KvTransfer
from planner.schema.catalog import AcceleratorHost
from planner.steptime.build import build_specs
from planner.steptime.memory import sequence_bytes
from tests import load_samples as samples
from tests import step_samples as steps

TRAFFIC = samples.traffic_of(4096, 100)
NETWORK = (10e9, 1e-5)
"""Below the 20 GB/s of PCIe in the sample host."""
TOKEN_BYTES = 80 * 2048


def kv_transfer(*items, traffic=TRAFFIC, network=NETWORK):
    return KvTransfer.of(items, build_specs(items), traffic, *network)


def times(found, tokens=4096, rate=0.0):
    return found.time_s(np.arange(found.mean_bytes.size), tokens, rate).tolist()


def test_tensor_parallel_ranks_share_the_cache():
    items = [samples.configuration(tp=tp) for tp in (1, 2, 4, 8)]
    whole = 4096 * TOKEN_BYTES / 10e9
    assert times(kv_transfer(*items)) == pytest.approx([whole / tp + 1e-5 for tp in (1, 2, 4, 8)])


def test_more_ranks_than_heads_share_no_further():
    items = [samples.configuration(tp=tp) for tp in (8, 16)]
    assert len(set(times(kv_transfer(*items)))) == 1


def test_a_latent_cache_is_whole_on_every_rank():
    items = [samples.configuration(model=steps.MLA, tp=tp) for tp in (1, 2)]
    assert len(set(times(kv_transfer(*items)))) == 1


def test_stages_send_their_layers_at_once():
    items = [samples.configuration(tp=2), samples.configuration(tp=2, pp=2)]
    one, two = times(kv_transfer(*items))
    assert two - 1e-5 == pytest.approx((one - 1e-5) / 2)


def test_windows_and_states_cost_what_they_keep():
    for model in (steps.WINDOWED, steps.LINEAR):
        item = samples.configuration(model=model, tp=1)
        kept = sequence_bytes(build_specs([item]), np.zeros(1, dtype=np.int64), 4096.0)
        assert times(kv_transfer(item)) == pytest.approx((kept / 10e9 + 1e-5).tolist())
        assert kept[0] < 4096 * model.kv_elements_per_token_layer * model.layers * 2


def test_a_slow_host_is_the_slower_end():
    host = AcceleratorHost(node_size=8, pcie_one_way="16 GB/s", source="sample")
    slow = dataclasses.replace(
        samples.configuration(), accelerator=steps.accelerator(memory=samples.CARD.memory, host=host)
    )
    fast, behind = times(kv_transfer(samples.configuration(), slow, network=(50e9, 0.0)))
    assert behind / fast == pytest.approx(20 / 16)


def test_attention_ranks_have_links_of_their_own():
    items = [samples.configuration(tp=4), samples.configuration(tp=2, attention_dp=2)]
    found = kv_transfer(*items)
    rows, rate = np.arange(2), np.array([10.0, 10.0])
    whole = 10.0 * 4096 * TOKEN_BYTES / 10e9
    # Four ranks send a quarter each; of two groups of two each sends half of every other prompt.
    assert found.load_ratio(rows, rate).tolist() == pytest.approx([whole / 4, whole / 4])
    assert found.most_rps(rows).tolist() == pytest.approx([10.0 / (whole / 4)] * 2)


def test_the_link_slows_down_with_its_load():
    found = kv_transfer(samples.configuration(tp=1), network=(50e9, 0.0))
    rate = found.most_rps(np.zeros(1, dtype=np.int64))
    alone, half = times(found)[0], times(found, rate=rate / 2)[0]
    assert half == pytest.approx(2 * alone)
    assert times(found, rate=rate * (1 + 1e-9)) == [np.inf]


def test_the_mean_counts_long_prompts():
    traffic = samples.traffic_of(*samples.CHAT)
    found = kv_transfer(samples.configuration(tp=1), traffic=traffic)
    assert found.mean_bytes[0] == pytest.approx(traffic.input_mean_tokens * TOKEN_BYTES, rel=0.02)
