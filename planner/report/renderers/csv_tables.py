"""A report as CSV: every table in one file, each line with its plan and its table in front."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from planner.characters import cell
from planner.report.renderers.flat import Value, flat
from planner.schema.report import Report


def render(report: Report) -> bytes:
    """Blocks of lines, one a table, an empty line between two: ``plan,table,…`` and its headings first."""
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    for chapter in report.chapters:
        for table in map(flat, chapter.tables()):
            if page.tell():
                page.write("\n")
            for line in (table.headings, *table.rows):
                writer.writerow([cell(chapter.title), cell(table.id), *_cells(line)])
    return page.getvalue().encode()


def _cells(line: Iterable[Value]) -> Iterable[str]:
    for value in line:
        if value is None:
            yield ""
        else:
            yield cell(value) if isinstance(value, str) else repr(value)
