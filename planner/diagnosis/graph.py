"""The decision graph: symptom -> evidence -> cause -> action, and on to the next cause or to the end.

``shows`` leads from a symptom to the evidence to look for, ``proves`` from evidence to its cause,
``calls-for`` from a cause to its actions, ``next`` from an action to the evidence of the cause that limits
afterwards, ``ends`` to the state in which to stop, and ``explains`` from a cause to its consequences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import networkx as nx

from planner.schema.debugger import DebuggerRule, Rulebook
from planner.schema.decision_graph import DecisionGraph, Edge, EdgeKind, Node, NodeKind


def build(rulebook: Rulebook) -> nx.DiGraph[str]:
    """The graph of a rulebook. References to rules that do not exist become nodes without a kind."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for symptom in rulebook.symptoms.values():
        _add(graph, Node(f"symptom:{symptom.id}", "symptom", symptom.title, severity=symptom.severity))
    for rule in rulebook.rules.values():
        for node in _nodes(rule):
            _add(graph, node)
    for rule in rulebook.rules.values():
        for edge in _edges(rule):
            graph.add_edge(edge.source, edge.target, kind=edge.kind)
    return graph


def plain(graph: nx.DiGraph[str]) -> DecisionGraph:
    """The graph as plain records, in the order in which it was built."""
    nodes = (Node(name, **attributes) for name, attributes in graph.nodes(data=True))
    edges = (Edge(source, target, kind) for source, target, kind in graph.edges(data="kind"))
    return DecisionGraph(tuple(nodes), tuple(edges))


def steps(graph: nx.DiGraph[str], node: str, kind: EdgeKind) -> list[str]:
    """The nodes that edges of one kind lead to, in the order of the rules."""
    return [target for _, target, found in graph.out_edges(node, data="kind") if found == kind]


def about(rulebook: Rulebook, symptom: str | None = None, layer: str | None = None) -> Rulebook:
    """The part of a rulebook that belongs to one symptom, one layer, or both."""
    rules = {
        rule.id: rule
        for rule in rulebook.rules.values()
        if symptom in (None, *rule.symptoms) and layer in (None, rule.layer)
    }
    kept = {
        rule.id: rule.model_copy(
            update={
                "next": tuple(name for name in rule.next if name in rules),
                "explains": tuple(name for name in rule.explains if name in rules),
                "symptom": tuple(name for name in rule.symptoms if symptom in (None, name)),
            }
        )
        for rule in rules.values()
    }
    named = {name for rule in kept.values() for name in rule.symptoms}
    symptoms = {name: one for name, one in rulebook.symptoms.items() if name in named}
    return Rulebook(symptoms, kept, rulebook.knobs, rulebook.places)


def _add(graph: nx.DiGraph[str], node: Node) -> None:
    attributes: dict[str, NodeKind | str] = {
        name: value for name, value in vars(node).items() if name != "id"
    }
    graph.add_node(node.id, **attributes)


def _nodes(rule: DebuggerRule) -> Iterator[Node]:
    yield Node(f"evidence:{rule.id}", "evidence", rule.title, rule.id, rule.layer)
    yield Node(f"cause:{rule.id}", "cause", rule.cause, rule.id, rule.layer)
    for action in rule.then:
        name = f"action:{rule.id}/{action.action}"
        yield Node(name, "action", action.text, rule.id, rule.layer, action.knob)
    if rule.stop is not None:
        yield Node(f"stop:{rule.id}", "stop", rule.stop.text, rule.id, rule.layer)


def _edges(rule: DebuggerRule) -> Iterable[Edge]:
    evidence, cause = f"evidence:{rule.id}", f"cause:{rule.id}"
    for symptom in rule.symptoms:
        yield Edge(f"symptom:{symptom}", evidence, "shows")
    yield Edge(evidence, cause, "proves")
    for action in rule.then:
        node = f"action:{rule.id}/{action.action}"
        yield Edge(cause, node, "calls-for")
        yield from (Edge(node, f"evidence:{other}", "next") for other in rule.next)
        if rule.stop is not None:
            yield Edge(node, f"stop:{rule.id}", "ends")
    yield from (Edge(cause, f"cause:{other}", "explains") for other in rule.explains)
