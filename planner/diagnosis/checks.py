"""What can be wrong with the rules as a whole, beyond what a single file shows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import networkx as nx

from planner.diagnosis.resize import RULE
from planner.errors import Fault, nearest
from planner.schema.debugger import DebuggerRule, Rulebook


def faults_of(rulebook: Rulebook, examples: Path | None = None) -> tuple[Fault, ...]:
    """Everything wrong with the decision graph, by file.

    Args:
        rulebook: the rules.
        examples: folder with ``<rule>/fires-*.yaml`` and ``<rule>/silent-*.yaml``; not checked where absent.
    """
    found = [*_taken(rulebook), *_unknown_names(rulebook), *_loose_ends(rulebook), *_order(rulebook)]
    if not found:  # the graph of names that do not exist means nothing
        found += [*_endless(rulebook), *_circular_explanations(rulebook)]
    if examples is not None:
        found += _examples(rulebook, examples)
    return tuple(sorted(found))


def _unknown_names(rulebook: Rulebook) -> Iterator[Fault]:
    rules, symptoms = tuple(rulebook.rules), tuple(rulebook.symptoms)
    for rule in rulebook.rules.values():
        for key, names, known, what in (
            ("symptom", rule.symptoms, symptoms, "the id of a symptom: nothing else leads to this rule"),
            ("next", rule.next, rules, "the id of a rule"),
            ("explains", rule.explains, rules, "the id of a rule"),
        ):
            for name in names:
                if name not in known:
                    yield _fault(rulebook, rule, key, f'"{name}"', what, nearest(name, known))
        for number, action in enumerate(rule.then):
            if action.knob not in rulebook.knobs:
                found, known = f'the knob "{action.knob}"', tuple(rulebook.knobs)
                expected = "a knob described in catalog/knobs"
                yield _fault(
                    rulebook, rule, f"then.{number}.knob", found, expected, nearest(action.knob, known)
                )


def _taken(rulebook: Rulebook) -> Iterator[Fault]:
    """The id of the finding that needs a plan and is no file."""
    if RULE in rulebook.rules:
        yield _fault(rulebook, rulebook.rules[RULE], "id", f'"{RULE}", which is built in', "an id of its own")


def _loose_ends(rulebook: Rulebook) -> Iterator[Fault]:
    """Orphans: symptoms that lead nowhere. Dead ends: causes without anything next and without a stop."""
    used = {name for rule in rulebook.rules.values() for name in rule.symptoms}
    for name in rulebook.symptoms:
        if name not in used:
            where = rulebook.places[f"symptom/{name}"]
            yield Fault(where, "id", f'the symptom "{name}", which no rule names', "a rule that explains it")
    for rule in rulebook.rules.values():
        if not rule.next and rule.stop is None:
            yield _fault(rulebook, rule, "next", "a dead end", "rules to look at next, or a stop")


def _order(rulebook: Rulebook) -> Iterator[Fault]:
    for rule in rulebook.rules.values():
        for number, (before, after) in enumerate(pairwise(rule.then), start=1):
            if after.place < before.place:
                found = f'"{after.action}", which is cheaper or safer than "{before.action}" before it'
                yield _fault(rulebook, rule, f"then.{number}", found, "actions cheapest and safest first")
        names = [action.action for action in rule.then]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield _fault(rulebook, rule, "then", f'two actions "{name}"', "every action once")


def _endless(rulebook: Rulebook) -> Iterator[Fault]:
    """Circles of ``next`` in which no rule says when to stop."""
    onward = nx.DiGraph(
        [(rule.id, other) for rule in rulebook.rules.values() if rule.stop is None for other in rule.next]
    )
    yield from _circles(rulebook, onward, "next", "a stop in one of these rules")


def _circular_explanations(rulebook: Rulebook) -> Iterator[Fault]:
    graph = nx.DiGraph([(rule.id, other) for rule in rulebook.rules.values() for other in rule.explains])
    yield from _circles(rulebook, graph, "explains", "causes that do not explain each other")


def _circles(rulebook: Rulebook, graph: nx.DiGraph[str], key: str, expected: str) -> Iterator[Fault]:
    for members in sorted(map(sorted, nx.strongly_connected_components(graph))):
        first = members[0]
        if len(members) > 1 or graph.has_edge(first, first):
            around = [source for source, _ in nx.find_cycle(graph.subgraph(members), first)]
            rule = rulebook.rules[around[0]]
            yield _fault(rulebook, rule, key, f"the circle {' -> '.join([*around, around[0]])}", expected)


def _examples(rulebook: Rulebook, folder: Path) -> Iterator[Fault]:
    for rule in rulebook.rules.values():
        stems = [path.stem for path in sorted((folder / rule.id).glob("*.yaml"))]
        for kind in ("fires-", "silent-"):
            if not any(stem.startswith(kind) for stem in stems):
                expected = f"{folder / rule.id}/{kind}*.yaml"
                yield _fault(rulebook, rule, "id", f"no example in which it {_DOES[kind]}", expected)


_DOES = {"fires-": "fires", "silent-": "stays silent"}


def _fault(
    rulebook: Rulebook, rule: DebuggerRule, key: str, found: str, expected: str, maybe: str = ""
) -> Fault:
    return Fault(rulebook.places[f"rule/{rule.id}"], key, found, expected, maybe)
