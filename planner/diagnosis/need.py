"""The measurement that would decide most between the causes that are still open.

For every metric that is unknown (or known too coarsely) its possible values are cut where a comparison of an
open question turns: below, at and above every threshold, every name, true and false. In each of these
regions the questions are judged again. The gain of a metric is the mean number of questions that become
decided, all regions weighing the same; it never guesses a value. Ties go to the metric that also settles more
of the supporting and contrary evidence, and then to the first by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from planner.diagnosis.rank import step
from planner.diagnosis.truth import Thresholds, judge, right_side
from planner.diagnosis.walk import Branch, Walk
from planner.schema.conditions import Condition
from planner.schema.debugger import Rulebook
from planner.schema.known import Known, Value
from planner.schema.metrics import METRICS
from planner.schema.readings import Reading

MOST = 3
"""Metrics named at most; the first one is the answer, the others settle what it leaves."""
_ANOTHER = "another name"


@dataclass(frozen=True)
class Question:
    """A condition that was not decided."""

    condition: Condition
    thresholds: Thresholds
    is_cause: bool
    """It makes or breaks a finding; otherwise it only ranks one."""


def needed(walk: Walk, rulebook: Rulebook, known: Known) -> tuple[str, ...]:
    """Metrics to measure next, the one that decides most first; empty when nothing is open."""
    questions = _questions(walk) or _first_look(walk, rulebook)
    chosen: list[str] = []
    while questions and len(chosen) < MOST:
        best = _best(questions, known, chosen)
        if best is None:
            break
        chosen.append(best)
        questions = [one for one in questions if not _may_decide(one, best, known)]
        if not any(one.is_cause for one in questions):
            break
    return tuple(chosen)


def _questions(walk: Walk) -> list[Question]:
    """What is open about symptoms that no finding accounts for; else, what would part equal findings."""
    found = [one for one in walk.branches if one.holds]
    accounted = {name for one in found for name in one.rule.symptoms}
    questions = [
        Question(one.rule.when, one.rule.thresholds, is_cause=True)
        for one in walk.branches
        if one.holds is None and not accounted.intersection(one.rule.symptoms)
    ]
    return [*questions, *_tie_breakers(found)]


def _tie_breakers(found: Sequence[Branch]) -> Iterator[Question]:
    for one in found:
        rivals = [other for other in found if other.symptom.id == one.symptom.id and step(other) == step(one)]
        if len(rivals) > 1:
            pairs = [
                *zip(one.rule.supports, one.supports, strict=True),
                *zip(one.rule.against, one.against, strict=True),
            ]
            unknown = [condition for condition, truth in pairs if truth is None]
            if one.in_doubt and one.rule.unless is not None:
                unknown.append(one.rule.unless)
            yield from (Question(part, one.rule.thresholds, is_cause=False) for part in unknown)


def _first_look(walk: Walk, rulebook: Rulebook) -> list[Question]:
    """Where no symptom could be judged at all, the symptoms themselves are the questions."""
    if len(walk.unjudged) < len(rulebook.symptoms):
        return []
    return [Question(one.when, one.thresholds, is_cause=True) for one in walk.unjudged]


def _best(questions: Sequence[Question], known: Known, chosen: Sequence[str]) -> str | None:
    names = sorted({name for one in questions for name in one.condition.metrics()} - set(chosen))
    gains = {name: _gain(name, questions, known) for name in names if _is_open(known.get(name))}
    best = max(gains, key=lambda name: gains[name], default=None)  # of equal ones the first by name
    return best if best is not None and any(gains[best]) else None


def _gain(metric: str, questions: Sequence[Question], known: Known) -> tuple[Fraction, Fraction]:
    """Mean number of causes decided, and of other questions."""
    regions = list(_regions(metric, questions, known))
    decided = [0, 0]
    for value in regions:
        for one in questions:
            if judge(one.condition, one.thresholds, {**known, metric: value}) is not None:
                decided[not one.is_cause] += 1
    return Fraction(decided[0], len(regions)), Fraction(decided[1], len(regions))


def _may_decide(question: Question, metric: str, known: Known) -> bool:
    return any(_gain(metric, [question], known))


def _is_open(reading: Value | None) -> bool:
    return reading is None or (isinstance(reading, Reading) and not reading.exact)


def _regions(metric: str, questions: Sequence[Question], known: Known) -> Iterator[Value]:
    """One value of every region in which all comparisons have the same outcome."""
    kind = METRICS[metric].kind
    if kind == "flag":
        yield from (False, True)
    elif kind == "name":
        yield from METRICS[metric].names or (*_names(metric, questions), _ANOTHER)
    else:
        reading = known.get(metric)
        bounds = reading if isinstance(reading, Reading) else METRICS[metric]
        low, high = bounds.low, bounds.high
        turns = sorted(turn for turn in set(_turns(metric, questions, known)) if low <= turn <= high)
        for value in _between(low, turns, high):
            yield Reading.exactly(value)


def _names(metric: str, questions: Sequence[Question]) -> list[str]:
    values = (
        part.value for one in questions for part in one.condition.comparisons() if part.metric == metric
    )
    return sorted(
        {name for value in values for name in (value if isinstance(value, tuple) else (str(value),))}
    )


def _turns(metric: str, questions: Sequence[Question], known: Known) -> Iterator[float]:
    """Numbers at which a comparison with this metric changes."""
    for one in questions:
        for part in one.condition.comparisons():
            if part.metric == metric:
                right = right_side(part, one.thresholds, known)
                if isinstance(right, Reading):
                    yield from (right.low, right.high)
            elif part.of == metric:
                left = known.get(str(part.metric))
                factor = float(one.thresholds[part.times].value) if part.times else 1.0
                if isinstance(left, Reading):
                    yield from (left.low / factor, left.high / factor)


def _between(low: float, turns: Sequence[float], high: float) -> Iterator[float]:
    """The turns themselves and a value in every gap around them."""
    finite = [turn for turn in turns if math.isfinite(turn)]
    edges = [low, *finite, high]
    for left, right in pairwise(edges):
        if left < right:
            yield _inside(left, right)
    yield from finite
    if any(math.isinf(turn) for turn in turns):
        yield math.inf


def _inside(left: float, right: float) -> float:
    if math.isinf(left) and math.isinf(right):
        return 0.0
    if math.isinf(right):
        return left + max(abs(left), 1.0)
    return right - max(abs(right), 1.0) if math.isinf(left) else (left + right) / 2.0
