"""What the API is asked: one noun a question, with the keys of the command line and of the Python package."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from planner.schema.base import Noun, refused
from planner.schema.routing import RoutingPolicy
from planner.schema.service_load import PLAIN, Conventions

Tokens = Annotated[int, Field(ge=1, le=10**9)]
Count = Annotated[int, Field(ge=1, le=10**9)]
Degree = Annotated[int, Field(ge=1, le=4096)]
Positive = Annotated[float, Field(gt=0, le=1e12)]
Text = Annotated[str, Field(max_length=4_000_000)]
Word = Annotated[str, Field(max_length=500)]
HubName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9][\w.-]*$", max_length=200)]
Models = Annotated[dict[HubName, dict[str, Any]], Field(max_length=16)]
"""The ``config.json`` of models that the catalog lacks, by their ids of a hub: ``{"org/name": {…}}``."""
MAX_SEED = 2**31 - 1


class ProblemAsked(Noun):
    """A problem, and how long to look for its answer."""

    problem: dict[str, Any] | Text | None = None
    """What a problem file says: as an object, or as its YAML text."""
    stated: dict[str, Word | list[Word] | bool] | None = None
    """The flags of ``planner plan`` that stand for a problem: ``{"model": …, "rps": "5"}``."""
    time_limit_s: Positive | None = None
    """As ``--time-limit``."""
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    models: Models = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_source(self) -> ProblemAsked:
        if (self.problem is None) == (self.stated is None):
            found = "neither problem nor stated" if self.problem is None else "problem and stated"
            raise refused(found, "one of them")
        return self


class PlanAsked(ProblemAsked):
    """As ``planner plan``."""

    details: bool = False
    """Also price every pair of formats."""


class RelaxAsked(ProblemAsked):
    """As ``planner relax``."""


class CheckAsked(ProblemAsked):
    """Only read and check a problem."""


class WhatIfAsked(ProblemAsked):
    """As ``planner whatif``."""

    set: dict[Word, Any] | None = None
    """New values by path; null takes a value away."""
    sweep: dict[Word, list[Any]] | None = None
    """Lists of values by path."""

    @model_validator(mode="after")
    def _one_change(self) -> WhatIfAsked:
        if bool(self.set) == bool(self.sweep):
            found = "set and sweep" if self.set else "neither set nor sweep"
            raise refused(found, "one of them, with a path and a value")
        return self


class CapacityAsked(ProblemAsked):
    """As ``planner capacity``."""

    workloads: tuple[Word, ...] = ()
    """Raise only the demand of these; empty: of all."""
    sweep: dict[Word, list[Any]] | None = None


class OneConfiguration(Noun):
    """A model on a number of GPUs."""

    model: Word
    gpu: Word
    isl: Tokens
    osl: Tokens
    tp: Degree = 1
    pp: Degree = 1
    ep: Degree = 1
    attention_dp: Degree = 1
    weights: Word | None = None
    kv: Word | None = None
    engine: Word = "vllm"
    context: Tokens | None = None
    memory_utilization: Word | None = None
    max_batch: Count | None = None
    start_burst: Literal["included", "excluded"] = "included"
    equal_lengths: bool = False
    burstiness: Positive = PLAIN.burstiness
    models: Models = Field(default_factory=dict)

    @property
    def conventions(self) -> Conventions:
        """How the load is to be understood."""
        return Conventions(self.start_burst == "included", self.equal_lengths, self.burstiness)


class EstimateAsked(OneConfiguration):
    """As ``planner estimate``."""

    concurrency: Count | None = None
    rps: Positive | None = None
    requests: Annotated[int, Field(ge=0, le=10**9)] = 0
    replicas: Degree = 1
    routing: RoutingPolicy = "least-loaded"

    @model_validator(mode="after")
    def _one_load(self) -> EstimateAsked:
        if self.concurrency is not None and self.rps is not None:
            raise refused("concurrency and rps", "one of them")
        return self


class CurveAsked(OneConfiguration):
    """As ``planner curve``."""

    concurrency: Count | None = None
    rps: Positive | None = None
    concurrency_max: Count | None = None
    rps_max: Positive | None = None
    slo_s: dict[Word, Positive] = Field(default_factory=dict)
    """Limits in seconds, such as ``{"ttft_p99": 1.5}``."""

    @model_validator(mode="after")
    def _one_axis(self) -> CurveAsked:
        for one in ("concurrency", "concurrency_max"):
            for other in ("rps", "rps_max"):
                if getattr(self, one) is not None and getattr(self, other) is not None:
                    raise refused(f"{one} and {other}", "one of them")
        return self


class FitAsked(Noun):
    """As ``planner fit``."""

    model: Word
    context_tokens: Tokens = 8192
    concurrency: Count = 1
    weights: Word | None = None
    kv: Word | None = None
    engine: Word = "vllm"
    gpus: tuple[Word, ...] = ()
    """Only these accelerators."""
    limit: Annotated[int, Field(ge=1, le=1000)] = 10
    models: Models = Field(default_factory=dict)


class DiagnoseAsked(Noun):
    """As ``planner diagnose``, of what is sent along: no address is ever fetched."""

    observation: dict[str, Any] | None = None
    """What was observed (``planner schema observation``)."""
    metrics: Annotated[tuple[Text, ...], Field(max_length=100)] = ()
    """The text of metrics pages; two of one server are two samples."""
    logs: Annotated[tuple[Text, ...], Field(max_length=100)] = ()
    """The text of logs of engines."""
    engine_args: Text | None = None
    """Command lines or manifests of engines."""
    text: Text | None = None
    """A metrics page, a log, or an observation as YAML or JSON: whichever it is."""
    interval_s: Annotated[float, Field(ge=0.1, le=3600)] | None = None
    """Seconds between two samples of every server."""
    selector: Word = ""
    slo_s: dict[Word, Positive] = Field(default_factory=dict)
    """Limits in seconds, such as ``{"ttft_p99_s": 1.5}``."""
    plan: dict[str, Any] | None = None
    """A plan document: actions are priced on it."""
    workload: Word | None = None

    @model_validator(mode="after")
    def _any_source(self) -> DiagnoseAsked:
        sources = (self.observation, self.metrics, self.logs, self.engine_args, self.text)
        if all(one in (None, ()) for one in sources):
            raise refused("no source", "observation, metrics, logs, engine_args or text")
        return self


class Alert(Noun):
    """One alert of a notification; what else Alertmanager says of it counts for nothing."""

    model_config = ConfigDict(extra="ignore")

    status: Literal["firing", "resolved"]
    labels: dict[Word, Word] = Field(default_factory=dict)


class AlertsAsked(Noun):
    """A notification of Alertmanager (webhook, version 4).

    The Prometheus server that is asked is that of ``planner serve --prometheus``: addresses in a notification
    are never fetched.
    """

    model_config = ConfigDict(extra="ignore")

    version: Literal["4"]
    status: Literal["firing", "resolved"]
    commonLabels: dict[Word, Word] = Field(default_factory=dict)  # noqa: N815 - Alertmanager's name
    """Labels that all alerts share: of these, those that name a deployment select its series."""
    alerts: Annotated[tuple[Alert, ...], Field(max_length=10_000)] = ()


class ExportAsked(Noun):
    """As ``planner export``; the files come back as texts."""

    plan: dict[str, Any]
    """A plan document."""
    to: Word
    period: Annotated[int, Field(ge=0, le=10_000)] | None = None


class Loss(Noun):
    """A replica that is lost while a plan is replayed."""

    pool: Word
    at_s: Positive


class ReplayAsked(Noun):
    """As ``planner replay``, of the plan's own peak."""

    plan: dict[str, Any]
    """A plan document."""
    rate_rps: Positive | None = None
    duration_s: Positive | None = None
    seeds: Annotated[int, Field(ge=1, le=1000)] = 3
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    router: RoutingPolicy | None = None
    failures: tuple[Loss, ...] = ()
    workload: Word | None = None
    confidence: Annotated[float, Field(ge=0.01, le=0.99)] | None = None
    change: bool = True
    """Look for the smallest change that holds."""


class DiffAsked(Noun):
    """As ``planner diff``."""

    before: dict[str, Any]
    """A plan document."""
    after: dict[str, Any]
    """The same."""


class TextAsked(Noun):
    """An answer that shall be told in words."""

    kind: Word
    """Of its question, such as ``plan``."""
    document: dict[str, Any]
    """The answer."""
    width: Annotated[int, Field(ge=60, le=160)] = 100


Asked = (
    PlanAsked
    | RelaxAsked
    | CheckAsked
    | WhatIfAsked
    | CapacityAsked
    | EstimateAsked
    | CurveAsked
    | FitAsked
    | DiagnoseAsked
    | AlertsAsked
    | ExportAsked
    | ReplayAsked
    | DiffAsked
    | TextAsked
)
