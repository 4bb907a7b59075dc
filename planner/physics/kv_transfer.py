"""KV transfer of a prompt's KV cache from one worker to another: bytes over the link of one GPU."""

from __future__ import annotations

import numpy as np

from planner.physics.arrays import Floats


def link_bytes_per_s(network_bytes_per_s: Floats, pcie_bytes_per_s: Floats) -> Floats:
    """What one GPU sends or receives between servers, one way: its network port, behind PCIe."""
    rate: Floats = np.minimum(network_bytes_per_s, pcie_bytes_per_s)
    return rate


def link_load_ratio(rank_rps: Floats, mean_bytes: Floats, rate_bytes_per_s: Floats) -> Floats:
    """Share of the link that KV transfers take: ``rate x bytes / link``; above 1 the link falls behind."""
    return rank_rps * mean_bytes / rate_bytes_per_s


def kv_transfer_s(
    sent_bytes: Floats,
    rate_bytes_per_s: Floats,
    latency_s: Floats,
    hidden_fraction: Floats,
    link_load_ratio_: Floats,
) -> Floats:
    """Time from the end of prefill to the last byte: ``latency + (1 - hidden) bytes / link / (1 - load)``.

    Transfers share the link evenly, so one takes 1 / (1 - load) times as long as alone (M/G/1 with processor
    sharing: any distribution of sizes). Infinite at a load of 1. Every GPU of a worker sends or receives its
    own part at the same time, so ``sent_bytes`` are those of one GPU; of two sides the slower one holds.

    Source: Kleinrock, Queueing Systems II, 1976, section 4.4.
    Assumes: what the engine hides overlaps with the computation of the same prompt.
    Breaks down when: many KV transfers meet at one port of the other side.
    """
    free = 1.0 - np.asarray(link_load_ratio_, dtype=np.float64)
    alone_s = (1.0 - np.asarray(hidden_fraction)) * sent_bytes / rate_bytes_per_s
    with np.errstate(divide="ignore", invalid="ignore"):
        shared_s = alone_s / free
    return np.where(free > 0.0, latency_s + shared_s, np.inf)
