"""Layouts of measured rows: the links between their GPUs, and the two kinds of workers of a split row."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from planner.numbers import count
from planner.performance.row_loads import PrefillSide
from planner.schema.configuration import Configuration
from planner.schema.measurement import Measurement, Pool
from planner.steptime.build import PreparedSpecs
from planner.steptime.memory import max_sequences, memory_account

Network = tuple[float, float]
"""Bytes per second of one GPU between servers, one way, and latency in seconds."""


class Skipped(Exception):  # noqa: N818 - not an error: a reason that the answer shows
    """A row without a prediction, and why."""


def linked(item: Configuration, network: Network) -> Configuration:
    """The replica, over the network where it is larger than its server and than its fast link."""
    gpus, link = item.gpus, item.accelerator.link
    if gpus > 1 and link.one_way is None and item.accelerator.host.pcie_one_way is None:
        raise Skipped(f"{item.accelerator.id}: the catalog knows no link between its GPUs")
    if gpus <= max(item.node_gpus, link.domain):
        return item
    return replace(item, spans_servers=True, network_bytes_per_s=network[0], network_latency_s=network[1])


def workers(base: Configuration, row: Measurement, network: Network) -> tuple[Configuration, Configuration]:
    """A decode worker and a prefill worker of a row that has both."""
    if not row.prefill.tp or not row.decode.tp:
        raise Skipped("disaggregated, and the size of its workers is not stated")
    if not row.prefill.workers or not row.decode.workers:
        raise Skipped("disaggregated, and the number of its workers is not stated or ambiguous")
    decode, prefill = (linked(_worker(base, pool), network) for pool in (row.decode, row.prefill))
    for item, word in ((decode, "decode"), (prefill, "prefill")):
        if held_sequences(item, row.input_tokens) < 1.0:
            raise Skipped(f"a {word} worker of {count(item.gpus, 'GPU')} does not hold the model: mislabeled")
    return decode, prefill


def _worker(base: Configuration, pool: Pool) -> Configuration:
    ranks = max(pool.attention_dp, 1)
    tp = max(pool.tp // ranks, 1) if ranks > 1 else pool.tp
    # Lists that give no degree spread the experts of data-parallel attention over the whole worker.
    ep = min(pool.ep or (tp * ranks if ranks > 1 else 1), tp * ranks)
    return replace(base, tp=tp, pp=max(pool.pp, 1), ep=ep, attention_dp=ranks)


def prefill_side(
    row: Measurement, item: Configuration, prefill: Configuration, network: Network
) -> PrefillSide:
    """Prefill workers; caches go over the fast link where all workers share one, else over the network."""
    decode_workers = max(row.decode.workers, 1)
    gpus = row.prefill.workers * prefill.gpus + decode_workers * item.gpus
    link, pcie = item.accelerator.link, item.accelerator.host.pcie_one_way
    rate = min(network[0], math.inf if pcie is None else float(pcie))
    if link.one_way is not None and gpus <= link.domain:
        rate = float(link.one_way)
    return PrefillSide(prefill, row.prefill.workers, decode_workers, rate, network[1])


def held_sequences(item: Configuration, tokens: float) -> float:
    """Sequences of so many tokens that one replica holds."""
    specs, rows = PreparedSpecs([item]).specs(), np.zeros(1, dtype=np.intp)
    return float(max_sequences(specs, rows, memory_account(specs, rows).kv_cache_bytes, tokens)[0])
