"""Reports of every sample problem: their numbers are those of the plan, and their pages are whole."""

import io

import html5lib
import openpyxl
import pytest
from sample_plans import EACH, sample

from planner.explain.hours import has_hours
from planner.report import json_document, plan_brief, terminal
from planner.report.plan_report import report_of
from planner.report.renderers.registry import RENDERERS
from planner.schema.report import Command, Figures, Quantity

MOST_BYTES = 1_500_000
LOADING = ("img", "script", "link", "iframe", "object", "embed", "image", "use", "audio", "video", "source")
"""Elements that may fetch something, or run."""


@pytest.mark.parametrize("path", EACH)
def test_every_number_is_one_of_the_plan(path):
    plan = sample(path)[1]
    known = set(numbers_of(json_document.of_plan(plan)))
    strange = [
        (table.id, column.title, cell.value)
        for table in report_of([plan]).chapters[0].tables()
        for row in table.rows
        for column, cell in zip(table.columns, row, strict=True)
        if isinstance(cell, Quantity) and not column.computed and float(cell.value) not in known
    ]
    assert strange == []


def numbers_of(value):
    """Every number of a document, also those written as text."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from numbers_of(inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)
    elif isinstance(value, str):
        try:
            yield float(value)
        except ValueError:
            return


@pytest.mark.parametrize("path", EACH)
def test_the_page_is_valid_and_stands_alone(path):
    plan = sample(path)[1]
    report = report_of([plan])
    page = RENDERERS[".html"].render(report)
    if path.stem == "10-day-and-batch":  # with every kind of chart
        assert page == RENDERERS[".html"].render(report)
    assert len(page) < MOST_BYTES
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page.decode())
    names = [element.get("id") for element in tree.iter() if element.get("id")]
    assert len(names) == len(set(names))
    assert not [element.tag for element in tree.iter() if str(element.tag).rpartition("}")[2] in LOADING]
    for element in tree.iter():
        for attribute in ("aria-labelledby", "href"):
            for name in (element.get(attribute) or "").removeprefix("#").split():
                assert name in names, f"{attribute} of {element.tag}: {name}"
    shown = "".join(tree.find("body").itertext())
    for section in report.chapters[0].sections:
        for block in section.blocks:
            if isinstance(block, Command):
                assert block.text in shown
            if isinstance(block, Figures):
                assert len(block.items) >= 2
    told = {float(element.get("value")) for element in tree.iter("data")}
    assert told == {
        float(cell.value)
        for section in report.chapters[0].sections
        for block in section.blocks
        for cell in cells_of(block)
        if isinstance(cell, Quantity)
    }


@pytest.mark.parametrize("path", EACH)
def test_a_plan_is_a_screen_of_forty_lines(path):
    """Fleets over a day may have a few more; what was chosen is never cut."""
    plan = sample(path)[1]
    lines = terminal.render(plan_brief.view(plan), width=80).splitlines()
    assert max(map(len, lines)) <= 80
    assert has_hours(plan) or len(lines) <= 40
    chosen = [row.gpu for row in plan.gpu_types if row.status == "chosen"]
    assert all(any(line.split()[:2] == [gpu, "chosen:"] for line in lines) for gpu in chosen)


@pytest.mark.parametrize("path", EACH)
def test_the_sums_of_a_workbook_are_those_of_the_plan(path):
    plan = sample(path)[1]
    book = openpyxl.load_workbook(io.BytesIO(RENDERERS[".xlsx"].render(report_of([plan]))))
    assert ("money" in book.sheetnames) == bool(plan.cost_usd_per_hour)
    if plan.cost_usd_per_hour:
        _, *rows = book["money"].iter_rows(min_row=3, values_only=True)
        ways = {row[1] for row in rows if row[1]}
        assert ways == {"GPU type", "workload", "place", "term"}
        for way in ways:
            assert sum(row[2] for row in rows if row[1] == way) == pytest.approx(plan.cost_usd_per_hour)
    if "hours" in book.sheetnames:
        head, *rows = book["hours"].iter_rows(min_row=3, values_only=True)
        whole = sum(row[head.index("cost in all (USD)")] for row in rows)
        assert whole == pytest.approx(len(plan.periods) * plan.cost_usd_per_hour)


def cells_of(block):
    if isinstance(block, Figures):
        return [cell for _, cell in block.items]
    return [cell for row in getattr(block, "rows", ()) for cell in row]
