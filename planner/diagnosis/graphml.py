"""The decision graph as GraphML, for Gephi, yEd and other programs that look at graphs."""

from __future__ import annotations

from typing import Any

import networkx as nx

from planner.characters import spelled


def graphml(graph: nx.DiGraph[str]) -> str:
    """The graph with the attributes of its nodes and edges."""
    harmless: nx.DiGraph[str] = nx.DiGraph()
    harmless.add_nodes_from((spelled(name), _spelled(data)) for name, data in graph.nodes(data=True))
    harmless.add_edges_from((spelled(a), spelled(b), _spelled(data)) for a, b, data in graph.edges(data=True))
    return "\n".join(nx.generate_graphml(harmless)) + "\n"


def _spelled(data: dict[str, Any]) -> dict[str, Any]:
    return {key: spelled(value) if isinstance(value, str) else value for key, value in data.items()}
