"""Length distributions of prompts and answers."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from planner.numbers import tokens_of
from planner.schema.base import Exact, Noun, Part, refused
from planner.schema.traces import TraceNamed

Tokens = Annotated[int, BeforeValidator(tokens_of), Field(ge=1, le=100_000_000, strict=True)]
"""A whole number, or thousands of 1,024 as ``8k``; in the lengths of workloads also ``800 words``,
``2k German words`` or ``500 Chinese characters``."""


class LengthSide(Noun):
    """Tokens of one side: a fixed number, or percentiles that never fall."""

    fixed: Tokens | None = None
    p50: Tokens | None = None
    p90: Tokens | None = None
    p95: Tokens | None = None
    p99: Tokens | None = None

    @model_validator(mode="after")
    def _one_form(self) -> LengthSide:
        given = [value for value in (self.p50, self.p90, self.p95, self.p99) if value is not None]
        if (self.fixed is None) == (not given):
            raise refused("both or neither", "either {fixed: N} or percentiles {p50, p90, p95, p99}")
        if given and self.p50 is None:
            raise refused("percentiles without p50", "p50, and any of p90, p95, p99")
        if given != sorted(given):
            raise refused(f"percentiles {given}", "percentiles that never fall from p50 to p99")
        return self

    @property
    def middle(self) -> int:
        """The fixed number, or the median."""
        value = self.fixed if self.p50 is None else self.p50
        assert value is not None, "one of the two forms is given"
        return value


class LengthBucket(Noun):
    """A class of requests with its share."""

    name: str
    share: Annotated[Part, Field(gt=0)]
    input: Tokens
    output: Tokens


def _whole(buckets: tuple[LengthBucket, ...]) -> tuple[LengthBucket, ...]:
    total = sum((bucket.share for bucket in buckets), Decimal(0))
    if abs(total - 1) > Decimal("1e-6"):
        raise refused(f"shares that sum to {total}", "shares of the buckets that sum to 1")
    names = [bucket.name for bucket in buckets]
    if len(set(names)) != len(names):
        raise refused("bucket names that repeat", "bucket names that differ")
    return buckets


class SaidLength(Noun):
    """A length in words or characters, and what it was taken for."""

    side: Literal["input", "output"]
    key: Literal["fixed", "p50", "p90", "p95", "p99"]
    text: str
    tokens: Tokens
    tokens_each: Annotated[Exact, Field(gt=0)]


class Lengths(Noun):
    """Prompt and answer lengths: two sides, a trace, or buckets."""

    input: LengthSide | None = None
    output: LengthSide | None = None
    trace: TraceNamed | None = None
    """File with token counts, relative to the problem file, or the file with the names of its columns."""
    buckets: Annotated[tuple[LengthBucket, ...], AfterValidator(_whole)] | None = None
    said: tuple[SaidLength, ...] | None = None
    """Lengths that were stated in words or characters; written by the program."""

    @model_validator(mode="after")
    def _one_form(self) -> Lengths:
        sides = self.input is not None or self.output is not None
        forms = [sides, self.trace is not None, self.buckets is not None]
        if sum(forms) != 1:
            raise refused(f"{sum(forms)} forms", "one of: input and output, trace, buckets")
        if sides and (self.input is None or self.output is None):
            raise refused("one side", "both input and output")
        return self
