"""Candidates as prefill or decode workers: what planning rules see of them, and which are worth trying."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.schema.candidates import BoolArray, Column
from planner.schema.choice import Role
from planner.schema.configuration import Configuration


def role_attributes(items: Sequence[Configuration], role: Role) -> dict[str, Column]:
    """The columns that depend on the role."""
    return {
        "role": np.full(len(items), role, dtype=object),
        "kv_transfer_supported": np.array([_transfers_kv(item, role) for item in items], dtype=bool),
    }


def kv_class(item: Configuration) -> str:
    """What both sides of a KV transfer have in common: format, engine with its block layout, vendor.

    The 8-bit formats of two vendors differ in their encoding, and no engine converts them.
    """
    return f"{item.kv.id} of {item.engine.id} on {item.accelerator.vendor}"


def worth_trying(items: Sequence[Configuration], role: Role) -> BoolArray:
    """Candidates that differ from others in something that matters to a role.

    Prefill workers draft nothing. Decode workers compute no prompts, so of prefill chunks only the smallest
    counts, which leaves most memory.
    """
    if role == "prefill":
        plain = np.array([item.drafting is None for item in items], dtype=bool)
        return plain if plain.any() else np.ones(len(items), dtype=bool)
    smallest = min((item.batched_tokens for item in items), default=0)
    return np.array([item.batched_tokens == smallest for item in items], dtype=bool)


def _transfers_kv(item: Configuration, role: Role) -> bool:
    known = item.engine.kv_transfer
    if known is None or item.accelerator.vendor not in known.vendors:
        return False
    stages = known.prefill_stages if role == "prefill" else known.decode_stages
    return item.pp == 1 or stages or role == "serve"
