"""Numbers of the performance model and of judgment: values with bounds and sources."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from planner.errors import nearest
from planner.schema.base import Noun
from planner.schema.catalog_entry import CatalogEntry, Count, Positive, Source
from planner.schema.spread import Measured, SpreadModel

ANY_FORMAT = "default"
"""Key of `compute_efficiency` for the formats that an architecture does not list."""
ENGINE_PARAMETERS = (
    "step_overhead_s",
    "sequence_overhead_s",
    "closed_loop_ttft_factor",
    "closed_loop_clumping",
    "closed_loop_together",
)
"""Numbers that every engine needs; others (`ttft_overhead_s`, `layer_dispatch_s`) only where they differ."""


class Parameter(Noun):
    """One fitted or assumed number of the performance model."""

    value: float
    unit: str
    low: float
    high: float
    meaning: str
    source: Source
    prior: float | None = None
    """What is expected without the fit, from microbenchmarks or judgment."""
    prior_log_sigma: Annotated[float, Field(gt=0)] | None = None
    """How far the logarithm may stray from the prior's; absent where the number is not fitted."""
    tied_to: str | None = None
    """Another number of the file, ``group.key`` or ``group.key.key``, that this one always equals."""

    @model_validator(mode="after")
    def _within_bounds(self) -> Parameter:
        if not self.low <= self.value <= self.high:
            raise PydanticCustomError(
                "range",
                "value outside its own bounds",
                {"found": str(self.value), "expected": f"a value in [{self.low}, {self.high}]", "maybe": ""},
            )
        return self


class UserFactor(Noun):
    """What benchmarks of one's own say about one configuration, as factors on its predictions.

    They hold for every layout, batch and length: the error of a model on an accelerator is mostly common.
    """

    model: str
    """Id of the catalog, or of a model read from a config.json."""
    accelerator: str
    engine: str
    weights: str | None = None
    """Format; absent = every format without an entry of its own."""
    step_factor: Annotated[float, Field(ge=0.05, le=20)]
    """Measured over predicted step time, shrunk towards 1."""
    ttft_factor: Annotated[float, Field(ge=0.05, le=20)] = 1.0
    """The same for time to first token, beyond what slower steps explain."""
    sigma_log: Annotated[float, Field(gt=0, le=2)]
    """Log-standard deviation of step times that use the factor."""
    ttft_sigma_log: Annotated[float, Field(gt=0, le=2)]
    rows: Positive
    """Runs behind the step factor."""
    ttft_rows: Count = 0
    """Runs behind the TTFT factor; with fewer than two it is 1."""
    source: Source


class UserFactors(CatalogEntry):
    """Factors from benchmarks of one's own; an overlay adds them, the calibration stays as it is."""

    kind: Literal["user-factors"] = "user-factors"
    factors: Annotated[tuple[UserFactor, ...], Field(min_length=1)]


class FitError(Noun):
    """Errors of one number over rows of one class: predicted over measured, less one."""

    rows: Count
    bias: float
    """Of the median row."""
    median: float
    mean: float
    p90: float


class OperatorError(Noun):
    """Errors of one measured operator, on an architecture and in a format, over shapes not fitted."""

    architecture: str
    operator: str
    rows: Count
    bias: float
    """Of the median row."""
    median: float
    p90: float
    gpu_left_out: float | None = None
    """Median on accelerators whose rows were left out; absent where the architecture has one alone."""


class IntervalCount(Noun):
    """Left-out rows of a class, and the shares of them inside their intervals of 80 %."""

    rows: Count
    inside: float
    others: float
    """With a spread that was fitted to other pairs only."""


class FitRecord(Noun):
    """What a fit saw, and how well it does: in the fit, and with parts of the rows left out."""

    rows: Count
    """Numbers of rows that were fitted."""
    fitted: Count
    """Numbers of the calibration that were fitted."""
    errors: dict[str, dict[str, FitError]]
    """``fit`` or what was left out one at a time -> number and class -> errors."""
    operators: tuple[OperatorError, ...] = ()
    """Of measured operators, where their tables were there."""
    coverage: dict[str, float] = {}
    """Share of left-out rows inside the interval of 80 %, by number; its sigma saw other pairs only."""
    intervals: dict[str, IntervalCount] = {}
    """The same by number and class with the spread of the calibration; classes of thirty rows and more."""


def _check_operator(path: str, name: str, value: float) -> None:
    low, high = OPERATOR_BOUNDS.get(name, (0.0, -1.0))
    if not low <= value <= high:
        known = f"a value in [{low:g}, {high:g}]" if low <= high else f"one of {', '.join(OPERATOR_BOUNDS)}"
        hint = "" if low <= high else nearest(name, tuple(OPERATOR_BOUNDS))
        found = {"found": f"{path}: {value:g}", "expected": known, "maybe": hint}
        raise PydanticCustomError("range", "number of an operator outside its bounds", found)


