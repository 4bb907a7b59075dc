"""Debugger rules as data: symptom, evidence, cause, and the actions in the order in which to try them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, model_validator

from planner.errors import nearest
from planner.schema.base import Noun
from planner.schema.conditions import Condition, Reference, Threshold, declared, refused
from planner.schema.debugger_words import COSTS, Cost, Direction, Knob, Layer, Severity, Strength
from planner.schema.vendor import Vendor

Id = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
Text = Annotated[str, Field(min_length=1)]


class Symptom(Noun):
    """What somebody sees from outside, before any cause is known."""

    id: Id
    title: Text
    severity: Severity
    when: Condition
    unless: Condition | None = None
    """Where this surely holds, it is a fact and no symptom."""
    thresholds: dict[str, Threshold] = {}
    source: Reference | tuple[Reference, ...]

    @model_validator(mode="after")
    def _thresholds_meet(self) -> Symptom:
        check_thresholds(self.thresholds, (self.when, *((self.unless,) if self.unless else ())))
        return self


class Target(Noun):
    """A value to set that follows from an observed one: ``of``, multiplied by the threshold ``times``."""

    of: str
    times: str | None = None

    @model_validator(mode="after")
    def _number(self) -> Target:
        if declared(self.of).kind != "number":
            raise refused(f"of: {self.of}", "a metric that is a number")
        return self


class Action(Noun):
    """One thing to do, and what it turns."""

    action: Id
    """Its name within the rule."""
    text: Text
    knob: Knob
    direction: Direction
    to: Annotated[bool, Field(strict=True)] | str | Target | None = None
    """The value to set, where there is one."""
    flags: dict[str, str] = {}
    """Engine id -> the option as it is written, where it is more than the name of the knob's."""
    devices: dict[Vendor, str] = {}
    """Vendor of the accelerators -> what is typed on their host, whatever the engine."""
    expect: Text
    """What should be seen afterwards."""
    cost: Cost
    safe: bool
    """Answers stay what they were, and no request gets slower or is refused that was served before."""
    unless: Condition | None = None
    """Do not offer it where this surely holds, for example because it is done already."""
    only_when: Condition | None = None
    """Offer it only where this surely holds: what must be known before it is turned."""

    @property
    def place(self) -> tuple[int, bool]:
        """Its place in a rule: the cheap before the dear, and of equals the safe ones first."""
        return COSTS.index(self.cost), not self.safe


class Hint(Noun):
    """Partial evidence: the cause is possible, and what would decide was not observed."""

    when: Condition
    unless: Condition | None = None
    """Where this surely holds, the hint counts for nothing."""

    def conditions(self) -> tuple[Condition, ...]:
        """Both parts."""
        return (self.when, *((self.unless,) if self.unless else ()))


class Stop(Noun):
    """When the rule's problem is solved, so that nobody turns its knobs any further."""

    when: Condition
    text: Text


