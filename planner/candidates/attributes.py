"""What planning rules may ask of a configuration, as columns; and its name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from planner.schema.candidates import BoolArray, Column, IntArray
from planner.schema.configuration import Configuration


def attributes(
    items: Sequence[Configuration],
    link_gpus: Sequence[int],
    part_of_server: Sequence[bool],
    held: IntArray,
    fits_unit: BoolArray,
) -> dict[str, Column]:
    """One column for each of `planner.schema.rules.ATTRIBUTES`.

    Args:
        items: the configurations.
        link_gpus: GPUs that share the fast link, one entry a configuration.
        part_of_server: the instance is a part of a server, one entry a configuration.
        held: sequences that memory holds.
        fits_unit: some layout on one fast link holds the model where the configuration may be placed.
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
        "part_of_server": _flags(part_of_server),
        "spans_servers": _flags(item.spans_servers for item in items),
        "weights_format": _words(item.weights.id for item in items),
        "kv_format": _words(item.kv.id for item in items),
        "weights_bits": _numbers(item.weights.nominal_bits for item in items),
        "kv_bits": _numbers(item.kv.nominal_bits for item in items),
        "weights_native": _flags(weights_native(item) for item in items),
        "weights_supported": _flags(
            item.weights.id in known.weights for item, known in zip(items, supports, strict=True)
        ),
        "kv_supported": _flags(item.kv.id in known.kv for item, known in zip(items, supports, strict=True)),
        "vendor_supported": _flags(
            item.accelerator.vendor in known.vendors for item, known in zip(items, supports, strict=True)
        ),
        "attention_dp_supported": _flags(known.attention_dp for known in supports),
        "pipeline_supported": _flags(known.pipeline for known in supports),
        "smallest_tp_that_fits": _smallest_tp(items, held),
        "fits_one_node": fits_unit,
        "is_moe": _flags(item.model.moe_layers > 0 for item in items),
        "architecture": _words(item.accelerator.architecture for item in items),
        "engine": _words(item.engine.id for item in items),
    }


def weights_native(item: Configuration) -> bool:
    """The matrix units multiply this weight format directly; otherwise it is weight-only."""
    if item.weights.rate == "bf16":
        return item.weights.nominal_bits == 16
    return item.weights.rate in item.accelerator.compute.native


def unpacked(item: Configuration) -> str:
    """What happens to weights in a format that the matrix units do not take, in words."""
    return (
        f"{item.accelerator.id} has no units for {item.weights.id}; "
        "weights are unpacked and multiplied at the 16-bit rate"
    )


def configuration_name(item: Configuration) -> str:
    """Unique text of every choice of a configuration, the place left out."""
    parts = [item.accelerator.id, item.engine.id, f"{item.weights.id}+kv-{item.kv.id}", f"tp{item.tp}"]
    parts += [f"pp{item.pp}"] if item.pp > 1 else []
    parts += [f"dp{item.attention_dp}"] if item.attention_dp > 1 else []
    parts += [f"ep{item.ep}"] if item.ep > 1 else []
    parts += ["pcie"] if not item.fast_link else []
    parts += [f"across-servers-of-{item.node_gpus}"] if item.spans_servers else []
    return " ".join([*parts, f"chunk{item.batched_tokens}"])


def _smallest_tp(items: Sequence[Configuration], held: IntArray) -> IntArray:
    """Smallest tensor-parallel degree that holds a sequence, among equals in all but the degree."""
    kinds = [(item.accelerator.id, item.weights.id, item.kv.id, item.pp, item.attention_dp) for item in items]
    smallest: dict[tuple[str, str, str, int, int], int] = {}
    for item, kind, sequences in zip(items, kinds, held.tolist(), strict=True):
        if sequences > 0:
            smallest[kind] = min(item.tp, smallest.get(kind, item.tp))
    return _numbers(smallest.get(kind, item.tp) for item, kind in zip(items, kinds, strict=True))


def _measured(item: Configuration) -> bool:
    return any(row.gpus == item.tp for row in item.accelerator.link.measured_all_reduce)


def _numbers(items: Iterable[int]) -> IntArray:
    return np.array(list(items), dtype=np.int64)


def _flags(items: Iterable[bool]) -> BoolArray:
    return np.array(list(items), dtype=bool)


def _words(items: Iterable[str]) -> Column:
    return np.array(list(items), dtype=object)
