"""What the fit has measured, and how far predictions err near it and away from it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planner.schema.base import Noun
from planner.schema.catalog_entry import Positive, Source

Distance = Literal[
    "model", "family", "architecture", "gpu", "hardware", "engine", "format", "layout", "degree",
    "batch", "context", "disaggregated",
]  # fmt: skip
"""Names of distances from measured ground, see `planner.performance.distance`."""
Property = Literal["architecture", "engine", "format", "layout", "experts", "mode"]
"""What the errors of measured rows differ by."""
BEYOND_MEAN = "_beyond_mean"
"""Ends the names of what percentiles add to the spread of their means, in the calibration."""
KINDS_OF_PARALLELISM = (("attention_dp", "attention-DP"), ("ep", "EP"), ("pp", "pipeline"))
"""Degree -> word of layouts; tensor parallelism goes with all."""


class MeasuredGpu(Noun):
    """A GPU with rows in the fit, as it was when they were predicted."""

    architecture: str
    bandwidth_bytes_per_s: Annotated[float, Field(gt=0)]
    flops_per_s: Annotated[float, Field(gt=0)]
    """Dense 16-bit peak."""


class MeasuredSetup(Noun):
    """One serving mode models of which the fit has rows; degrees and loads are the largest of them."""

    gpu: str
    engine: str
    weights: str
    kv: str
    tp: Positive
    pp: Positive
    attention_dp: Positive
    ep: Positive
    rows: Positive
    batch: Annotated[float, Field(ge=1)]
    """Requests in flight in one replica."""
    context: Annotated[float, Field(gt=0)]
    """Tokens of a prompt with its answer."""
    disaggregated: bool = False
    """Prefill and decode on workers of their own."""
    models: Annotated[tuple[str, ...], Field(min_length=1)]


class Measured(Noun):
    """What the rows of the fit measured, without the rows."""

    gpus: dict[str, MeasuredGpu]
    setups: Annotated[tuple[MeasuredSetup, ...], Field(min_length=1)]
    source: Source


class SpreadModel(Noun):
    """Log-standard deviation of a prediction: ``base factors sqrt(1 + sum c_k x_k^2)``.

    With the factors of what it is (1 where unknown) and c_k the variance, in units of that of measured rows,
    that a distance of x_k adds.
    """

    base: dict[str, Annotated[float, Field(gt=0)]]
    """Number (``tpot``) -> log-standard deviation of a measured model on a measured GPU."""
    factors: dict[str, dict[Property, dict[str, Annotated[float, Field(gt=0)]]]]
    """Number -> property -> name -> factor."""
    distances: dict[str, dict[Distance, Annotated[float, Field(ge=0)]]]
    """Number -> c_k: what a distance of one adds."""
    source: Source
