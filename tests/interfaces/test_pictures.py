"""`--svg` and `--format`: pictures and tables of answers."""

import csv
import io
from importlib import util
from pathlib import Path
from xml.etree import ElementTree

import pytest
from report_plans import day_plan

from planner.interfaces import cli
from planner.report import pictures
from planner.report.charts.draw import picture
from planner.schema.answers import Plans, Sweep

SVG = "{http://www.w3.org/2000/svg}"
TABLE = """name: table
workloads:
  - {name: chat, demand: {peak_rps: 10}, slo: {ttft_p99: 500 ms}}
workers: workers.csv
fleet: {prices: {l4: 1 USD/h, h100: 6 USD/h}, budget: 100 USD/h, headroom: {capacity: 0 %}}
"""
WORKERS = """option,gpu,gpus,max_rps,ttft_ms
small,l4,1,2,800
large,h100,1,12,200
"""


@pytest.fixture
def problem(tmp_path):
    (tmp_path / "workers.csv").write_text(WORKERS)
    path = tmp_path / "problem.yaml"
    path.write_text(TABLE)
    return str(path)


def words_of(text):
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title").text
    assert root.find(f"{SVG}desc").text
    return {node.text for node in root.iter(f"{SVG}text")}


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["plan"], {"Where the money goes", "6.00 USD/h (100 %)"}),
        (["relax"], {"What each limit costs", "ttft:chat"}),
        (["pareto", "--axes", "cost,gpus"], {"cost, USD/h"}),
        (["whatif", "--sweep", "workloads.chat.demand.peak_rps=5,20"], {"12.00 USD/h, 2 × h100"}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)  # fmt: skip
def test_commands_draw_their_answer(problem, tmp_path, capsys, command, words):
    drawn = []
    for name in ("a.svg", "b.svg"):
        out = tmp_path / name
        verb, *flags = command
        ended = cli.run([verb, problem, *flags, "--svg", str(out), "--json"])
        found = capsys.readouterr()
        assert ended == 0, found.err
        assert found.err.endswith(f"planner: wrote {out}\n")
        drawn.append(out.read_text())
    assert drawn[0] == drawn[1]
    assert words <= words_of(drawn[0])


def test_a_day_is_drawn_hour_by_hour(make_plan):
    words = words_of(picture(*pictures.of_plan(day_plan(make_plan))))
    assert {"The day by the hour", "replicas", "load of capacity", "cost, USD an hour"} <= words


def test_a_front_marks_its_knee(make_plan):
    pool = make_plan().pools[0].model_dump(by_alias=True)
    plans = [
        make_plan(
            cost_usd_per_hour=cost, gpus={"h100-sxm": gpus}, pools=[pool | {"itl_s": {"p99": itl}}]
        )
        for cost, gpus, itl in ((40.0, 16, 0.06), (44.0, 18, 0.03), (70.0, 28, 0.029))
    ]  # fmt: skip
    words = words_of(picture(*pictures.of_front(Plans(plans=tuple(plans), axes=("cost", "itl_p99")))))
    assert {"knee: 18 × h100-sxm", "cost, USD/h", "itl p99", "30ms"} <= words


def test_what_has_no_plan_draws_its_ways_out(no_plan):
    words = words_of(picture(*pictures.of_relaxed(no_plan)))
    assert "47.50 USD/h (cheapest)" in words
    assert pictures.of_plan(no_plan) == []
    assert pictures.of_sweep(Sweep(rows=({"set": {"a.b": 1}, "plan": no_plan},))) == []


def test_scenarios_are_drawn(make_plan):
    scenario = {
        "name": "demand +20 %", "demand": 1.2, "carried_share": 0.9, "carried_without_headroom": 1.0,
        "fixed_usd_per_hour": 40.0, "best_usd_per_hour": 48.0, "status": "optimal",
    }  # fmt: skip
    words = words_of(picture(*pictures.of_scenarios(make_plan(scenarios=[scenario]))))
    assert {"demand +20 %", "48.00 USD/h", "40.00 USD/h (this plan)"} <= words


def test_a_curve_is_drawn_with_limits_and_cost(tmp_path, capsys):
    out = tmp_path / "curve.svg"
    flags = ["--model", "llama-3-8b", "--gpu", "h100", "--isl", "256", "--osl", "64", "--slo", "itl_p99=50ms"]
    assert cli.run(["curve", *flags, "--svg", str(out)]) == 0, capsys.readouterr().err
    assert {"itl_p99 50.0 ms", "USD per million tokens", "TTFT P99", "ITL P99"} <= words_of(out.read_text())


@pytest.mark.parametrize("command", ["plan", "relax", "robust", "pareto"])
def test_without_the_extra_no_work_is_done(problem, tmp_path, capsys, monkeypatch, command):
    there = util.find_spec
    monkeypatch.setattr("planner.extras.find_spec", lambda name: None if name == "altair" else there(name))
    out = tmp_path / "a.svg"
    assert cli.run([command, problem, "--svg", str(out)]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert f'planner {command}: --svg: found "{out}", and altair missing' in found.err
    assert "-m pip install --constraint constraints.txt 'llm-fleet-planner[report]'" in found.err


def test_a_picture_that_cannot_be_written_is_told_first(problem, tmp_path, capsys):
    assert cli.run(["plan", problem, "--svg", str(tmp_path / "no" / "a.svg")]) == 2
    assert "in a folder that does not exist" in capsys.readouterr().err
    assert (
        cli.run(["whatif", problem, "--set", "fleet.budget=50 USD/h", "--svg", str(tmp_path / "a.svg")]) == 2
    )
    assert "--svg: found it without --sweep" in capsys.readouterr().err


def test_where_there_is_nothing_to_draw_it_says_so(problem, tmp_path, capsys):
    out = tmp_path / "a.svg"
    Path(problem).write_text(TABLE.replace("500 ms", "1 ms"))
    assert cli.run(["plan", problem, "--svg", str(out)]) == 1
    assert f"--svg: there is nothing to draw, {out} was not written" in capsys.readouterr().err
    assert not out.exists()


def test_formats_of_a_plan(problem, capsysbinary, tmp_path):
    def told(*flags):
        assert cli.run(["plan", problem, *flags]) == 0
        return capsysbinary.readouterr().out

    assert told("--format", "json") == told("--json")
    rows = list(csv.reader(io.StringIO(told("--format", "csv").decode(), newline="")))
    assert ["table", "decision", "cost of an hour", "6.0", "USD/h"] in rows
    assert told("--format", "md").startswith(b"# table: fleet plan\n")
    out = tmp_path / "plan.json"
    assert told("--format", "md", "--out", str(out)).startswith(b"# table")
    assert out.read_bytes() == told("--json")  # the document, whatever is shown


def test_formats_that_do_not_go_together(problem, capsys):
    assert cli.run(["plan", problem, "--format", "yaml"]) == 2
    assert 'found "yaml", expected one of text, json, csv, md' in capsys.readouterr().err
    assert cli.run(["plan", problem, "--format", "md", "--json"]) == 2
    assert '--format: found "md" beside --json' in capsys.readouterr().err
