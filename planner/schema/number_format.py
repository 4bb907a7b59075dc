"""Formats of weights and of the KV cache."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planner.schema.base import Exact, Noun, Share
from planner.schema.catalog_entry import CatalogEntry, Positive, Source


class StructuredSparsity(Noun):
    """2:4 sparsity: of four weights in a row two are zero, and the matrix units skip them."""

    dense: str
    """The format of the weights that are not zero."""
    architectures: tuple[str, ...]
    """Accelerator architectures whose matrix units skip the zeros."""
    peak_ratio: Annotated[Exact, Field(ge=1)]
    """Peak rate over that of the dense format."""
    reach: Share
    """Share of its own peak that large products reach, over the share that dense ones reach of theirs."""
    source: Source


class NumberFormat(CatalogEntry):
    """A format of weights or of the KV cache."""

    kind: Literal["format"] = "format"
    weights: bool
    """May store weights."""
    kv: bool
    """May store the KV cache."""
    bits: Annotated[Exact, Field(gt=0)]
    """Bits per value, scales included."""
    nominal_bits: Positive
    """Bits of the value itself, compared with a minimum that the user asks for."""
    rate: Literal["bf16", "fp8", "int8", "fp4"]
    """The peak rate that multiplies it where the accelerator has that path natively; else the 16-bit rate."""
    by_default: bool
    """Tried when the problem does not name formats."""
    expert_multiple: Positive = 1
    """Expert matrices are padded along one side to a multiple of this."""
    sparse: StructuredSparsity | None = None
    """A 2:4 sparse format; `bits` then counts the zeros as stored values, with the indices of the others."""
    moe_attention_format: str | None = None
    """Format of the attention weights in mixture-of-experts checkpoints of this format, if another one."""
    source: Source
