"""`planner report`: plans as files for people who were not at the terminal."""

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from importlib import util

import html5lib
import openpyxl
import pypdf
import pytest
from report_plans import RELAXATIONS, costs, day_plan, plan_file
from service_samples import PROBLEM

from planner.interfaces import cli
from planner.report.renderers import pdf

NASTY = "=cmd|'/C calc'!A0<script>alert(1)</script>\u202e|`x`"


@pytest.fixture
def report(tmp_path, capsys):
    """What `planner report` writes."""

    def report(*words, ending=".html", code=0):
        out = tmp_path / f"report{ending}"
        ended = cli.run(["report", *map(str, words), "--out", str(out)])
        found = capsys.readouterr()
        assert ended == code, found.err
        assert found.out.startswith(f"{out}: ") if code == 0 else found.out == ""
        assert "\u202e" not in found.out
        return found.err if code else out.read_bytes()

    return report


@pytest.fixture
def chat(make_plan, tmp_path):
    return plan_file(make_plan(costs=costs()), tmp_path / "chat.json")


@pytest.fixture
def day(make_plan, tmp_path):
    return plan_file(day_plan(make_plan), tmp_path / "day.json")


def text_of(page):
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page.decode())
    return " ".join(" ".join(tree.find("body").itertext()).split())


def test_a_page_begins_with_the_decision_and_the_money(report, chat):
    page = report(chat)
    assert page == report(chat)
    shown = text_of(page).partition("Sources Decision")[2]  # after the table of contents
    # 40 USD/h x 730 h and x 8,760 h
    order = ["Buy 16 × h100-sxm", "29,200 USD", "350,400 USD", "4.03 USD", "What was assumed", "Sources"]
    places = [shown.index(words) for words in order]
    assert places == sorted(places)
    assert "itl:chat" in shown


def test_a_day_has_every_hour_and_its_orders(report, day):
    shown = text_of(report(day))
    for words in ("4 to 8 replicas; 20.00 USD to 40.00 USD an hour", "23:00", "07:50", "order 8 × h100-sxm"):
        assert words in shown


def test_an_honest_no_says_why_and_the_cheapest_way_out(report, no_plan, tmp_path):
    shown = text_of(report(plan_file(no_plan, tmp_path / "no.json")))
    assert "no plan keeps every limit" in shown
    assert "budget and ttft:chat (time to first token, P99, 100 ms): one of them has to give" in shown
    assert "The cheapest way out: ttft:chat from 100 ms to 121 ms; the fleet then costs 47.50 USD/h." in shown


def test_the_cheapest_of_several_ways_out_comes_first(report, make_plan, no_plan, tmp_path):
    from planner.report import json_document

    changed = json_document.of_plan(no_plan) | {"relaxations": RELAXATIONS}
    path = tmp_path / "no.json"
    path.write_bytes(json_document.encode(changed))
    shown = text_of(report(path))
    assert (
        "The cheapest way out: budget from 20 USD/h to 45 USD/h; the fleet then costs 45.00 USD/h." in shown
    )


@pytest.fixture(scope="module")
def asked_again(tmp_path_factory):
    """A small problem's plan, and what `relax` says of it, as documents."""
    folder = tmp_path_factory.mktemp("asked")
    (folder / "problem.yaml").write_text(PROBLEM)
    paths = [folder / "plan.json", folder / "relaxed.json"]
    for command, path in zip(("plan", "relax"), paths, strict=True):
        assert cli.run([command, str(folder / "problem.yaml"), "--out", str(path)]) == 0
    return paths


def test_what_limits_cost_is_asked_where_the_document_does_not_say(report, asked_again):
    plan, relaxed = (path.read_bytes() for path in asked_again)
    assert not json.loads(plan)["prices"]
    assert json.loads(relaxed)["prices"]
    made = report(asked_again[0], "--relax", ending=".md").decode()
    assert made == report(asked_again[1], ending=".md").decode()
    assert made == report(asked_again[1], "--relax", ending=".md").decode()
    assert "planner report PLAN --relax asks it" in report(asked_again[0], ending=".md").decode()


