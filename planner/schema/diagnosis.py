"""The diagnosis document: what a session of the production debugger answers."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from planner.schema.answer import Answer
from planner.schema.base import Noun
from planner.schema.baseline import Baseline
from planner.schema.conditions import Reference
from planner.schema.debugger_words import Cost, Direction, Knob, Layer, Severity, State, Strength
from planner.schema.held_plan import PlanUsed, PricedEffect

Shown = bool | int | float | str | tuple[str, ...]
"""A value as documents show it: of a number the best estimate; without a limit it is ``unlimited``."""
Role = Literal["symptom", "condition", "supports", "against"]


class EvidenceSeen(Noun):
    """One comparison that holds."""

    metric: str
    value: Shown
    between: tuple[float, float | None] | None = None
    """The interval of a number that is known within bounds only, such as a percentile of a histogram."""
    op: str
    threshold: Shown
    basis: str
    """What the threshold is: ``value``, the name of a threshold of the rule, or another metric."""
    role: Role
    planned: float | None = None
    """What the plan predicts, where the threshold is a distance from it."""


class ActionAdvised(Noun):
    """One action of a finding."""

    id: str
    text: str
    knob: Knob
    direction: Direction
    from_value: Shown | None = Field(default=None, alias="from", serialization_alias="from")
    """What the knob is set to, where it was observed."""
    to: Shown | None = None
    effect: str | PricedEffect
    """What to expect, in words; with a plan, what the planner predicts."""
    not_priced: str | None = None
    """With a plan: why the planner predicts nothing for this action."""
    cost: Cost
    safe: bool
    flags: dict[str, str] = {}
    """Engine id -> the option that is this knob."""
    commands: dict[str, str] = {}
    """Engine id -> the option with its value, as it is written."""
    command: str | None = None
    """For the engine that was observed: the option with its value, as it is written."""
    undo: str | None = None
    """What takes it back."""


class Ranking(Noun):
    """Why a finding stands where it does."""

    strength: Strength
    supports: int
    """Pieces of supporting evidence that hold."""
    against: int
    """Pieces of contrary evidence that hold."""
    in_doubt: bool
    """What would rule it out was not observed."""
    possible: bool = False
    """Partial evidence only: what would decide was not observed."""
    severity: Severity
    explained_by: tuple[str, ...] = ()
    """Findings of which this one is a consequence."""


class Finding(Noun):
    """A cause for which the evidence is there."""

    rule: str
    title: str
    layer: Layer
    symptom: str
    cause: str
    because: str
    alternatives: tuple[str, ...] = ()
    """Other causes that look the same, each with what would tell it apart."""
    look_at: tuple[str, ...] = ()
    """Of a possible cause: the metrics that would decide."""
    evidence: tuple[EvidenceSeen, ...]
    actions: tuple[ActionAdvised, ...]
    path: tuple[str, ...]
    """Nodes of the decision graph from the symptom to the first action."""
    next: tuple[str, ...]
    stop: str | None = None
    ranking: Ranking
    source: Reference
    more_sources: tuple[Reference, ...] = ()
    disagreement: str | None = None


class OpenFinding(Noun):
    """A cause that the observation neither shows nor excludes."""

    rule: str
    title: str
    layer: Layer
    symptom: str
    unknown: tuple[str, ...]
    """Metrics whose values would settle it."""


class Excluded(Noun):
    """A cause of a symptom seen that the observation rules out."""

    rule: str
    title: str
    layer: Layer
    symptom: str


class NoteShown(Noun):
    """What to know about the numbers that were read."""

    kind: str
    """missing, empty, lifetime, bucket, restart, mixed, derived, sources, partial or conflict."""
    text: str
    metric: str = ""


class Diagnosis(Answer):
    """Everything that was found, most likely first."""

    ROWS: ClassVar[str] = "findings"

    findings: tuple[Finding, ...]
    severity: State = "unknown"
    """The worst symptom that is seen; healthy where those that could be judged are not."""
    judged: tuple[str, ...] = ()
    """Metrics that were observed and can show that something is wrong."""
    measures: int = 0
    """How many such metrics there are."""
    need: tuple[str, ...]
    """Metrics to measure next: the first one decides most."""
    symptoms: tuple[str, ...]
    """Symptoms that are seen, the worst first."""
    open: tuple[OpenFinding, ...]
    """Causes of symptoms seen that could not be decided."""
    excluded: tuple[Excluded, ...] = ()
    """Causes of symptoms seen that the observation rules out."""
    titles: dict[str, str] = {}
    """Symptom that is seen -> its title."""
    engine: str | None = None
    """Id of the engine, where it was observed."""
    unjudged: tuple[str, ...]
    """Symptoms for which nothing was observed."""
    exporters: tuple[str, ...] = ()
    """Ids of the exporters, and of the programs whose logs or commands, that were recognized."""
    origins: dict[str, str] = {}
    """Metric -> the source that it was taken from, where there are several."""
    notes: tuple[NoteShown, ...] = ()
    plan: PlanUsed | None = None
    baseline: Baseline | None = None
    """What changed against a time before, where one was given."""


class News(Noun):
    """What changed between one sample of a watched server and the next."""

    time: str
    """When the sample was taken, UTC."""
    severity: State
    was: State | None
    """null: the first sample."""
    appeared: tuple[str, ...]
    """Rules that are shown now and were not."""
    gone: tuple[str, ...]
    """Rules that were shown and are not now."""
    diagnosis: Diagnosis


class Turned(Noun):
    """A setting that differs between two samples."""

    knob: Knob
    from_value: Shown | None = Field(default=None, alias="from", serialization_alias="from")
    to: Shown | None = None
    action: str | None = None
    """The advised action that this is; null where nobody advised it."""


class Shift(Noun):
    """A metric of the evidence before, then and now."""

    metric: str
    before: Shown
    now: Shown | None
    """null: not observed any more."""


class Move(Noun):
    """What happened between one sample and the next."""

    kind: Literal["healthy", "same", "solved", "expected", "elsewhere", "appeared"]
    """Nothing then and now; the same bottleneck; gone; moved to where its rule says; moved somewhere else;
    there was none before."""
    before: str | None
    """Rule of the first finding then."""
    now: str | None
    turned: tuple[Turned, ...]
    evidence: tuple[Shift, ...]
    stop: str | None = None
    """The condition to stop at, of the bottleneck before, where it holds now."""


class Step(Noun):
    """One sample of a diagnostic loop."""

    source: str
    move: Move | None
    """null for the first sample."""
    diagnosis: Diagnosis


class Steps(Noun):
    """A diagnostic loop over samples in their order."""

    steps: tuple[Step, ...]
