"""What the search of a problem may choose from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planner.schema.base import Noun
from planner.schema.stated import Positive

Mode = Literal["aggregated", "disaggregated"]


class Search(Noun):
    """What the search may choose from; absent lists mean everything that can run."""

    modes: Annotated[tuple[Mode, ...], Field(min_length=1)] = ("aggregated", "disaggregated")
    """Serving modes: prefill and decode aggregated, or disaggregated; each workload takes the better one."""
    tp: tuple[Positive, ...] | None = None
    """Tensor-parallel degrees. Default: all that can run."""
    pp: tuple[Positive, ...] | None = None
    """Pipeline stages. Default: all that can run."""
    ep: tuple[Positive, ...] | None = None
    """Expert-parallel degrees: ranks of whole experts. Default: experts cut over all GPUs of a stage (1), or
    whole ones spread over them."""
    attention_dp: tuple[Positive, ...] | None = None
    """Attention-data-parallel ranks. Default: all that can run."""
    wide_ep: bool | None = None
    """Also spread the experts of one replica over several whole servers, up to 256 GPUs in one stage: whole
    experts on every GPU, no copy of the attention across two servers. Default: where fleet.network is
    stated. Planning rules refuse it below 25 GB/s a GPU."""
    max_batch: tuple[Positive, ...] | None = None
    """Batch caps; the largest that fits memory is the ceiling."""
    batched_tokens: tuple[Positive, ...] | None = None
    """Chunk of chunked prefill; default: the engine's."""
    mix: bool = True
    """Several options for one workload; false: one option per workload and role, in all hours."""
    length_classes: Literal["one", "stated", "auto"] | Annotated[int, Field(ge=1, le=20, strict=True)] = "one"
    """Classes of prompts that may go to different pools: none, the buckets that ``lengths`` states, as many
    as pay for an error of at most 1 % of the cost, or so many of equal work."""
    rules_off: tuple[str, ...] = ()
    """Planning rules to switch off, by id."""
