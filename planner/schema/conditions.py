"""Conditions over observed metrics, as data: comparisons joined by all, any and not. No text is evaluated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from planner.errors import nearest
from planner.schema.base import Exact, Noun
from planner.schema.metrics import METRICS, UNLIMITED, Metric, MetricKind

Operator = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not-in"]
Operand = (
    Annotated[bool, Field(strict=True)] | Annotated[int, Field(strict=True)] | Decimal | str | tuple[str, ...]
)

OPERATORS: Mapping[MetricKind, tuple[Operator, ...]] = {
    "number": ("==", "!=", "<", "<=", ">", ">="),
    "limit": ("==", "!=", "<", "<=", ">", ">="),
    "flag": ("==", "!="),
    "name": ("==", "!=", "in", "not-in"),
}
BARE_NUMBERS = (0, 1)
"""None, and one alone (or all, of a share): no judgment. Other numbers are thresholds with sources."""


class Reference(Noun):
    """Where a rule or a threshold comes from."""

    document: Annotated[str, Field(min_length=1)]
    section: Annotated[str, Field(min_length=1)]


class Threshold(Noun):
    """A number from judgment, with its origin."""

    value: Annotated[Exact, Field(gt=0)]
    meaning: Annotated[str, Field(min_length=1)]
    low: Annotated[Exact, Field(gt=0)] | None = None
    """The lowest value that somebody sensible would take."""
    high: Annotated[Exact, Field(gt=0)] | None = None
    of: str | None = None
    """Where this metric is known (a prediction for this hardware), ``times`` it replaces the value."""
    times: Annotated[Exact, Field(gt=0)] | None = None
    source: Reference | tuple[Reference, ...]

    @model_validator(mode="after")
    def _in_range(self) -> Threshold:
        if (self.of is None) != (self.times is None):
            raise refused("one of of and times", "both, or none")
        if self.of is not None and declared(self.of).kind != "number":
            raise refused(f"of: {self.of}", "a metric that is a number")
        if not (self.low or self.value) <= self.value <= (self.high or self.value):
            raise refused(f"{self.value} outside {self.low} to {self.high}", "a value within low and high")
        return self


class Condition(Noun):
    """A comparison of one metric, or several conditions joined by all, any or not.

    A comparison holds ``metric``, ``op`` and one right side: ``value`` (a name, true or false, unlimited, 0
    or 1), ``threshold`` (the name of one), or ``of`` (another metric, multiplied by the threshold ``times``
    where given). ``otherwise`` names the threshold that stands in where ``of`` was not observed.
    """

    metric: str | None = None
    op: Operator | None = None
    value: Operand | None = None
    threshold: str | None = None
    """Compare with this threshold of the rule."""
    of: str | None = None
    """Compare with this metric, such as slo.ttft_p99_s."""
    times: str | None = None
    """Multiply ``of`` by this threshold of the rule."""
    otherwise: str | None = None
    """Compare with this threshold where ``of`` is unknown: a usual value where the user states no limit."""
    all_of: Annotated[tuple[Condition, ...], Field(min_length=1)] | None = Field(default=None, alias="all")
    any_of: Annotated[tuple[Condition, ...], Field(min_length=1)] | None = Field(default=None, alias="any")
    none_of: Condition | None = Field(default=None, alias="not")

    @model_validator(mode="after")
    def _one_form(self) -> Condition:
        joins = sum(part is not None for part in (self.all_of, self.any_of, self.none_of))
        sides = (self.op, self.value, self.threshold, self.of, self.times, self.otherwise)
        if self.metric is None:
            if joins != 1 or any(side is not None for side in sides):
                raise refused("no comparison and no join", "metric and op, or one of all, any, not")
        elif joins:
            raise refused("a comparison and a join", "metric and op, or one of all, any, not")
        else:
            self._check_comparison(declared(self.metric))
        return self

    def _check_comparison(self, metric: Metric) -> None:
        if self.op not in OPERATORS[metric.kind]:
            found = "no op" if self.op is None else f'op "{self.op}" on {self.metric}'
            raise refused(found, f"one of {', '.join(OPERATORS[metric.kind])}")
        if sum(side is not None for side in (self.value, self.threshold, self.of)) != 1:
            raise refused("several right sides or none", "one of value, threshold, of")
        if self.of is None and (self.times is not None or self.otherwise is not None):
            raise refused("times or otherwise without of", "of: a metric to compare with")
        numeric = metric.kind in ("number", "limit")
        if self.value is not None:
            self._check_value(metric)
        elif not numeric:
            raise refused(f"a threshold for {self.metric}", f"value: {_VALUES[metric.kind]}")
        elif self.of is not None and declared(self.of).kind not in ("number", "limit"):
            raise refused(f"{self.metric} compared with {self.of}", "another number")

    def _check_value(self, metric: Metric) -> None:
        if not _fits(self.value, metric.kind, self.op):
            raise refused(f"value {self.value} for {self.metric}", _VALUES[metric.kind])
        names = self.value if isinstance(self.value, tuple) else (self.value,)
        if metric.kind == "name" and metric.names:
            for name in names:
                if name not in metric.names:
                    expected = f"one of {', '.join(metric.names)}"
                    raise refused(f'the name "{name}"', expected, nearest(str(name), metric.names))

    def parts(self) -> tuple[Condition, ...]:
        """The conditions joined here; empty for a comparison."""
        return (*(self.all_of or ()), *(self.any_of or ()), *((self.none_of,) if self.none_of else ()))

    def comparisons(self) -> Iterator[Condition]:
        """Every comparison in here, from left to right."""
        if self.metric is not None:
            yield self
        for part in self.parts():
            yield from part.comparisons()

    def metrics(self) -> frozenset[str]:
        """Every metric named in here, on either side."""
        sides = (name for one in self.comparisons() for name in (one.metric, one.of))
        return frozenset(name for name in sides if name is not None)

    def thresholds(self) -> frozenset[str]:
        """Every threshold named in here."""
        sides = (name for one in self.comparisons() for name in (one.threshold, one.times, one.otherwise))
        return frozenset(name for name in sides if name is not None)


_VALUES: Mapping[MetricKind, str] = {
    "number": "0, 1, or a threshold with its source",
    "limit": f'"{UNLIMITED}", 0, 1, or a threshold with its source',
    "flag": "true or false",
    "name": "a name, or a list of names with in and not-in",
}


def declared(name: str) -> Metric:
    """The metric of this name.

    Raises:
        PydanticCustomError: nothing of this name can be observed.
    """
    if name not in METRICS:
        raise refused(f'the metric "{name}"', "a metric of an observation", nearest(name, tuple(METRICS)))
    return METRICS[name]


def _fits(value: object, kind: MetricKind, op: str | None) -> bool:
    if kind == "flag":
        return isinstance(value, bool)
    if kind == "name":
        return isinstance(value, tuple) if op in ("in", "not-in") else isinstance(value, str)
    if kind == "limit" and value == UNLIMITED:
        return op in ("==", "!=")
    return not isinstance(value, bool | str) and value in BARE_NUMBERS


def refused(found: str, expected: str, maybe: str = "") -> PydanticCustomError:
    """A refusal in the house's words."""
    return PydanticCustomError(
        "rule", "found {found}, expected {expected}", {"found": found, "expected": expected, "maybe": maybe}
    )
