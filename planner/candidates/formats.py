"""Which number formats to try for the weights and the KV cache of a workload."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from planner.schema.candidates import AllowedFormat
from planner.schema.catalog import Model, NumberFormat

_SMALLEST_DEFAULT_BITS = 8


def weight_formats(
    named: tuple[str, ...] | None,
    model: Model,
    formats: Iterable[NumberFormat],
    find: Callable[[str], NumberFormat | None],
    everything: bool,
) -> tuple[AllowedFormat, ...]:
    """Weight formats to try.

    Named ones when the problem names them. By default the checkpoint's own format, and narrower ones
    down to 8 bits; 4-bit formats only when named or when the checkpoint is published in one.

    Args:
        named: from the problem.
        model: with the format of its checkpoint.
        formats: of the catalog.
        find: format by id or alias.
        everything: also list the formats that are not allowed, marked so (to explain infeasibility).
    """
    stored = [item for item in formats if item.weights]
    native = find(model.native_format)
    wanted = [find(name) for name in named or (model.native_format,)]
    known = {item.id for item in stored}
    stored += [item for item in wanted if item is not None and item.parts and item.id not in known]
    if named is not None:
        allowed = {item.id for item in wanted if item is not None}
    else:
        ceiling = native.nominal_bits if native else 16
        allowed = {
            item.id
            for item in stored
            if item.by_default and _SMALLEST_DEFAULT_BITS <= item.nominal_bits <= ceiling
        }
        allowed |= {native.id} if native else set()
    return _marked(stored, allowed, everything and "weights")


def kv_formats(
    named: tuple[str, ...] | None,
    formats: Iterable[NumberFormat],
    find: Callable[[str], NumberFormat | None],
    everything: bool,
) -> tuple[AllowedFormat, ...]:
    """KV formats to try: the named ones, by default 16 and 8 bits.

    Args:
        named: from the problem.
        formats: of the catalog.
        find: format by id or alias.
        everything: also list the formats that are not allowed, marked so (to explain infeasibility).
    """
    stored = [item for item in formats if item.kv]
    if named is not None:
        allowed = {item.id for name in named if (item := find(name)) is not None}
    else:
        allowed = {
            item.id for item in stored if item.by_default and item.nominal_bits >= _SMALLEST_DEFAULT_BITS
        }
    return _marked(stored, allowed, everything and "kv")


def _marked(
    formats: list[NumberFormat], allowed: set[str], proposed: Literal["weights", "kv", False]
) -> tuple[AllowedFormat, ...]:
    ordered = sorted(formats, key=lambda item: (-item.bits, item.id))
    return tuple(
        AllowedFormat(item, item.id in allowed)
        for item in ordered
        # Whether a model may be made sparse is for the user to say: nobody is pointed to it.
        if item.id in allowed or (proposed and proposed in item.proposed and item.sparse is None)
    )
