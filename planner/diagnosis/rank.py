"""The order of findings: causes before their consequences, the worse symptom first, then by evidence.

A finding starts on the step of its rule's strength (suggestive, strong, conclusive). Every supporting piece
of evidence that holds moves it one step up, every contrary one a step down. Unknown ones move nothing, but
not knowing what would rule the cause out costs a step. Equal findings stand in the order of their ids, so
that the same observation gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.diagnosis.walk import Branch
from planner.schema.debugger_words import SEVERITIES, STRENGTHS


def ranked(found: Sequence[Branch]) -> list[tuple[Branch, tuple[str, ...]]]:
    """Findings, most likely first, each with the ids of the findings that explain it."""
    explained = {one.rule.id: explanations(one, found) for one in found}
    depth = {one.rule.id: _depth(one.rule.id, explained) for one in found}
    ordered = sorted(
        found,
        key=lambda one: (
            depth[one.rule.id],
            SEVERITIES.index(one.symptom.severity),
            -step(one),
            one.rule.id,
        ),
    )
    return [(one, explained[one.rule.id]) for one in ordered]


def explanations(one: Branch, found: Sequence[Branch]) -> tuple[str, ...]:
    """Ids of the findings of which this one is a consequence."""
    return tuple(sorted(other.rule.id for other in found if one.rule.id in other.rule.explains))


def step(one: Branch) -> int:
    """Where a finding stands on the ladder of evidence."""
    doubts = one.against.count(True) + one.in_doubt
    return STRENGTHS.index(one.rule.strength) + one.supports.count(True) - doubts


def _depth(rule_id: str, explained: dict[str, tuple[str, ...]]) -> int:
    """How many causes stand behind a finding; the checks refuse circles."""
    return max((1 + _depth(other, explained) for other in explained[rule_id]), default=0)
