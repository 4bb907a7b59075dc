"""Whatever names hold, answers stay well-formed, start no formula, and steer no terminal."""

import csv
import io
import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import networkx as nx
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from planner.app.diagnose import checked_rulebook
from planner.characters import STEERING, cell, masked, spelled
from planner.diagnosis.graph import about, build, plain
from planner.diagnosis.graphml import graphml
from planner.interfaces import output
from planner.loaders.write import documents_yaml
from planner.report import graph_svg, graph_text, json_document, routes_text, terminal
from planner.report.charts.draw import picture
from planner.report.parts import bullets, pairs, section, table
from planner.schema.decision_graph import DecisionGraph
from planner.schema.fleet_out import Routes
from planner.schema.report import (
    Bar,
    BarChart,
    Dot,
    HourChart,
    HourPanel,
    HourSeries,
    LineChart,
    LinePanel,
    Part,
    StackChart,
    Track,
)

STRANGE = st.text(
    st.one_of(
        st.characters(),  # lone surrogates and characters without a meaning too
        st.sampled_from("=+-@\t\r\n\"',;<>&[]\\\x00\x1b\x7f\x9b\u202e\u2066\u2028\ufeff\ufffe\ud800"),
    ),
    max_size=30,
)
NASTY = (
    "=cmd|' /C calc'!A0", "@SUM(1)", "\t=1", "\r=1", "\x1b]0;title\x07", "\x1b[8m", "[bold]x[/bold]", "[link=http://x]",
    "a\u202eb", "\x00", "</text><script>", "]]>", "\ufffe", "\ud800", "#quot;", "a\nb", "",
)  # fmt: skip


GRAPH = plain(build(about(checked_rulebook(), None, "L0")))
PLAIN = [len(draw(GRAPH).splitlines()) for draw in (graph_text.dot, graph_text.mermaid)]
"""Lines of the graph with its own words."""


def hostile(test):
    for text in NASTY:
        test = example(text)(test)
    return given(STRANGE)(test)


def routes(name):
    pools = [{"pool": name, "share": 0.5, "weight": 500}, {"pool": "b", "share": 0.5, "weight": 500}]
    rows = [{"workload": name, "role": "serve", "buckets": [{"bucket": name, "pools": pools}]}]
    return {"problem": name, "period": None, "periods": 1, "workloads": rows}


@hostile
def test_cells_of_csv_start_no_formula_and_steer_nothing(name):
    found = Routes.model_validate(routes("x"))
    rows = [row.model_copy(update={"workload": name}) for row in found.workloads]
    noun = found.model_copy(update={"workloads": tuple(rows)})
    lines = list(csv.reader(io.StringIO(routes_text.as_csv(noun).decode(), newline="")))
    assert len(lines) == 3
    assert all(len(line) == 6 for line in lines)
    assert lines[1][0] == cell(name)
    assert not lines[1][0].startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    assert not STEERING.search(lines[1][0])


def test_charts_are_well_formed():
    title = " ".join(NASTY)
    tracks = tuple(Track(name, ((0.0, 1.0), (1.0, 2.0))) for name in NASTY[:4])
    dots = tuple(Dot(name, 1.0, 2.0) for name in NASTY)
    panel = LinePanel("y", tracks, dots, tuple((name, 1.5) for name in NASTY))
    hours = HourPanel("y", tuple(HourSeries(name, (1.0, 2.0)) for name in NASTY))
    bars = tuple(Bar(name, 1.0, name, 0.5, 2.0) for name in NASTY)
    page = picture(
        LineChart("a", title, title, "x", (panel,)),
        BarChart("b", title, title, "x", bars, 1.5),
        StackChart("c", title, title, "B", tuple(Part(name, name, 1e9) for name in NASTY)),
        HourChart("d", title, title, (hours,)),
    )
    assert ElementTree.fromstring(page).tag.endswith("svg")
    assert not STEERING.search(page.replace("\n", ""))
    assert "<script" not in page


@hostile
def test_graphs_are_well_formed(name):
    nodes = tuple(replace(node, title=name, knob=name if node.knob else "") for node in GRAPH.nodes)
    graph = DecisionGraph(nodes, GRAPH.edges)
    drawn = [graph_text.dot(graph), graph_text.mermaid(graph), graph_svg.draw(graph)]
    assert not any(STEERING.search(text.replace("\n", "")) for text in drawn)
    ElementTree.fromstring(drawn[2])
    assert [len(text.splitlines()) for text in drawn[:2]] == PLAIN


@hostile
def test_graphml_is_well_formed(name):
    drawn = nx.DiGraph()
    drawn.add_node(f"a{name}", title=name, weight=1.5)
    drawn.add_edge(f"a{name}", f"b{name}", kind=name)
    back = nx.parse_graphml(graphml(drawn))
    assert back.nodes[f"a{spelled(name)}"]["title"] == spelled(name)
    assert back.number_of_edges() == 1


@hostile
def test_a_terminal_shows_names_and_obeys_none(name):
    view = section(name, table((name, "n"), [(name, "1")]), bullets([name]), pairs([(name, name)]))
    for color in (False, True):
        text = terminal.render(view, color=color)
        own = re.sub(r"\x1b\[[0-9;]*m", "", text) if color else text
        assert not STEERING.search(own.replace("\n", ""))
        if color:
            # Colors of the page, none of a name.
            codes = set(re.findall(r"\x1b\[([0-9;]*)m", text))
            assert codes <= {"0", "1", "2", "0;1", "0;2"}
    assert not STEERING.search(masked(name).replace("\n", ""))
    if "[" in name and not STEERING.search(name) and len(name) < 20 and " " not in name:
        assert name in terminal.render(table(("n",), [(name,)]))


@hostile
def test_json_and_yaml_read_back_and_steer_nothing(name):
    text = json_document.encode({name: [name]}).decode()
    assert json.loads(text) == {name: [name]}
    assert not STEERING.search(text.replace("\n", ""))
    if not re.search("[\ud800-\udfff]", name):
        page = documents_yaml([{"name": name, "list": [name]}])
        assert yaml.safe_load(page) == {"name": name, "list": [name]}
        assert not STEERING.search(page.replace("\n", ""))


def test_messages_steer_nothing(capsys):
    output.message("a\x1b[31m\u202eb\x9b\ud800\tc\nd")
    assert capsys.readouterr().err == "a?[31m?b?? c\nd\n"
