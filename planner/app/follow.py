"""The diagnostic loop: sample after sample, what limited before, what was turned, and what limits now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from planner.app.against_plan import PlanFile
from planner.app.diagnose import checked_rulebook, diagnose_readout
from planner.diagnosis.findings import shown
from planner.diagnosis.known import known_from
from planner.diagnosis.resize import RULE
from planner.diagnosis.truth import judge
from planner.schema.debugger import Rulebook
from planner.schema.diagnosis import Diagnosis, Finding, Move, Shift, Step, Turned
from planner.schema.known import Known, Value
from planner.schema.readings import Reading, Readout


@dataclass(frozen=True)
class Asked:
    """What holds for every sample."""

    overlays: tuple[Path, ...] = ()
    plan: PlanFile | None = None
    slo_s: Mapping[str, float] = field(default_factory=dict)


def follow(samples: Iterable[tuple[str, Readout]], asked: Asked) -> Iterator[Step]:
    """A step for each sample, as it comes.

    Args:
        samples: name and readout, in the order of time.
        asked: what holds for every sample.

    Raises:
        InputError: as `diagnose_readout`.
    """
    rulebook = checked_rulebook(asked.overlays)
    before: tuple[Diagnosis, Known] | None = None
    for source, readout in samples:
        found = diagnose_readout(readout, asked.overlays, plan=asked.plan, slo_s=asked.slo_s)
        known = known_from(readout)
        yield Step(
            source=source,
            move=None if before is None else moved(rulebook, *before, found, known),
            diagnosis=found,
        )
        before = found, known


def moved(rulebook: Rulebook, then: Diagnosis, known_then: Known, now: Diagnosis, known_now: Known) -> Move:
    """What happened to the bottleneck between two samples: the first finding counts."""
    before, after = _first(then), _first(now)
    rule = rulebook.rules.get(before.rule) if before else None
    stopped = rule is not None and rule.stop is not None
    return Move.model_validate(
        {
            "kind": _kind(before, after),
            "before": before.rule if before else None,
            "now": after.rule if after else None,
            "turned": tuple(_turned(rulebook, then, known_then, known_now)),
            "evidence": tuple(_shifts(before, known_now)) if before else (),
            "stop": rule.stop.text
            if stopped and rule and rule.stop and judge(rule.stop.when, rule.thresholds, known_now)
            else None,
        }
    )


def _first(found: Diagnosis) -> Finding | None:
    """The bottleneck; that the plan no longer fits is none while a cause is known."""
    causes = [one for one in found.findings if one.rule != RULE]
    return next(iter(causes or found.findings), None)


def _kind(before: Finding | None, after: Finding | None) -> str:
    if before is None:
        return "healthy" if after is None else "appeared"
    if after is None:
        return "solved"
    if after.rule == before.rule:
        return "same"
    return "expected" if after.rule in before.next else "elsewhere"


def _turned(rulebook: Rulebook, then: Diagnosis, known_then: Known, known_now: Known) -> Iterator[Turned]:
    """Settings that were observed both times and differ, with the action that advised it."""
    for knob in rulebook.knobs.values():
        old, new = (known.get(knob.metric) if knob.metric else None for known in (known_then, known_now))
        if old is not None and new is not None and old != new:
            advised = (one for finding in then.findings for one in finding.actions if one.knob == knob.id)
            action = next((one for one in advised if _agrees(one.direction, old, new)), None)
            yield Turned.model_validate(
                {
                    "knob": knob.id,
                    "from": shown(old),
                    "to": shown(new),
                    "action": action.id if action else None,
                }
            )


def _agrees(direction: str, old: Value, new: Value) -> bool:
    """A number that was to be lowered or raised went that way."""
    if isinstance(old, Reading) and isinstance(new, Reading):
        went = "raise" if new.value > old.value else "lower"
        return direction in (went, "set")
    return True


def _shifts(before: Finding, known_now: Known) -> Iterator[Shift]:
    for metric, value in {one.metric: one.value for one in before.evidence}.items():
        reading = known_now.get(metric)
        yield Shift(metric=metric, before=value, now=None if reading is None else shown(reading))
