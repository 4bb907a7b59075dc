"""The diagnosis document, out of a walk."""

from __future__ import annotations

import math
from collections.abc import Iterator

import networkx as nx

from planner.diagnosis.graph import steps
from planner.diagnosis.need import needed
from planner.diagnosis.rank import ranked
from planner.diagnosis.truth import Ground, grounds, judge
from planner.diagnosis.walk import Branch, Walk, walk
from planner.schema.debugger import Action, DebuggerRule, Rulebook, Target
from planner.schema.diagnosis import (
    ActionAdvised,
    Diagnosis,
    EvidenceSeen,
    Finding,
    OpenFinding,
    Ranking,
    Role,
    Shown,
)
from planner.schema.known import Known, Value
from planner.schema.metrics import UNLIMITED
from planner.schema.readings import Reading


def diagnose(graph: nx.DiGraph[str], rulebook: Rulebook, known: Known) -> Diagnosis:
    """Everything that the rules find in what is known, most likely first."""
    passed = walk(graph, rulebook, known)
    order = ranked([one for one in passed.branches if one.holds])
    return Diagnosis(
        findings=tuple(_finding(graph, rulebook, one, because, known) for one, because in order),
        need=needed(passed, rulebook, known),
        symptoms=tuple(one.id for one in passed.seen),
        open=tuple(_open(passed, known)),
        unjudged=tuple(one.id for one in passed.unjudged),
    )


def _finding(
    graph: nx.DiGraph[str],
    rulebook: Rulebook,
    one: Branch,
    explained_by: tuple[str, ...],
    known: Known,
) -> Finding:
    rule = one.rule
    actions = tuple(_actions(rule, rulebook, known))
    return Finding(
        rule=rule.id,
        title=rule.title,
        layer=rule.layer,
        symptom=one.symptom.id,
        cause=rule.cause,
        because=rule.because,
        evidence=tuple(_evidence(one, known)),
        actions=actions,
        path=_path(graph, one, actions),
        next=rule.next,
        stop=rule.stop.text if rule.stop else None,
        ranking=Ranking(
            strength=rule.strength,
            supports=one.supports.count(True),
            against=one.against.count(True),
            in_doubt=one.in_doubt,
            severity=one.symptom.severity,
            explained_by=explained_by,
        ),
        source=rule.sources[0],
        more_sources=rule.sources[1:],
        disagreement=rule.disagreement,
    )


def _evidence(one: Branch, known: Known) -> Iterator[EvidenceSeen]:
    """Every comparison that holds, once, in the part that it plays first."""
    rule, symptom = one.rule, one.symptom
    parts: list[tuple[Role, Iterator[Ground]]] = [
        ("symptom", grounds(symptom.when, symptom.thresholds, known)),
        ("condition", grounds(rule.when, rule.thresholds, known)),
    ]
    if rule.unless is not None:
        parts.append(("condition", grounds(rule.unless, rule.thresholds, known, wanted=False)))
    parts += [("supports", grounds(part, rule.thresholds, known)) for part in rule.supports]
    parts += [("against", grounds(part, rule.thresholds, known)) for part in rule.against]
    told: set[tuple[str, str, str]] = set()
    for role, found in parts:
        for ground in found:
            key = (ground.metric, ground.op, str(ground.right))
            if key not in told:
                told.add(key)
                yield _seen(ground, role)


def _seen(ground: Ground, role: Role) -> EvidenceSeen:
    reading = ground.reading
    return EvidenceSeen(
        metric=ground.metric,
        value=shown(reading),
        between=_bounds(reading),
        op=ground.op,
        threshold=ground.right if isinstance(ground.right, tuple) else shown(ground.right),
        basis=ground.basis,
        role=role,
    )


def _bounds(value: Value) -> tuple[float, float | None] | None:
    """The interval of a number that is not exact; JSON has no word for infinite."""
    if not isinstance(value, Reading) or value.exact:
        return None
    return value.low, None if math.isinf(value.high) else value.high


def shown(value: Value) -> Shown:
    """A value as documents show it: of a number the best estimate."""
    if not isinstance(value, Reading):
        return value
    return UNLIMITED if math.isinf(value.value) else value.value


def _actions(rule: DebuggerRule, rulebook: Rulebook, known: Known) -> Iterator[ActionAdvised]:
    """The actions of a rule, those left out that are done already."""
    for action in rule.then:
        knob = rulebook.knobs[action.knob]
        present = known.get(knob.metric) if knob.metric else None
        if _is_done(action, rule, present, known):
            continue
        yield ActionAdvised.model_validate(
            {
                "id": action.action,
                "text": action.text,
                "knob": action.knob,
                "direction": action.direction,
                "from": None if present is None else shown(present),
                "to": _target(action, rule, known),
                "effect": action.expect,
                "cost": action.cost,
                "safe": action.safe,
                "flags": dict(knob.flags),
            }
        )


def _is_done(action: Action, rule: DebuggerRule, present: Value | None, known: Known) -> bool:
    if action.unless is not None and judge(action.unless, rule.thresholds, known):
        return True
    return isinstance(action.to, bool | str) and present == action.to


def _target(action: Action, rule: DebuggerRule, known: Known) -> Shown | None:
    if not isinstance(action.to, Target):
        return action.to
    base = known.get(action.to.of)
    factor = float(rule.thresholds[action.to.times].value) if action.to.times else 1.0
    # Every knob with a computed value is a count.
    return math.ceil(base.value * factor) if isinstance(base, Reading) else None


def _path(graph: nx.DiGraph[str], one: Branch, actions: tuple[ActionAdvised, ...]) -> tuple[str, ...]:
    """The nodes from the symptom to the first action that is left to do."""
    evidence, cause = f"evidence:{one.rule.id}", f"cause:{one.rule.id}"
    names = steps(graph, cause, "calls-for")
    left = [f"action:{one.rule.id}/{action.id}" for action in actions]
    return (f"symptom:{one.symptom.id}", evidence, cause, *(name for name in names if name in left[:1]))


def _open(passed: Walk, known: Known) -> Iterator[OpenFinding]:
    for one in passed.branches:
        if one.holds is None:
            unknown = sorted(name for name in one.rule.when.metrics() if name not in known)
            coarse = sorted(
                name
                for name in one.rule.when.metrics()
                if isinstance(reading := known.get(name), Reading) and not reading.exact
            )
            yield OpenFinding(
                rule=one.rule.id,
                title=one.rule.title,
                layer=one.rule.layer,
                symptom=one.symptom.id,
                unknown=tuple(unknown or coarse),
            )
