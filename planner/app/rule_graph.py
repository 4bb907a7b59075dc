"""The decision graph of the debugger in the forms that other programs read."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from planner.app.diagnose import checked_rulebook
from planner.diagnosis.graph import about, build, plain
from planner.diagnosis.graphml import graphml
from planner.errors import input_error, nearest
from planner.report import graph_svg, graph_text
from planner.schema.debugger_words import LAYERS

Format = Literal["dot", "mermaid", "graphml", "svg"]
FORMATS: tuple[Format, ...] = ("dot", "mermaid", "graphml", "svg")


def rules_graph(
    form: Format, overlays: tuple[Path, ...] = (), symptom: str | None = None, layer: str | None = None
) -> str:
    """The graph, or the part of it that belongs to a symptom or a layer, as text.

    Raises:
        InputError: an unknown symptom or layer; everything wrong with the rules.
    """
    rulebook = checked_rulebook(overlays)
    for flag, name, known in (("--symptom", symptom, rulebook.symptoms), ("--layer", layer, LAYERS)):
        if name is not None and name not in known:
            expected = f"one of {', '.join(known)}"
            raise input_error("planner rules graph", flag, f'"{name}"', expected, nearest(name, tuple(known)))
    graph = build(about(rulebook, symptom, layer))
    if form == "graphml":
        return graphml(graph)
    draw = {"dot": graph_text.dot, "mermaid": graph_text.mermaid, "svg": graph_svg.draw}[form]
    return draw(plain(graph))
