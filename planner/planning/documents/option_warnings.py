"""What to mind about the options that a plan takes: drafts, overflow, bubbles, artifacts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from planner import numbers
from planner.physics import moe, parallelism
from planner.schema.configuration import Configuration
from planner.schema.pool import Pool
from planner.schema.traffic import Traffic
from planner.steptime.quality import cache_losses, weights_losses


def option_remarks(
    pool: Pool, item: Configuration, traffic: Traffic, network_is_stated: bool
) -> Iterator[str]:
    """Sentences about one pool."""
    if item.engine.limits.batching == "static":
        yield (
            f"{pool.id}: batches run to their longest answer, every slot holds the longest request, and no "
            "prefix is used again; to compare with, not to run"
        )
    yield from (f"{pool.id}: {text}" for text in _quality(item))
    if item.spans_servers:
        who = "stages" if item.pp > 1 else "experts" if item.ep > 1 else "GPUs"
        how = "; each token is sent to the GPUs of its experts alone (DeepEP)" if who == "experts" else ""
        assumed = "" if network_is_stated else _assumed(item)
        yield f"{pool.id}: a replica spans servers; its {who} talk over fleet.network{assumed}{how}"
    if item.pp > 1:
        yield f"{pool.id}: {_bubbles(item, traffic)}"
    if item.ep > 1 and item.experts.capacity_ratio is not None:
        yield from (f"{pool.id}: {text}" for text in _overflow(item))
    if item.drafting is not None:
        accepted = f"{item.drafting.acceptance_fraction * 100:.0f} %"
        yield (
            f"{pool.id}: tokens come in groups of {_emitted(pool):.2g} on average, and percentiles of ITL "
            f"are gaps between groups; measure whether {accepted} of drafts are accepted: all rests on it"
        )


def _quality(item: Configuration) -> Iterator[str]:
    """Published losses of the formats in use, the largest of each side with its kind of task."""
    for side, form, losses in (
        ("weights", item.weights, weights_losses(item.model, item.weights)),
        ("KV cache", item.kv, cache_losses(item.kv)),
    ):
        if losses is None:
            yield f"{side} in {form.name}: no published figure of what that costs in quality; measure it"
            continue
        worst = max(losses, key=lambda one: one.loss, default=None)
        if worst is not None and worst.loss > 0:
            lost = numbers.share(float(worst.loss))
            yield f"{side} in {form.name}: up to {lost} of quality lost by what is published ({worst.tasks})"


def _assumed(item: Configuration) -> str:
    rate = item.network_bytes_per_s / 1e9
    return f", which is not stated: {rate:.0f} GB/s a GPU is assumed, the rate of a cluster fabric"


def _emitted(pool: Pool) -> float:
    return pool.speculation.tokens_per_step if pool.speculation else 1.0


def _bubbles(item: Configuration, traffic: Traffic) -> str:
    chunks = max(math.ceil(traffic.prefill_mean_tokens / item.batched_tokens), 1)
    share = float(parallelism.bubble_fraction(float(item.pp), float(chunks)))
    pieces = "1 chunk" if chunks == 1 else f"{chunks} chunks"
    return (
        f"a prompt alone ({pieces}) leaves {share * 100:.0f} % of the time of its {item.pp} stages idle; "
        f"{item.pp} prompts or sequences at once fill them"
    )


def _overflow(item: Configuration) -> Iterator[str]:
    capacity, imbalance = item.experts.capacity_ratio, item.experts.imbalance_ratio
    assert capacity is not None
    if imbalance is None:
        yield f"experts take {capacity:g} times the mean; with experts.imbalance the overflow can be stated"
        return
    share = float(moe.overflow_fraction(imbalance, capacity))
    if share > 0.0:
        yield (
            f"experts take {capacity:g} times the mean and the hottest GPU is asked for {imbalance:g} times: "
            f"{share * 100:.2g} % of its tokens overflow, {share * imbalance / item.ep * 100:.2g} % of all; "
            "answers degrade without an error"
        )


def artifacts(pools: Sequence[Pool], items: Sequence[Configuration]) -> Iterator[str]:
    """Which quantized weights to build, where the accelerators of one model are of several generations."""
    by_model: dict[str, dict[str, set[str]]] = {}
    for pool, item in zip(pools, items, strict=True):
        formats = by_model.setdefault(pool.model, {})
        formats.setdefault(item.accelerator.architecture, set()).add(item.weights.id)
    for model, formats in by_model.items():
        names = {name for found in formats.values() for name in found}
        if len(formats) > 1 and names != {"bf16"}:
            parts = ", ".join(
                f"{' and '.join(sorted(found))} for {where}" for where, found in formats.items()
            )
            yield f"{model}: quantize and validate the weights for each GPU generation: {parts}"
