"""The metrics that debugger rules may name: every field of an observation, and the limits that hold for it.

The registry follows `planner.schema.observation`, so a metric is declared in one place only. A limit of the
observed traffic is a metric too, under ``slo.``: ``slo.ttft_p99_s``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from planner.schema.base import Noun
from planner.schema.descriptions import descriptions
from planner.schema.observation import LIMITS, Observation, ObservedLimits

MetricKind = Literal["number", "flag", "name", "limit"]
"""A limit is a number that may also be ``unlimited``."""
UNLIMITED = "unlimited"


@dataclass(frozen=True)
class Metric:
    """One thing that can be observed."""

    kind: MetricKind
    unit: str
    """``s``, ``share``, ``1/s``, ``requests/s``, ``tokens``, or empty for a count."""
    meaning: str
    names: tuple[str, ...] = ()
    """What a name may be; empty where any text may stand."""
    low: float = 0.0
    high: float = math.inf
    """Bounds of a number, both included."""


_UNITS = (
    ("_tokens_per_s", "tokens/s"),
    ("_bytes_per_s", "bytes/s"),
    ("_per_s", "1/s"),
    ("_rps", "requests/s"),
    ("_bytes", "bytes"),
    ("_s", "s"),
)


def _unit(name: str, high: float) -> str:
    if "_tokens" in name and not name.endswith("_per_s"):
        return "tokens"
    if high == 1.0:
        return "share"
    return next((unit for suffix, unit in _UNITS if name.endswith(suffix)), "")


def _types(annotation: Any) -> Iterator[Any]:
    """The alternatives of a field without their metadata; None left out."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _types(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for part in get_args(annotation):
            yield from _types(part)
    elif annotation is not type(None):
        yield annotation


def _bounds(annotation: Any) -> tuple[float, float]:
    """The bounds that a field declares."""
    low, high = -math.inf, math.inf
    for part in get_args(annotation):
        for mark in get_args(part)[1:] if get_origin(part) is Annotated else ():
            for bound in getattr(mark, "metadata", ()):
                low, high = getattr(bound, "ge", low), getattr(bound, "le", high)
    return float(low), float(high)


def _metric(name: str, annotation: Any, meaning: str) -> Metric:
    (kind,) = _types(annotation)
    if kind is bool:
        return Metric("flag", "", meaning)
    if get_origin(kind) is Literal:
        return Metric("name", "", meaning, get_args(kind))
    if kind is str:
        return Metric("name", "", meaning)
    low, high = _bounds(annotation)
    return Metric("limit" if name in LIMITS else "number", _unit(name, high), meaning, (), low, high)


def _declared(noun: type[Noun], above: str = "", meaning: str = "") -> Iterator[tuple[str, Metric]]:
    meanings = descriptions(noun)
    for name, field in noun.model_fields.items():
        if name != "slo":
            yield above + name, _metric(name, field.annotation, meanings.get(name, meaning))


METRICS: Mapping[str, Metric] = dict(
    [*_declared(Observation), *_declared(ObservedLimits, "slo.", "A latency limit of the observed traffic.")]
)
"""Name -> metric; rules can name nothing else."""
