"""The decision graph as GraphML, for Gephi, yEd and other programs that look at graphs."""

from __future__ import annotations

import networkx as nx


def graphml(graph: nx.DiGraph[str]) -> str:
    """The graph with the attributes of its nodes and edges."""
    return "\n".join(nx.generate_graphml(graph)) + "\n"
