"""The decision graph as plain records, for whoever draws or writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NodeKind = Literal["symptom", "evidence", "cause", "action", "stop"]
EdgeKind = Literal["shows", "proves", "calls-for", "ends", "next", "explains"]


@dataclass(frozen=True)
class Node:
    """A point of the decision graph."""

    id: str
    """``KIND:NAME``, such as ``cause:kv-cache-too-small``."""
    kind: NodeKind
    title: str
    rule: str = ""
    """The rule it belongs to; empty for a symptom."""
    layer: str = ""
    knob: str = ""
    """What an action turns."""
    severity: str = ""
    """How bad a symptom is."""


@dataclass(frozen=True)
class Edge:
    """A step from one node to another."""

    source: str
    target: str
    kind: EdgeKind


@dataclass(frozen=True)
class DecisionGraph:
    """Nodes and edges in a fixed order."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
