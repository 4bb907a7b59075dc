"""Options that a workload may allow its replicas: drafts that are verified, and how experts are used."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from planner.schema.base import Exact, Noun, Share, refused

DraftKind = Literal["draft-model", "ngram", "eagle"]
DraftTokens = Annotated[int, Field(ge=1, le=32, strict=True)]


class Speculation(Noun):
    """Speculative decoding: drafts that the model verifies several at a time.

    The search also tries without it, and takes what carries more. Tokens then come in groups, one group a
    step: TPOT and the mean of ITL count tokens, percentiles of ITL are gaps between groups.
    """

    kind: DraftKind
    """A smaller model beside the large one, n-grams of the text so far (no memory), or an EAGLE-style head:
    about one layer more."""
    acceptance: Annotated[Share, Field(gt=0)]
    """Share of drafts that the model accepts, each given that the one before it was; measure it."""
    tokens: Annotated[tuple[DraftTokens, ...], Field(min_length=1)] = (2, 3, 4)
    """Drafts per step to try."""
    draft: str | None = None
    """The smaller model, as `model`; only for `kind: draft-model`."""
    weights: str | None = None
    """Format of the smaller model's weights; default: its checkpoint's."""

    @model_validator(mode="after")
    def _model_where_there_is_one(self) -> Speculation:
        if self.kind == "draft-model" and self.draft is None:
            raise refused("draft-model without draft", "draft: the smaller model")
        if self.kind != "draft-model" and (self.draft is not None or self.weights is not None):
            raise refused(f"draft or weights with kind {self.kind}", "them with kind draft-model only")
        return self


class DraftsTaken(Noun):
    """Speculative decoding as a plan takes it."""

    kind: DraftKind
    tokens: int
    """Drafts per step."""
    acceptance: float
    """Share of drafts that the plan takes to be accepted."""
    tokens_per_step: float
    """Tokens that a step emits per sequence on average."""
    draft: str | None = None
    """The smaller model."""
    weights: str | None = None
    """Format of the weights of what drafts."""


class Experts(Noun):
    """How a mixture of experts is used where whole experts are spread over GPUs."""

    imbalance: Annotated[Exact, Field(ge=1, le=1000)] | None = None
    """Tokens on the GPU with the hottest experts over the mean: every layer waits for it. Measure it;
    default: the calibration's."""
    capacity_factor: Annotated[Exact, Field(gt=0, le=1000)] | None = None
    """Tokens that an expert accepts over the mean. Buffers and exchange are padded to it; what is above it
    overflows to other experts or is dropped."""

    @model_validator(mode="after")
    def _not_empty(self) -> Experts:
        if self.imbalance is None and self.capacity_factor is None:
            raise refused("neither key", "imbalance, capacity_factor or both")
        return self
