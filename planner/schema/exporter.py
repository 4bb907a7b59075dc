"""How the metrics of one exporter (an engine, a router, the GPU) become observed values: data, no code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from string import Template
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from planner.errors import nearest
from planner.schema.base import Noun
from planner.schema.catalog_entry import CatalogEntry, Source
from planner.schema.observation import Observation
from planner.schema.vendor import Vendor

SeriesType = Literal["gauge", "counter", "histogram", "info"]
Take = Literal[
    "value", "growth", "rate", "share", "ratio", "quantile", "mean", "part", "idle", "spread", "label",
    "flag", "ever", "bits",
]  # fmt: skip
"""value: a gauge; growth: its change per second; rate: a counter per second; share: a counter per second over
a gauge; ratio: sums of counters (or gauges) over others; quantile, mean: of a histogram; part: means of
histograms over the mean of another; idle: share of replicas whose gauge is zero; spread: the largest gauge
over the mean of all; label: a label that states a setting; flag: whether any gauge, or increase of a counter,
is above zero; ever: true where a counter is above zero; bits: the first bit of a gauge that is set."""
Replicas = Literal["mean", "max", "min", "sum", "p75"]
"""p75: what three quarters of several replicas do not exceed; of one replica nothing."""
WireName = Annotated[str, Field(pattern=r"^[a-zA-Z][a-zA-Z0-9_]*$")]

_TYPES: Mapping[Take, tuple[SeriesType, ...]] = {
    "value": ("gauge",),
    "growth": ("gauge",),
    "rate": ("counter",),
    "share": ("counter",),
    "ratio": ("counter", "gauge"),
    "quantile": ("histogram",),
    "mean": ("histogram",),
    "part": ("histogram",),
    "idle": ("gauge",),
    "spread": ("gauge",),
    "label": ("info", "gauge"),
    "flag": ("gauge", "counter"),
    "ever": ("counter",),
    "bits": ("gauge",),
}
_NEEDED: Mapping[Take, tuple[str, ...]] = {
    "value": ("replicas",),
    "growth": ("replicas",),
    "rate": ("replicas",),
    "share": ("to",),
    "ratio": ("to",),
    "quantile": ("quantile",),
    "mean": (),
    "part": ("to",),
    "idle": (),
    "spread": (),
    "label": ("label",),
    "flag": (),
    "ever": (),
    "bits": ("words",),
}
_ALLOWED: Mapping[Take, tuple[str, ...]] = {
    "ratio": ("replicas", "complement"),
    "part": ("complement",),
    "label": ("words", "times"),
}
_OPTIONS = ("replicas", "to", "quantile", "label", "words", "times", "complement")
_PARTS: Mapping[SeriesType, tuple[str, ...]] = {
    "gauge": ("",),
    "info": ("",),
    "counter": ("_total", ""),
    "histogram": ("_bucket", "_sum", "_count"),
}


def plain(name: str) -> str:
    """A wire name without colons: servers and scrapers turn ``vllm:x`` into ``vllm_x``."""
    return name.replace(":", "_")


class WireSeries(Noun):
    """One series of an exporter, under all names that it had."""

    names: Annotated[tuple[WireName, ...], Field(min_length=1)]
    """Names behind the prefix, the newest first; a counter's without ``_total``."""
    type: SeriesType
    unit: str
    """Of the number on the wire, in words."""
    scale: Annotated[float, Field(gt=0)] = 1.0
    """Factor to the unit of the observation."""
    where: dict[str, tuple[str, ...]] = {}
    """Only series whose label has one of these values count; an absent label is empty."""
    renamed: dict[str, str] = {}
    """Name -> version of the program from which it has a newer one."""

    @model_validator(mode="after")
    def _known_names(self) -> WireSeries:
        for name in self.renamed:
            if name not in self.names:
                raise _refused(f'"{name}"', "one of the names", nearest(name, self.names))
        return self


class Rule(Noun):
    """How one observed value is taken from the series."""

    take: Take
    of: Annotated[tuple[str, ...], Field(min_length=1)]
    """Keys of series; several are added."""
    to: tuple[str, ...] = ()
    """What a ratio is over; several are added."""
    replicas: Replicas | None = None
    """How replicas become one number. A ratio without it adds both sides first."""
    quantile: Annotated[float, Field(gt=0, lt=1)] | None = None
    label: str | None = None
    times: str | None = None
    """Another label, a number, that the value is multiplied with."""
    complement: bool = False
    """What is left to one."""
    words: dict[str, str | bool] = {}
    """Value of the label -> observed value; others say nothing. Without it the value is taken as it is. Of
    bits: the bit's number -> observed value, the worst first."""
    source: Source = ()
    """Of the definition, where it is not the plain meaning of the names."""

    @model_validator(mode="after")
    def _whole(self) -> Rule:
        given = {name for name in _OPTIONS if getattr(self, name)}
        needed = set(_NEEDED[self.take])
        if not needed <= given <= needed | set(_ALLOWED.get(self.take, ())):
            words = " and ".join(_NEEDED[self.take]) or "nothing else"
            raise _refused(
                f"{self.take} with {', '.join(sorted(given)) or 'nothing'}", f"{self.take} with {words}"
            )
        return self


