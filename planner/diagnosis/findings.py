"""The diagnosis document, out of a walk."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import networkx as nx

from planner.diagnosis.graph import steps
from planner.diagnosis.need import needed
from planner.diagnosis.rank import ranked, strength
from planner.diagnosis.settings import Setting, setting
from planner.diagnosis.truth import Ground, grounds, judge
from planner.diagnosis.walk import Branch, Walk, walk
from planner.schema.debugger import Action, DebuggerRule, Rulebook, Target
from planner.schema.debugger_words import SEVERITIES, STATES, Severity, State, Strength
from planner.schema.diagnosis import (
    ActionAdvised,
    Diagnosis,
    EvidenceSeen,
    Excluded,
    Finding,
    OpenFinding,
    Ranking,
    Role,
    Shown,
)
from planner.schema.known import Known, Value
from planner.schema.metrics import METRICS, UNLIMITED
from planner.schema.readings import Reading


def diagnose(
    graph: nx.DiGraph[str], rulebook: Rulebook, known: Known, single_sample: bool = False
) -> Diagnosis:
    """Everything that the rules find in what is known, most likely first.

    Args:
        graph: of the rules.
        rulebook: the rules.
        known: what was observed.
        single_sample: gauges were read once only, so nothing is conclusive.
    """
    passed = walk(graph, rulebook, known)
    order = ranked([one for one in passed.branches if one.holds or one.possible])
    severities = [one.severity for one in passed.seen]
    measures = measures_of(rulebook)
    judged = tuple(name for name in measures if name in known)
    return Diagnosis(
        findings=tuple(
            _finding(graph, rulebook, one, because, known, strength(one, passed.branches, single_sample))
            for one, because in order
        ),
        judged=judged,
        measures=len(measures),
        severity=state_of(severities, bool(judged)),
        need=needed(passed, rulebook, known),
        symptoms=tuple(one.id for one in passed.seen),
        open=tuple(_open(passed, known)),
        excluded=tuple(
            Excluded(rule=one.rule.id, title=one.rule.title, layer=one.rule.layer, symptom=one.symptom.id)
            for one in passed.excluded
        ),
        titles={one.id: one.title for one in passed.seen},
        engine=engine if isinstance(engine := known.get("engine"), str) else None,
        unjudged=tuple(one.id for one in passed.unjudged),
    )


def measures_of(rulebook: Rulebook) -> tuple[str, ...]:
    """Everything whose value may show that something is wrong; settings are causes and no measures."""
    settings = {knob.metric for knob in rulebook.knobs.values()} | {"link"}
    named = {
        part.metric
        for symptom in rulebook.symptoms.values()
        for part in symptom.when.comparisons()
        if part.metric is not None
    }
    return tuple(name for name in METRICS if name in named - settings)


def state_of(severities: Sequence[Severity], judged: bool) -> State:
    """The state of the deployment: the worst symptom that is seen; unknown where nothing could be judged."""
    if not severities:
        return "healthy" if judged else "unknown"
    return STATES[min(severities, key=SEVERITIES.index)]


def _finding(
    graph: nx.DiGraph[str],
    rulebook: Rulebook,
    one: Branch,
    explained_by: tuple[str, ...],
    known: Known,
    surely: Strength,
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
        alternatives=rule.alternatives,
        look_at=_unknown(one, known) if one.possible else (),
        evidence=tuple(_evidence(one, known)),
        actions=actions,
        path=_path(graph, one, actions),
        next=rule.next,
        stop=rule.stop.text if rule.stop else None,
        ranking=Ranking(
            strength=surely,
            supports=one.supports.count(True),
            against=one.against.count(True),
            in_doubt=one.in_doubt or one.possible,
            possible=one.possible,
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
    parts += [("supports", grounds(hint.when, rule.thresholds, known)) for hint in one.hints]
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
    """The actions of a rule, those left out that are done already or that nothing justifies yet."""
    for action in rule.then:
        knob = rulebook.knobs[action.knob]
        present = known.get(knob.metric) if knob.metric else None
        if _is_done(action, rule, present, known):
            continue
        target = _target(action, rule, known)
        flags = {**knob.flags, **action.flags}
        before = None if present is None else shown(present)
        written = {
            engine: one
            for engine, flag in flags.items()
            if (
                one := setting(
                    action.knob,
                    action.direction,
                    flag,
                    before,
                    target,
                    _options_seen(rulebook, known, engine),
                )
            )
            is not None
        }
        as_set = written.get(str(known.get("engine"))) or _typed_on_host(action, known)
        yield ActionAdvised.model_validate(
            {
                "id": action.action,
                "text": action.text,
                "knob": action.knob,
                "direction": action.direction,
                "from": before,
                "to": target,
                "effect": action.expect,
                "cost": action.cost,
                "safe": action.safe,
                "flags": flags,
                "commands": {engine: one.command for engine, one in written.items()},
                "command": as_set.command if as_set else None,
                "undo": as_set.undo if as_set else None,
            }
        )


def _typed_on_host(action: Action, known: Known) -> Setting | None:
    """The command of the vendor; of all, each with its vendor, where it is unknown."""
    if not action.devices:
        return None
    named = "; ".join(f"{vendor}: {command}" for vendor, command in action.devices.items())
    vendor = known.get("gpu_vendor")
    command = named if vendor is None else next((c for v, c in action.devices.items() if v == vendor), None)
    return None if command is None else Setting(command, "its value of before")


def _options_seen(rulebook: Rulebook, known: Known, engine: str) -> dict[str, float]:
    """Options of an engine whose numbers were observed; a knob of several options is that of the last."""
    readings = {
        knob.flags[engine].split(", ")[-1]: known.get(knob.metric)
        for knob in rulebook.knobs.values()
        if knob.metric and engine in knob.flags
    }
    return {
        option: reading.value
        for option, reading in readings.items()
        if isinstance(reading, Reading) and math.isfinite(reading.value)
    }


def _is_done(action: Action, rule: DebuggerRule, present: Value | None, known: Known) -> bool:
    if action.unless is not None and judge(action.unless, rule.thresholds, known):
        return True
    if action.only_when is not None and not judge(action.only_when, rule.thresholds, known):
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
        if one.holds is None and not one.possible:
            yield OpenFinding(
                rule=one.rule.id,
                title=one.rule.title,
                layer=one.rule.layer,
                symptom=one.symptom.id,
                unknown=_unknown(one, known),
            )


def _unknown(one: Branch, known: Known) -> tuple[str, ...]:
    """What would settle a cause: what was not observed, else what is known too coarsely."""
    asked = sorted(one.rule.when.metrics())
    unknown = [name for name in asked if name not in known and not name.startswith("slo.")]
    coarse = [name for name in asked if isinstance(at := known.get(name), Reading) and not at.exact]
    return tuple(unknown or coarse)
