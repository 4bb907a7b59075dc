"""What planning rules may ask of a configuration, as columns; and its name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from planner import numbers
from planner.candidates.roles import role_attributes
from planner.schema.candidates import BoolArray, Column, IntArray
from planner.schema.configuration import Configuration
from planner.steptime.rates import skips_zeros

PART_OF_SERVER = "part_of_server"
_MEGA = 1e6


def attributes(
    items: Sequence[Configuration],
    link_gpus: Sequence[int],
    part_of_server: BoolArray,
    held: IntArray,
    fits_unit: BoolArray,
    evicts: bool = False,
    caches: bool = False,
) -> dict[str, Column]:
    """One column for each of `planner.schema.rules.ATTRIBUTES`.

    Args:
        items: the configurations.
        link_gpus: GPUs that share the fast link, one entry a configuration.
        part_of_server: every instance that it may be placed on is a part of a server, one entry a
            configuration.
        held: sequences that memory holds.
        fits_unit: some layout on one fast link holds the model where the configuration may be placed.
        evicts: the problem has tokens dropped from the KV of running requests.
        caches: a prefix cache is part of every configuration.
    """
    supports = [item.engine.supports for item in items]
    return {
        "tp": _numbers(item.tp for item in items),
        "pp": _numbers(item.pp for item in items),
        "ep": _numbers(item.ep for item in items),
        "attention_dp": _numbers(item.attention_dp for item in items),
        "gpus_per_replica": _numbers(item.gpus for item in items),
        "node_gpus": _numbers(item.node_gpus for item in items),
        "link_kind": _words(item.accelerator.link.kind for item in items),
        "link_domain_gpus": _numbers(link_gpus),
        "fast_link": _flags(item.fast_link or item.tp * item.attention_dp == 1 for item in items),
        "measured_all_reduce": _flags(_measured(item) for item in items),
        PART_OF_SERVER: part_of_server,
        "spans_servers": _flags(item.spans_servers for item in items),
        "weights_format": _words(item.weights.id for item in items),
        "kv_format": _words(item.kv.id for item in items),
        "weights_bits": _numbers(item.weights.nominal_bits for item in items),
        "kv_bits": _numbers(item.kv.nominal_bits for item in items),
        "weights_native": _flags(weights_native(item) for item in items),
        "weights_supported": _flags(
            known.loads(item.weights, item.accelerator.architecture)
            for item, known in zip(items, supports, strict=True)
        ),
        "kv_supported": _flags(
            known.keeps(item.kv, item.accelerator.architecture)
            for item, known in zip(items, supports, strict=True)
        ),
        "vendor_supported": _flags(
            item.accelerator.vendor in known.vendors and item.accelerator.architecture not in known.without
            for item, known in zip(items, supports, strict=True)
        ),
        "attention_dp_supported": _flags(known.attention_dp for known in supports),
        "pipeline_supported": _flags(known.pipeline for known in supports),
        "smallest_tp_that_fits": _smallest_tp(items, held),
        "fits_one_node": fits_unit,
        "token_eviction": np.full(len(items), evicts, dtype=bool),
        "prefix_cache": np.full(len(items), caches, dtype=bool),
        "kv_offload": _words("none" for _ in items),
        "kv_offload_supported": np.ones(len(items), dtype=bool),
        "waits_limited": np.zeros(len(items), dtype=bool),
        "weights_sparse": _flags(item.weights.sparse is not None for item in items),
        "skips_zeros": _flags(skips_zeros(item.accelerator, item.weights) for item in items),
        "network_mb_per_s": _numbers(int(item.network_bytes_per_s / _MEGA) for item in items),
        "adapters": _numbers(item.adapters.active if item.adapters else 0 for item in items),
        "adapters_supported": _flags(known.lora for known in supports),
        **role_attributes(items, "serve"),
        "is_moe": _flags(item.model.moe_layers > 0 for item in items),
        "architecture": _words(item.accelerator.architecture for item in items),
        "engine": _words(item.engine.id for item in items),
        **_drafts(items),
        **_experts(items),
    }


def _drafts(items: Sequence[Configuration]) -> dict[str, Column]:
    """Speculative decoding; where nothing is drafted no rule finds anything."""
    drafts = [item.drafting for item in items]
    if not any(drafts):
        size = len(items)
        return {
            "draft_kind": np.full(size, "none", dtype=object),
            "draft_tokens": np.zeros(size, dtype=np.int64),
            "draft_acceptance_percent": np.full(size, 100, dtype=np.int64),
            "draft_vocabulary_matches": np.ones(size, dtype=bool),
            "speculation_supported": np.ones(size, dtype=bool),
        }
    return {
        "draft_kind": _words(draft.kind if draft else "none" for draft in drafts),
        "draft_tokens": _numbers(draft.tokens if draft else 0 for draft in drafts),
        "draft_acceptance_percent": _numbers(
            round(100 * draft.acceptance_fraction) if draft else 100 for draft in drafts
        ),
        "draft_vocabulary_matches": _flags(draft is None or draft.same_vocabulary for draft in drafts),
        "speculation_supported": _flags(
            draft is None or draft.kind in item.engine.supports.speculation
            for item, draft in zip(items, drafts, strict=True)
        ),
    }


def _experts(items: Sequence[Configuration]) -> dict[str, Column]:
    """Load and room of spread experts, in percent of the mean; 0 where the problem does not state it."""
    return {
        "expert_imbalance_percent": _numbers(_percent(item.experts.imbalance_ratio) for item in items),
        "expert_capacity_percent": _numbers(_percent(item.experts.capacity_ratio) for item in items),
    }


def weights_native(item: Configuration) -> bool:
    """The matrix units multiply this weight format directly; otherwise it is weight-only."""
    if item.weights.sparse is not None:
        return skips_zeros(item.accelerator, item.weights)
    if item.weights.rate == "bf16":
        return item.weights.nominal_bits == 16
    return item.weights.rate in item.accelerator.compute.native


def unpacked(item: Configuration) -> str:
    """What happens to weights in a format that the matrix units do not take, in words."""
    return (
        f"{item.accelerator.id} has no units for {item.weights.id}; "
        "weights are unpacked and multiplied at the 16-bit rate"
    )


def shared_memory(item: Configuration, host_bytes: float, free_bytes: float, offloads: bool) -> Iterator[str]:
    """What it means that CPU and GPU share the memory, in words; nothing where they do not.

    Args:
        item: the configuration.
        host_bytes: that the host takes while weights are loaded.
        free_bytes: that the GPU's parts leave.
        offloads: KV is kept in the memory of the host.
    """
    if item.accelerator.memory.unified:
        kept = "; KV that is offloaded to the host saves nothing" if offloads else ""
        taken, left = numbers.size(host_bytes), numbers.size(max(free_bytes, 0.0))
        yield (
            f"{item.accelerator.id}: CPU and GPU share the memory; the host ({taken} while loading) and its "
            f"operating system have the {left} that are left{kept}"
        )


def configuration_name(item: Configuration) -> str:
    """Unique text of every choice of a configuration, the place left out."""
    parts = [item.accelerator.id, item.engine.id, f"{item.weights.id}+kv-{item.kv.id}", f"tp{item.tp}"]
    parts += [f"pp{item.pp}"] if item.pp > 1 else []
    parts += [f"dp{item.attention_dp}"] if item.attention_dp > 1 else []
    parts += [f"ep{item.ep}"] if item.ep > 1 else []
    parts += ["pcie"] if not item.fast_link else []
    parts += [f"across-servers-of-{item.node_gpus}"] if item.spans_servers else []
    parts += [f"{item.drafting.kind}-{item.drafting.tokens}"] if item.drafting else []
    return " ".join([*parts, f"chunk{item.batched_tokens}"])


def _smallest_tp(items: Sequence[Configuration], held: IntArray) -> IntArray:
    """Smallest tensor-parallel degree that holds a sequence, among equals in all but the degree."""
    kinds = [(item.accelerator.id, item.weights.id, item.kv.id, item.pp, item.attention_dp) for item in items]
    smallest: dict[tuple[str, str, str, int, int], int] = {}
    for item, kind, sequences in zip(items, kinds, held.tolist(), strict=True):
        if sequences > 0:
            smallest[kind] = min(item.tp, smallest.get(kind, item.tp))
    return _numbers(smallest.get(kind, item.tp) for item, kind in zip(items, kinds, strict=True))


def _percent(ratio: float | None) -> int:
    return 0 if ratio is None else round(100 * ratio)


def _measured(item: Configuration) -> bool:
    return any(row.gpus == item.tp for row in item.accelerator.link.measured_all_reduce)


def _numbers(items: Iterable[int]) -> IntArray:
    return np.array(list(items), dtype=np.int64)


def _flags(items: Iterable[bool]) -> BoolArray:
    return np.array(list(items), dtype=bool)


def _words(items: Iterable[str]) -> Column:
    return np.array(list(items), dtype=object)