def test_prices_of_another_decision_are_not_told(asked_again, tmp_path, capsys):
    document = json.loads(asked_again[0].read_bytes())
    path, out = tmp_path / "other.json", tmp_path / "report.md"
    path.write_text(json.dumps(document | {"cost_usd_per_hour": 99.0}))
    assert cli.run(["report", str(path), "--relax", "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert "--relax: found " in said
    assert "optimal at 99.00 USD/h, expected the answer that its problem has by now (optimal at 3" in said
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--compare", "a", "b", "--relax"), "--relax: found it beside --compare"),
        (("a", "--time-limit", "3"), "--time-limit: found it without --relax"),
    ],
)
def test_flags_of_asking_need_plans_to_ask(words, said, capsys):
    assert cli.run(["report", *words, "--out", "x.md"]) == 2
    assert said in capsys.readouterr().err


def test_a_workbook_has_a_sheet_a_table_and_its_sums_agree(report, chat, day):
    content = report(chat, day, ending=".xlsx")
    assert content == report(chat, day, ending=".xlsx")
    book = openpyxl.load_workbook(io.BytesIO(content))
    assert {"1 decision", "1 money", "1 limits", "2 hours", "2 orders"} <= set(book.sheetnames)
    head, *rows = list(book["1 money"].iter_rows(min_row=3, values_only=True))
    assert head[2] == "an hour (USD/h)"
    for way in ("workload", "term", "place"):
        assert sum(row[2] for row in rows if row[1] == way) == pytest.approx(40.0)
    head, *rows = list(book["2 hours"].iter_rows(min_row=3, values_only=True))
    assert sum(row[head.index("cost in all (USD)")] for row in rows) == pytest.approx(24 * 30.0)


def test_every_line_of_csv_names_its_plan_and_its_table(report, chat, day):
    lines = [
        line
        for line in csv.reader(io.StringIO(report(chat, day, ending=".csv").decode(), newline=""))
        if line
    ]
    assert {line[0] for line in lines} == {"chat-70b", "day"}
    money = [line[2:] for line in lines if line[:2] == ["chat-70b", "money"]]
    assert money[0][:3] == ["what", "divided by", "an hour (USD/h)"]
    assert ["chat", "workload", "30.0"] in [line[:3] for line in money]
    hours = [line for line in lines if line[:2] == ["day", "hours"]]
    assert len(hours) == 1 + 24


def test_markdown_has_the_tables(report, chat):
    page = report(chat, ending=".md").decode()
    assert page.startswith("# chat-70b: fleet plan\n")
    assert "| cost of a month (730 h) | 29,200 USD |" in page
    words = "What each limit costs: itl:chat: 10.00 USD/h without it; +5 ms: 5.00 USD/h."
    assert words in page.replace("\\", "")


def test_two_plans_compared(report, make_plan, chat, tmp_path):
    dearer = make_plan(cost_usd_per_hour=50.0, gpus={"h100-sxm": 20})
    other = plan_file(dearer, tmp_path / "dearer.json")
    shown = text_of(report("--compare", chat, other))
    assert "The second costs 10.00 USD/h more (7,300.00 USD a month, +25 %)." in shown
    assert "Buys 20 × h100-sxm instead of 16." in shown
    again = text_of(report("--compare", chat, chat))
    assert "Both cost the same." in again
    assert "The plan stays the same" not in again


@pytest.mark.skipif(not any(map(shutil.which, pdf.BROWSERS)), reason="no Chromium: PDF is not tested")
def test_a_pdf_is_printed(report, chat):
    content = report(chat, ending=".pdf")
    pages = pypdf.PdfReader(io.BytesIO(content)).pages
    found = " ".join(" ".join(page.extract_text().split()) for page in pages)
    for words in ("chat-70b: fleet plan", "350,400 USD", "itl:chat", "What would change the decision"):
        assert words in found