class DebuggerRule(Noun):
    """One cause that production shows: how to tell it, and what to do about it.

    It is a finding when one of its symptoms is seen, ``when`` holds, and ``unless`` does not surely hold.
    ``supports`` and ``against`` never make or break a finding; they move it up or down among others.
    """

    id: Id
    """The condition it finds, not the cure; equal to the file's name."""
    title: Text
    layer: Layer
    """The layer with authority over the cause; equal to the folder."""
    symptom: Id | Annotated[tuple[Id, ...], Field(min_length=1)]
    """Id of a symptom, or of several of which one must be seen: the first that is seen is reported."""
    when: Condition
    unless: Condition | None = None
    """What would rule the cause out. Where it is unknown the finding stands, one step lower."""
    possible: tuple[Hint, ...] = ()
    """While ``when`` is unknown: what makes the cause possible. Such a finding is suggestive and in doubt."""
    strength: Strength
    supports: tuple[Condition, ...] = ()
    """Each one that holds moves the finding one step up."""
    against: tuple[Condition, ...] = ()
    """Each one that holds moves the finding one step down."""
    explains: tuple[Id, ...] = ()
    """Rules that this one makes fire as a consequence: they rank behind it."""
    cause: Text
    because: Text
    """Why the evidence means this cause."""
    alternatives: tuple[Text, ...] = ()
    """Other causes that look the same and have no rule, each with what would tell it apart."""
    then: Annotated[tuple[Action, ...], Field(min_length=1)]
    """In the order of the manuals: cheapest and safest first."""
    next: tuple[Id, ...] = ()
    """Rules to look at when the actions have moved the bottleneck."""
    stop: Stop | None = None
    thresholds: dict[str, Threshold] = {}
    source: Reference | Annotated[tuple[Reference, ...], Field(min_length=1)]
    disagreement: str | None = None
    """Where sources contradict each other: what each says, and what decided."""

    @model_validator(mode="after")
    def _thresholds_meet(self) -> DebuggerRule:
        hints = (part for hint in self.possible for part in hint.conditions())
        conditions = (*self.evidence(), *hints, *self.supports, *self.against)
        guards = (part for one in self.then for part in (one.unless, one.only_when) if part)
        factors = frozenset(
            one.to.times for one in self.then if isinstance(one.to, Target) and one.to.times is not None
        )
        stops = (self.stop.when,) if self.stop else ()
        check_thresholds(self.thresholds, (*conditions, *guards, *stops), factors)
        return self

    @property
    def symptoms(self) -> tuple[str, ...]:
        """Ids of its symptoms."""
        return (self.symptom,) if isinstance(self.symptom, str) else self.symptom

    @property
    def sources(self) -> tuple[Reference, ...]:
        """Its sources, the first one leading."""
        return (self.source,) if isinstance(self.source, Reference) else self.source

    def metrics(self) -> frozenset[str]:
        """Every metric that the evidence asks for."""
        conditions = (*self.evidence(), *self.supports, *self.against)
        return frozenset().union(*(condition.metrics() for condition in conditions))

    def evidence(self) -> tuple[Condition, ...]:
        """The conditions that make and break the finding."""
        return (self.when, *((self.unless,) if self.unless else ()))


class KnobEntry(Noun):
    """A knob: what it is, where its present value is observed, and what engines call it."""

    id: Knob
    title: Text
    metric: str | None = None
    """The metric that holds its present value."""
    flags: dict[str, str] = {}
    """Engine id -> the option, or the place in its configuration file."""
    note: str | None = None
    """Where it is turned when it is no option of an engine."""
    source: Reference | tuple[Reference, ...]

    @model_validator(mode="after")
    def _metric_is_declared(self) -> KnobEntry:
        if self.metric is not None:
            declared(self.metric)
        if not self.flags and self.note is None:
            raise refused("neither flags nor note", "where the knob is turned")
        return self


@dataclass(frozen=True)
class Rulebook:
    """All that a diagnosis knows: symptoms, rules and knobs by id, and the file of each."""

    symptoms: Mapping[str, Symptom]
    rules: Mapping[str, DebuggerRule]
    knobs: Mapping[str, KnobEntry]
    places: Mapping[str, str]
    """``symptom/ID`` or ``rule/ID`` -> its file, for messages."""


def check_thresholds(
    thresholds: Mapping[str, Threshold], conditions: tuple[Condition, ...], more: frozenset[str] = frozenset()
) -> None:
    """Every threshold that is named must be there, and every one there must be named.

    Raises:
        PydanticCustomError: the first that is not.
    """
    named = more.union(*(condition.thresholds() for condition in conditions))
    for name in sorted(named - set(thresholds)):
        expected = "a threshold of this file, under thresholds"
        raise refused(f'the threshold "{name}"', expected, nearest(name, tuple(thresholds)))
    for name in sorted(set(thresholds) - named):
        raise refused(f'the threshold "{name}", which nothing uses', "thresholds in use only")
