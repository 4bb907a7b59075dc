"""Reports of every sample problem: their numbers are those of the plan, and their pages are whole."""

import html5lib
import pytest
from sample_plans import EACH, sample

from planner.report import json_document
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


def cells_of(block):
    if isinstance(block, Figures):
        return [cell for _, cell in block.items]
    return [cell for row in getattr(block, "rows", ()) for cell in row]