def test_a_pdf_without_a_browser_is_refused_in_words(report, chat, monkeypatch):
    monkeypatch.setattr(pdf.shutil, "which", lambda name: None)
    said = report(chat, ending=".pdf", code=2)
    assert "--out: found a PDF, and no Chromium or Chrome to print it, expected one of the commands" in said
    assert "report.html, which every browser prints" in said


def test_without_the_extra_the_install_command_is_named(report, chat, monkeypatch):
    there = util.find_spec
    monkeypatch.setattr(
        "planner.extras.find_spec", lambda name: None if name in ("altair", "openpyxl") else there(name)
    )
    said = report(chat, code=2)
    assert 'report.html", and altair missing, expected the extra "report"' in said
    assert "-m pip install --constraint constraints.txt 'llm-fleet-planner[report]'" in said
    assert "openpyxl missing" in report(chat, ending=".xlsx", code=2)
    assert report(chat, ending=".md").startswith(b"# chat-70b")  # the core writes it


def test_bad_usage_is_told(report, chat, tmp_path):
    assert "expected a name that ends in .html, .pdf, .md, .xlsx, .csv" in report(chat, ending=".htm", code=2)
    assert "PLAN: found nothing, expected one plan document or more" in report(code=2)
    assert "plans to report, or two plans to compare" in report(chat, "--compare", chat, chat, code=2)
    assert '"schema": ' not in report(tmp_path / "none.json", code=2)


@pytest.mark.parametrize("ending", [".html", ".md", ".xlsx", ".csv"])
def test_names_that_want_to_be_something_else_stay_names(report, make_plan, tmp_path, ending):
    pool = make_plan().pools[0].model_dump(by_alias=True) | {"id": NASTY, "workload": NASTY, "gpu": NASTY}
    hostile = make_plan(
        problem=NASTY, pools=[pool], warnings=[NASTY], gpus={NASTY: 16},
        costs=costs() | {"by_workload": {NASTY: 40.0}},
    )  # fmt: skip
    content = report(plan_file(hostile, tmp_path / "hostile.json"), ending=ending)
    if ending == ".html":
        assert b"<script" not in content
        assert "alert(1)" in text_of(content)
    elif ending == ".xlsx":
        book = openpyxl.load_workbook(io.BytesIO(content))
        kinds = {cell.data_type for sheet in book for row in sheet.iter_rows() for cell in row}
        assert "f" not in kinds
    elif ending == ".csv":
        rows = csv.reader(io.StringIO(content.decode(), newline=""))
        assert not [cell for row in rows for cell in row if cell.startswith(("=", "@"))]
    else:
        assert b"<script>" not in content
        assert widths_of(content.decode()) == []
    if ending in (".html", ".md", ".csv"):
        assert "\u202e".encode() not in content


def widths_of(page):
    """Lines of tables that have another number of cells than their heading."""
    wrong, width = [], None
    for line in page.splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else None
        width = cells if width is None or cells is None else width
        wrong += [line] if cells != width else []
    return wrong


def test_planning_loads_nothing_of_the_extra():
    program = (
        "import sys; from planner.interfaces.cli import run; "
        "run(['plan', 'problems/08-infeasible.yaml', '--json', '--out', '/dev/null']); "
        "extra = {'altair', 'vl_convert', 'jinja2', 'openpyxl'} & set(sys.modules); "
        "sys.exit(f'imported {extra}' if extra else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_core_does_not_grow():
    from pathlib import Path
    from tomllib import loads

    project = loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    core = {re.split(r"[<>=\[]", line)[0] for line in project["dependencies"]}
    assert not core & {"altair", "jinja2", "openpyxl", "vl-convert-python"}
    assert project["optional-dependencies"]["report"]
