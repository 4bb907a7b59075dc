"""The order of findings: causes before consequences, shown before possible, the worse symptom, then evidence.

A finding starts on the step of its rule's strength (suggestive, strong, conclusive). Every supporting piece
of evidence that holds moves it one step up, every contrary one a step down. Unknown ones move nothing, but
not knowing what would rule the cause out costs a step. A possible cause stands behind those that are shown,
unless it explains one that is only suggestive. Equal findings stand in the order of their ids, so
that the same observation gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.diagnosis.walk import Branch
from planner.schema.debugger_words import SEVERITIES, STRENGTHS, Strength


def ranked(found: Sequence[Branch]) -> list[tuple[Branch, tuple[str, ...]]]:
    """Findings, most likely first, each with the ids of the findings that explain it."""
    explained = {one.rule.id: explanations(one, found) for one in found}
    depth = {one.rule.id: _depth(one.rule.id, explained) for one in found}
    ordered = sorted(
        found,
        key=lambda one: (
            depth[one.rule.id],
            one.possible,
            SEVERITIES.index(one.symptom.severity),
            -step(one),
            one.rule.id,
        ),
    )
    return [(one, explained[one.rule.id]) for one in ordered]


def explanations(one: Branch, found: Sequence[Branch]) -> tuple[str, ...]:
    """Ids of the findings of which this one is a consequence."""
    shown = not one.possible and one.rule.strength != "suggestive"
    return tuple(
        sorted(
            other.rule.id
            for other in found
            if one.rule.id in other.rule.explains and not (shown and other.possible)
        )
    )


def strength(one: Branch, branches: Sequence[Branch], single_sample: bool = False) -> Strength:
    """How surely the evidence points at a cause, said honestly.

    Conclusive is only what leaves no other cause of the same symptom: every other one is excluded by what was
    observed, or a consequence, or the cause of this one. One sample of a gauge is never conclusive.
    """
    if one.possible:
        return "suggestive"
    if one.rule.strength != "conclusive":
        return one.rule.strength
    rivals = [
        other
        for other in branches
        if other.rule.id != one.rule.id
        and one.symptom.id in other.rule.symptoms
        and other.rule.id not in one.rule.explains
        and one.rule.id not in other.rule.explains
    ]
    return "strong" if rivals or single_sample or one.in_doubt else "conclusive"


def step(one: Branch) -> int:
    """Where a finding stands on the ladder of evidence."""
    told = one.supports.count(True) - one.against.count(True)
    if one.possible:  # in doubt, all of them
        return told
    return STRENGTHS.index(one.rule.strength) + told - one.in_doubt


def _depth(rule_id: str, explained: dict[str, tuple[str, ...]]) -> int:
    """How many causes stand behind a finding; the checks refuse circles."""
    return max((1 + _depth(other, explained) for other in explained[rule_id]), default=0)
