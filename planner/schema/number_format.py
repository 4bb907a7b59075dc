"""Formats of weights and of the KV cache."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Literal, get_args

from pydantic import Field, PrivateAttr

from planner.schema.base import Exact, Noun, Share
from planner.schema.catalog_entry import CatalogEntry, Positive, Source

Part = Literal["attention", "dense", "head", "embedding"]
"""Parts that may be kept in another format than routed experts: attention and linear mixers; dense and shared
feed-forward parts; output head; input embedding."""

PARTS: tuple[Part, ...] = get_args(Part)


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


class QualityLoss(Noun):
    """What a publication says that a format costs in quality."""

    of: Literal["weights", "kv"] = "weights"
    tasks: str
    """Kind of task, and the models that were measured."""
    loss: Share
    """Of the score of the wider format, or added to its perplexity; the upper end of a published range."""
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
    kv_bits: Annotated[Exact, Field(gt=0)] | None = None
    """The same for values of the cache, where its scales are others."""
    nominal_bits: Positive
    """Bits of the value itself, compared with a minimum that the user asks for."""
    rate: Literal["bf16", "fp8", "int8", "fp4"]
    """The peak rate that multiplies it where the accelerator has that path natively; else the 16-bit rate."""
    by_default: bool
    """Tried when the problem does not name formats."""
    proposed: tuple[Literal["weights", "kv"], ...] = ("weights", "kv")
    """Pointed to where formats that nobody named are weighed, as weights and as cache."""
    kernels: str | None = None
    """Format whose kernels multiply it: its speeds hold where the calibration lists none of its own."""
    kernel_share: Share = Decimal(1)
    """Share of the rate of those kernels that it reaches."""
    endings: tuple[str, ...] = ()
    """How names of published checkpoints in this format end."""
    parts: dict[Part, str] = {}
    """Parts that a checkpoint keeps in another format: part -> format."""
    quality: tuple[QualityLoss, ...] = ()
    """Published losses of quality against 16 bit; none: no figure was published."""
    expert_multiple: Positive = 1
    """Expert matrices are padded along one side to a multiple of this."""
    sparse: StructuredSparsity | None = None
    """A 2:4 sparse format; `bits` then counts the zeros as stored values, with the indices of the others."""
    moe_attention_format: str | None = None
    """Format of the attention weights in mixture-of-experts checkpoints of this format, if another one."""
    source: Source
    _of_parts: dict[Part, NumberFormat] = PrivateAttr(default_factory=dict)

    def losses_of(self, side: Literal["weights", "kv"]) -> tuple[QualityLoss, ...]:
        """Published losses as weights or as cache."""
        return tuple(loss for loss in self.quality if loss.of == side)

    @property
    def cache_bits(self) -> Decimal:
        """Bits per cached value, scales included."""
        return self.bits if self.kv_bits is None else self.kv_bits

    @property
    def own_parts(self) -> Mapping[Part, NumberFormat]:
        """Formats of the parts that have one of their own."""
        return self._of_parts

    def part(self, name: Part) -> NumberFormat | None:
        """The format of a part that has one of its own."""
        return self._of_parts.get(name)

    def with_parts(self, formats: Mapping[Part, NumberFormat], name: str | None = None) -> NumberFormat:
        """The same with formats looked up for parts; under a name of its own where one is given."""
        update: dict[str, object] = {"parts": {part: form.id for part, form in formats.items()}}
        if name is not None:
            kernels = self.kernels or self.id
            update |= {"id": name, "name": name, "by_default": False, "proposed": (), "kernels": kernels}
        mixed = self.model_copy(update=update)
        mixed._of_parts = dict(formats)
        return mixed
