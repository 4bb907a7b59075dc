"""The decision graph in every form: the same nodes and edges, and text that other programs can read."""

import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import networkx as nx
import pytest

from planner.app.diagnose import checked_rulebook
from planner.app.rule_graph import rules_graph
from planner.diagnosis.graph import build
from planner.errors import InputError

BOOK = checked_rulebook()
GRAPH = build(BOOK)


def test_every_path_runs_from_a_symptom_to_an_action():
    kinds = dict(GRAPH.nodes(data="kind"))
    roots = {node for node, kind in kinds.items() if kind == "symptom"}
    reached = roots.union(*(nx.descendants(GRAPH, root) for root in roots))
    assert reached == set(GRAPH)
    for node, kind in kinds.items():
        if kind == "cause":
            assert any(kinds[other] == "action" for other in GRAPH.successors(node))
        elif kind == "action":
            assert any(kinds[other] in ("stop", "evidence") for other in GRAPH.successors(node))


def test_graphml_reads_back_as_the_same_graph():
    back = nx.parse_graphml(rules_graph("graphml"))
    assert set(back.nodes(data="kind")) == set(GRAPH.nodes(data="kind"))
    assert set(back.edges(data="kind")) == set(GRAPH.edges(data="kind"))


@pytest.mark.parametrize("form", ["dot", "mermaid"])
def test_text_forms_hold_every_node_and_edge(form):
    text = rules_graph(form)
    arrows = text.count(" -> ") if form == "dot" else text.count(" --> ") + text.count(" .-> ")
    assert arrows == GRAPH.number_of_edges()
    assert all(rule.title in text.replace("\\n", " ") for rule in BOOK.rules.values())


def test_the_picture_shows_every_symptom_cause_and_knob():
    drawn = ElementTree.fromstring(rules_graph("svg"))
    words = {node.text for node in drawn.iter("{http://www.w3.org/2000/svg}text")}
    assert {rule.title for rule in BOOK.rules.values()} <= words
    assert {symptom.title for symptom in BOOK.symptoms.values()} <= words
    assert {action.knob for rule in BOOK.rules.values() for action in rule.then} <= words


def test_boxes_of_the_picture_do_not_overlap():
    drawn = ElementTree.fromstring(rules_graph("svg"))
    boxes = [node.attrib for node in drawn.iter("{http://www.w3.org/2000/svg}rect") if node.get("rx")]
    places = sorted((float(box["x"]), float(box["y"])) for box in boxes)
    for (x, upper), (other, lower) in pairwise(places):
        assert x != other or lower - upper >= 30


def test_a_part_of_the_graph():
    text = rules_graph("dot", layer="L6")
    assert "cause:clients-resend-history" in text
    assert "cause:images-differ" not in text
    with pytest.raises(InputError, match='Maybe "slow-tokens"'):
        rules_graph("dot", symptom="slow-token")
