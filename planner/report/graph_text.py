"""The decision graph as DOT (Graphviz) and as Mermaid: every node, every edge, rules grouped by layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.characters import spelled
from planner.report.graph_colors import LAYER_FILL, SEVERITY_FILL, layer_title
from planner.schema.debugger_words import LAYERS
from planner.schema.decision_graph import DecisionGraph, Node, NodeKind

_DOT_SHAPES: Mapping[NodeKind, str] = {
    "symptom": "octagon",
    "evidence": "diamond",
    "cause": "box",
    "action": "note",
    "stop": "oval",
}
_MERMAID_SHAPES: Mapping[NodeKind, tuple[str, str]] = {
    "symptom": ("([", "])"),
    "evidence": ("{{", "}}"),
    "cause": ("[", "]"),
    "action": ("[/", "/]"),
    "stop": ("((", "))"),
}
_DASHED = ("next", "explains")


def dot(graph: DecisionGraph) -> str:
    """The graph for ``dot -Tsvg``."""
    lines = ["digraph decisions {", "  rankdir=LR;", '  node [fontname="Helvetica", fontsize=10];']
    lines += [f"  {_dot_node(node)}" for node in graph.nodes if not node.layer]
    for number, (layer, nodes) in enumerate(_by_layer(graph)):
        lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted(layer_title(layer))};"]
        lines += [f"    {_dot_node(node)}" for node in nodes]
        lines.append("  }")
    for edge in graph.edges:
        style = f' [style=dashed, label="{edge.kind}"]' if edge.kind in _DASHED else ""
        lines.append(f"  {_quoted(edge.source)} -> {_quoted(edge.target)}{style};")
    return "\n".join([*lines, "}"]) + "\n"


def mermaid(graph: DecisionGraph) -> str:
    """The graph as a Mermaid flowchart, as Markdown pages show it."""
    names = {node.id: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["flowchart LR"]
    lines += [f"  {_mermaid_node(node, names)}" for node in graph.nodes if not node.layer]
    for layer, nodes in _by_layer(graph):
        lines.append(f'  subgraph {layer}["{layer_title(layer)}"]')
        lines += [f"    {_mermaid_node(node, names)}" for node in nodes]
        lines.append("  end")
    for edge in graph.edges:
        arrow = f"-. {edge.kind} .->" if edge.kind in _DASHED else "-->"
        lines.append(f"  {names[edge.source]} {arrow} {names[edge.target]}")
    return "\n".join(lines) + "\n"


def _by_layer(graph: DecisionGraph) -> Iterator[tuple[str, list[Node]]]:
    for layer in LAYERS:
        nodes = [node for node in graph.nodes if node.layer == layer]
        if nodes:
            yield layer, nodes


def _words(node: Node) -> str:
    return f"{node.title} ({node.knob})" if node.knob else node.title


def _dot_node(node: Node) -> str:
    fill = SEVERITY_FILL.get(node.severity) or LAYER_FILL.get(node.layer, "#ffffff")
    return (
        f"{_quoted(node.id)} [label={_quoted(_wrapped(_words(node)))}, shape={_DOT_SHAPES[node.kind]}, "
        f'style=filled, fillcolor="{fill}"];'
    )


def _mermaid_node(node: Node, names: Mapping[str, str]) -> str:
    opened, closed = _MERMAID_SHAPES[node.kind]
    words = spelled(_words(node)).replace('"', "#quot;")
    return f'{names[node.id]}{opened}"{words}"{closed}'


def _quoted(text: str) -> str:
    lines = (spelled(line.replace("\\", "\\\\").replace('"', '\\"')) for line in text.split("\n"))
    return '"' + "\\n".join(lines) + '"'


def _wrapped(text: str, width: int = 32) -> str:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) > width and lines[-1]:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)