class Exporter(CatalogEntry):
    """The metrics of one program that exports them, and what they say."""

    kind: Literal["exporter"] = "exporter"
    version: str
    """Of the program whose names were read."""
    prefix: Annotated[str, Field(pattern=r"^[a-zA-Z][a-zA-Z0-9_]*[:_]$")]
    """Beginning of every name; ``:`` may come as ``_``."""
    other_prefixes: tuple[Annotated[str, Field(pattern=r"^[a-zA-Z][a-zA-Z0-9_]*[:_]$")], ...] = ()
    """Under which other programs pass the same names on."""
    engine: str | None = None
    """Id of the engine that exports; null: something else."""
    vendor: Vendor | None = None
    """Whose accelerators it reports; null: those of any, or none."""
    beside: bool = False
    """It says something only beside an engine, a router or a device: alone it may belong to any program."""
    everywhere: bool = False
    """Programs of any kind export these names: a Prometheus server is asked for them with a selector only."""
    path: str
    """Where the program exports, as a hint in messages."""
    order: int
    """Of several exporters with the same value the one with the lowest order is read: nearest to the user."""
    ranks: tuple[str, ...] = ()
    """Labels that tell copies of one number apart, such as tensor-parallel ranks: the largest counts."""
    blanks: tuple[float, ...] = ()
    """Numbers that stand for "no value"."""
    series: Annotated[dict[str, WireSeries], Field(min_length=1)]
    readings: Annotated[dict[str, tuple[Rule, ...]], Field(min_length=1)]
    """Field of the observation -> ways to read it, the best first."""
    source: Source

    @field_validator("readings")
    @classmethod
    def _known_fields(cls, value: dict[str, tuple[Rule, ...]]) -> dict[str, tuple[Rule, ...]]:
        for name in value:
            if name not in Observation.model_fields or name == "slo":
                known = tuple(field for field in Observation.model_fields if field != "slo")
                raise _refused(f'"{name}"', "a value of the observation", nearest(name, known))
        return value

    @model_validator(mode="after")
    def _known_series(self) -> Exporter:
        for rules in self.readings.values():
            for rule in rules:
                for key in (*rule.of, *rule.to):
                    if key not in self.series:
                        raise _refused(f'"{key}"', "a key of series", nearest(key, tuple(self.series)))
                self._check_types(rule)
        return self

    def _check_types(self, rule: Rule) -> None:
        for key in rule.of:
            if self.series[key].type not in _TYPES[rule.take]:
                found = f"{rule.take} of {key}, a {self.series[key].type}"
                raise _refused(found, f"{rule.take} of a {' or a '.join(_TYPES[rule.take])}")
        if rule.take == "part" and any(self.series[key].type != "histogram" for key in rule.to):
            raise _refused(f"part of {', '.join(rule.to)}", "part of a histogram")
        if rule.take == "share" and any(self.series[key].type != "gauge" for key in rule.to):
            raise _refused(f"share over {', '.join(rule.to)}", "share over gauges")
        if rule.take == "ratio" and len({self.series[key].type for key in (*rule.of, *rule.to)}) > 1:
            raise _refused("a ratio of counters and gauges", "a ratio of one type")

    def wire_names(self, key: str) -> Iterator[tuple[str, ...]]:
        """For each name of a series, newest first, the sample names it has on the wire, without colons."""
        series = self.series[key]
        for name in series.names:
            for prefix in (self.prefix, *self.other_prefixes):
                stem = plain(prefix + name).removesuffix("_total" if series.type == "counter" else "\0")
                yield tuple(stem + part for part in _PARTS[series.type])


class Queries(CatalogEntry):
    """The questions to a Prometheus server, as PromQL with ``$name``, ``$selector`` and ``$range``."""

    kind: Literal["queries"] = "queries"
    present: str
    """Names that there are; ``$name`` is a regular expression."""
    value: str
    """A gauge now."""
    rate: str
    """A counter or bucket, per second."""
    growth: str
    """Change of a gauge per second."""

    @model_validator(mode="after")
    def _placeholders(self) -> Queries:
        for query, needed in (
            (self.present, {"name", "selector"}),
            (self.value, {"name", "selector"}),
            (self.rate, {"name", "selector", "range"}),
            (self.growth, {"name", "selector", "range"}),
        ):
            template = Template(query)
            if not template.is_valid() or set(template.get_identifiers()) != needed:
                raise _refused(
                    f'"{query}"', "PromQL with " + ", ".join(f"${name}" for name in sorted(needed))
                )
        return self


def _refused(found: str, expected: str, maybe: str = "") -> PydanticCustomError:
    return PydanticCustomError(
        "exporter",
        "found {found}, expected {expected}",
        {"found": found, "expected": expected, "maybe": maybe},
    )
