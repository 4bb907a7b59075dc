"""The decision graph as a picture: symptoms on the left, causes by layer in the middle, knobs on the right.

A box of the middle stands for the evidence and the cause of one rule; a curve leads to every knob that its
actions turn, strong for the first one. Nodes in the outer columns stand near what they are joined with (the
mean place of their neighbors), so that few curves cross.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from planner.characters import xml
from planner.report.graph_colors import LAYER_FILL, SEVERITY_FILL, layer_title
from planner.schema.debugger_words import LAYERS, SEVERITIES
from planner.schema.decision_graph import DecisionGraph, Node

WIDTH, TOP, ROW, GAP = 1484, 92, 34, 26
SYMPTOM_X, SYMPTOM_W = 24, 490
CAUSE_X, CAUSE_W = 664, 490
KNOB_X, KNOB_W = 1290, 170
BOX_H = 26
_FONT = "font-family='Helvetica, Arial, sans-serif'"
_INK = "#1f2a33"


@dataclass(frozen=True)
class _Box:
    x: float
    y: float
    width: float
    words: str
    fill: str

    @property
    def middle(self) -> float:
        return self.y + BOX_H / 2.0


def draw(graph: DecisionGraph) -> str:
    """The graph as one SVG document."""
    causes, headings, bottom = _causes(graph)
    links = list(_links(graph))
    symptoms = _column(_symptom_boxes(graph), [*_shows(graph)], causes, bottom)
    knobs = _column(_knob_boxes(links), [(knob, rule) for rule, knob, _ in links], causes, bottom)
    height = bottom + 64
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{height:.0f}' "
        f"viewBox='0 0 {WIDTH} {height:.0f}' role='img'>",
        "<title>Decision graph of the production debugger</title>",
        f"<rect width='{WIDTH}' height='{height:.0f}' fill='white'/>",
        _text(SYMPTOM_X, 34, "Decision graph: from symptoms to causes to knobs", 20, bold=True),
        *(_text(x, 66, words, 14, bold=True) for x, words in _HEADINGS),
        *(_curve(symptoms[s], causes[r], _stroke(symptoms[s].fill), 1.8) for s, r in _shows(graph)),
        *(_knob_curve(causes[rule], knobs[knob], first) for rule, knob, first in sorted(links, key=_last)),
        *(_text(CAUSE_X, y, words, 12, color="#55606a", bold=True) for words, y in headings),
        *(_box(box) for column in (symptoms, causes, knobs) for box in column.values()),
        *_legend(height),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


_HEADINGS = (
    (SYMPTOM_X, "What is seen"),
    (CAUSE_X, "Cause, by the layer with authority over it"),
    (KNOB_X, "What to turn"),
)


def _causes(graph: DecisionGraph) -> tuple[dict[str, _Box], list[tuple[str, float]], float]:
    """Boxes of rules by layer from client to silicon, headings of layers, and the lower end."""
    boxes: dict[str, _Box] = {}
    headings: list[tuple[str, float]] = []
    y = float(TOP)
    for layer in reversed(tuple(LAYERS)):
        nodes = [node for node in graph.nodes if node.kind == "evidence" and node.layer == layer]
        if not nodes:
            continue
        headings.append((layer_title(layer), y + 12))
        y += 20
        for node in nodes:
            boxes[node.rule] = _Box(CAUSE_X, y, CAUSE_W, node.title, LAYER_FILL[layer])
            y += ROW
        y += GAP - 8
    return boxes, headings, y


def _shows(graph: DecisionGraph) -> Iterator[tuple[str, str]]:
    rules = {node.id: node.rule for node in graph.nodes}
    for edge in graph.edges:
        if edge.kind == "shows":
            yield edge.source, rules[edge.target]


def _links(graph: DecisionGraph) -> Iterator[tuple[str, str, bool]]:
    """Rule, knob, and whether the first action of the rule turns it; every pair once."""
    seen: dict[str, list[str]] = {}
    for node in graph.nodes:
        if node.kind == "action":
            knobs = seen.setdefault(node.rule, [])
            if node.knob not in knobs:
                knobs.append(node.knob)
    for rule, knobs in seen.items():
        yield from ((rule, knob, number == 0) for number, knob in enumerate(knobs))


def _last(link: tuple[str, str, bool]) -> bool:
    return link[2]  # strong curves are drawn over weak ones


def _symptom_boxes(graph: DecisionGraph) -> dict[str, _Box]:
    nodes: Sequence[Node] = [node for node in graph.nodes if node.kind == "symptom"]
    return {
        node.id: _Box(SYMPTOM_X, 0, SYMPTOM_W, node.title, SEVERITY_FILL[node.severity]) for node in nodes
    }


def _knob_boxes(links: Iterable[tuple[str, str, bool]]) -> dict[str, _Box]:
    return {knob: _Box(KNOB_X, 0, KNOB_W, knob, "#ffffff") for _, knob, _ in links}


def _column(
    boxes: Mapping[str, _Box],
    joined: Sequence[tuple[str, str]],
    causes: Mapping[str, _Box],
    bottom: float,
) -> dict[str, _Box]:
    """Boxes at the mean height of their neighbors, pushed apart where they would touch."""
    wanted = {name: [causes[rule].y for other, rule in joined if other == name] for name in boxes}
    order = sorted(boxes, key=lambda name: (_mean(wanted[name], TOP), name))
    heights: list[float] = []
    for name in order:
        least = heights[-1] + ROW if heights else float(TOP)
        heights.append(max(_mean(wanted[name], TOP), least))
    # What was pushed below the end moves back up, the last one first.
    limit = max(bottom - ROW, TOP + ROW * (len(order) - 1))
    for index in range(len(heights) - 1, -1, -1):
        heights[index] = min(heights[index], limit)
        limit = heights[index] - ROW
    return {
        name: _Box(boxes[name].x, y, boxes[name].width, boxes[name].words, boxes[name].fill)
        for name, y in zip(order, heights, strict=True)
    }


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _box(box: _Box) -> str:
    return (
        f"<rect x='{box.x:.1f}' y='{box.y:.1f}' width='{box.width:.1f}' height='{BOX_H}' rx='5' "
        f"fill='{box.fill}' stroke='#6b7680' stroke-width='1'/>"
        + _text(box.x + 10, box.middle + 4.5, _shortened(box.words, box.width), 13)
    )


def _shortened(words: str, width: float) -> str:
    most = int((width - 20) / 7.6)  # the widest average letter of a sans-serif font at 13
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


def _curve(left: _Box, right: _Box, color: str, thickness: float) -> str:
    x1, x2 = left.x + left.width, right.x
    bend = (x2 - x1) / 2.0
    return (
        f"<path d='M{x1:.1f} {left.middle:.1f} C{x1 + bend:.1f} {left.middle:.1f} {x2 - bend:.1f} "
        f"{right.middle:.1f} {x2:.1f} {right.middle:.1f}' fill='none' stroke='{color}' "
        f"stroke-width='{thickness}'/>"
    )


def _knob_curve(cause: _Box, knob: _Box, first: bool) -> str:
    return _curve(cause, knob, "#2f6690" if first else "#c4cdd4", 2.0 if first else 1.1)


def _stroke(fill: str) -> str:
    """A darker tone of a fill."""
    return "#" + "".join(f"{int(int(fill[at : at + 2], 16) * 0.78):02x}" for at in (1, 3, 5))


def _legend(height: float) -> Iterator[str]:
    x, y = float(SYMPTOM_X), height - 30
    for severity in SEVERITIES:
        yield (
            f"<rect x='{x:.1f}' y='{y:.1f}' width='16' height='12' fill='{SEVERITY_FILL[severity]}' "
            "stroke='#6b7680'/>"
        )
        yield _text(x + 22, y + 11, severity, 12)
        x += 110
    for words, color, thickness in (("first action", "#2f6690", 2.0), ("later action", "#c4cdd4", 1.1)):
        x += 20
        yield (
            f"<line x1='{x:.1f}' y1='{y + 6:.1f}' x2='{x + 30:.1f}' y2='{y + 6:.1f}' stroke='{color}' "
            f"stroke-width='{thickness}'/>"
        )
        yield _text(x + 38, y + 11, words, 12)
        x += 120


def _text(x: float, y: float, words: str, size: int, color: str = _INK, bold: bool = False) -> str:
    weight = " font-weight='bold'" if bold else ""
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' {_FONT} font-size='{size}'{weight} fill='{color}'>{xml(words)}</text>"
    )