OPERATOR_BOUNDS: dict[str, tuple[float, float]] = {
    "start_us": (0.3, 60.0),
    "compute_fraction": (0.01, 1.2),
    "memory_fraction": (0.05, 1.3),
    "overlap_exponent": (1.0, 10.0),
    "context_start_us": (0.0, 5.0),
    "sequence_us": (0.0, 1.0),
    "half_context_tokens": (0.0, 4000.0),
    "head_64": (0.2, 2.0),
    "head_256": (0.2, 2.0),
    "ceiling_tflops": (10.0, 1e5),
    "near_mib": (1.0, 1000.0),
    "near_ratio": (1.0, 10.0),
    "scaling_passes": (0.05, 5.0),
    "routing_share": (0.2, 1.0),
    "row_passes": (0.0, 60.0),
    "link_fraction": (0.02, 1.2),
    "direct_fraction": (0.02, 1.2),
    "second_us": (0.0, 60.0),
    "rank_us": (0.0, 20.0),
    "doubling_us": (0.0, 20.0),
    "rank_exponent": (0.0, 4.0),
    "one_way_gb_per_s": (1.0, 10_000.0),
    "least_watts_per_tflops": (0.01, 100.0),
    "most_watts_per_tflops": (0.01, 100.0),
}
"""Numbers of operators, and what they may be. In this order:

- time of a launch that does next to nothing (an engine's own after a ``/``: ``start_us/vllm``);
- shares of the dense peak and of the memory bandwidth that the operator reaches;
- p of the roofline (`planner.physics.roofline`);
- what each doubling of the context beyond 256 tokens, and each sequence, adds to the launch;
- tokens that the mean context of prefill attention counts more, for its tiles;
- reachable share with heads of 64 and of 256 values over that with 128;
- rate above which more peak does not help;
- size of the cache in which a table that repeats one shape finds it again, and its rate over that of memory;
- passes over the inputs that scale them to a narrow format, beside the product;
- kappa: tokens that choose experts evenly and touch as many as one token of real routing does;
- passes of experts over the hidden states of their rows;
- shares of the rate one way that an all-reduce reaches in two steps, and where each rank sends all at once;
- what the second step, each rank beyond two, and each doubling of these adds to its launch;
- exponent with which these shares fall with the ranks that share what connects them;
- rate one way of PCIe where that was measured: hosts of other rates have other shares;
- board power over the dense 16-bit peak where products were measured, the least and the most: boards with
  less power hold lower clocks."""


class Calibration(CatalogEntry):
    """The numbers of the performance model: fitted values with bounds and sources."""

    kind: Literal["calibration"] = "calibration"
    parameters: dict[str, Parameter]
    compute_efficiency: dict[str, dict[str, Parameter]] = {}
    """Share of the dense peak that large matrix products reach: architecture -> weight format.
    ``-block`` after a format: weights with a scale a block."""
    operators: dict[str, dict[str, dict[str, float]]] = {}
    """Measured operators: architecture (with the major number of its compute capability where that has other
    kernels: ``blackwell-12``) -> operator and format (``gemm.fp8``) -> name of `OPERATOR_BOUNDS` -> number.
    Source: ``operators`` of the file."""
    architectures: dict[str, dict[str, Parameter]] = {}
    """Factors of an accelerator architecture on parameters of all: architecture -> name; 1 where absent."""
    engines: dict[str, dict[str, Parameter]] = {}
    """Overheads per engine."""
    sigma_log: dict[str, Parameter] = {}
    """Log-standard deviation of predictions: over all rows, and of percentiles."""
    spread: SpreadModel | None = None
    """Log-standard deviation by configuration and distance from what was measured; absent: that of all."""
    measured: Measured | None = None
    """What the fit has rows of."""
    known: dict[str, tuple[str, ...]] = {}
    """Architecture -> families of models with measured rows on it."""

    user_factors: tuple[UserFactor, ...] = ()
    """Of one's own benchmarks; the first that matches a configuration holds."""

    fit: FitRecord | None = None
    """How the numbers were found; absent where nobody fitted them together."""

    @field_validator("operators")
    @classmethod
    def _operators_within_bounds(
        cls, tables: dict[str, dict[str, dict[str, float]]]
    ) -> dict[str, dict[str, dict[str, float]]]:
        for architecture, operators in tables.items():
            for operator, numbers in operators.items():
                for name, value in numbers.items():
                    _check_operator(f"{architecture}.{operator}.{name}", name.split("/")[0], value)
        return tables

    def knows(self, family: str, architecture: str) -> bool:
        """Whether rows of this family on this architecture are in the fit."""
        return family in self.known.get(architecture, ())


class Judgment(CatalogEntry):
    """Numbers of judgment that planning uses; not fitted."""

    kind: Literal["judgment"] = "judgment"
    parameters: dict[str, Parameter]
