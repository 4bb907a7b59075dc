"""The walk over the decision graph: from the symptoms that are seen to every cause they may have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import networkx as nx

from planner.diagnosis.graph import steps
from planner.diagnosis.truth import Truth, judge
from planner.schema.debugger import DebuggerRule, Hint, Rulebook, Symptom
from planner.schema.debugger_words import SEVERITIES
from planner.schema.known import Known


@dataclass(frozen=True)
class Branch:
    """A cause reached from a symptom that is seen, with what the evidence says about it."""

    rule: DebuggerRule
    symptom: Symptom
    """The first symptom of the rule that is seen."""
    holds: Truth
    """Whether the evidence is there; None where it was not observed."""
    in_doubt: bool
    """What would rule it out was not observed."""
    hints: tuple[Hint, ...]
    """Partial evidence that makes it possible while ``holds`` is None."""
    supports: tuple[Truth, ...]
    against: tuple[Truth, ...]

    @property
    def possible(self) -> bool:
        """Neither shown nor excluded, and something speaks for it."""
        return self.holds is None and bool(self.hints)


@dataclass(frozen=True)
class Walk:
    """Everything that was passed on the way."""

    seen: tuple[Symptom, ...]
    """The worst first."""
    unjudged: tuple[Symptom, ...]
    branches: tuple[Branch, ...]
    """Causes that are there or may be there."""
    excluded: tuple[Branch, ...] = ()
    """Causes that the observation rules out."""


def walk(graph: nx.DiGraph[str], rulebook: Rulebook, known: Known) -> Walk:
    """Walk from every symptom that is seen; where evidence is unknown, keep the branch open."""
    truths = {one.id: is_seen(one, known) for one in rulebook.symptoms.values()}
    seen = sorted(
        (one for one in rulebook.symptoms.values() if truths[one.id]),
        key=lambda one: (SEVERITIES.index(one.severity), one.id),
    )
    reached = dict.fromkeys(rule_id for one in seen for rule_id in _rules_from(graph, one))
    branches = [branch(rulebook, rulebook.rules[rule_id], truths, known) for rule_id in reached]
    return Walk(
        tuple(seen),
        tuple(one for one in rulebook.symptoms.values() if truths[one.id] is None),
        tuple(one for one in branches if one.holds is not False),
        tuple(one for one in branches if one.holds is False),
    )


def is_seen(symptom: Symptom, known: Known) -> Truth:
    """Whether a symptom is seen."""
    if symptom.unless is not None and judge(symptom.unless, symptom.thresholds, known):
        return False
    return judge(symptom.when, symptom.thresholds, known)


def branch(rulebook: Rulebook, rule: DebuggerRule, truths: dict[str, Truth], known: Known) -> Branch:
    """What the known say about one rule of which some symptom is seen."""
    symptom = next(name for name in rule.symptoms if truths[name])
    ruled_out = judge(rule.unless, rule.thresholds, known) if rule.unless else False
    return Branch(
        rule,
        rulebook.symptoms[symptom],
        False if ruled_out else judge(rule.when, rule.thresholds, known),
        ruled_out is None,
        tuple(one for one in rule.possible if _counts(one, rule, known)),
        tuple(judge(one, rule.thresholds, known) for one in rule.supports),
        tuple(judge(one, rule.thresholds, known) for one in rule.against),
    )


def _counts(hint: Hint, rule: DebuggerRule, known: Known) -> bool:
    if hint.unless is not None and judge(hint.unless, rule.thresholds, known):
        return False
    return judge(hint.when, rule.thresholds, known) is True


def _rules_from(graph: nx.DiGraph[str], symptom: Symptom) -> Iterator[str]:
    for evidence in steps(graph, f"symptom:{symptom.id}", "shows"):
        yield graph.nodes[evidence]["rule"]
