"""A report as a workbook: one sheet a table, numbers as numbers with every digit of the plan."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from datetime import datetime

from openpyxl import Workbook
from openpyxl.styles import Alignment, Font
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from planner.characters import spelled
from planner.report.renderers.flat import FlatTable, Value, flat
from planner.schema.report import Report

_NAME_LENGTH = 31
"""Of a sheet, at most."""
_FORBIDDEN = re.compile(r"[\\/*?:\[\]']")
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The first moment that a zip archive knows: the same report gives the same bytes."""
_WIDEST, _NARROWEST = 60, 9
_HEAD_ROWS = 3


def render(report: Report) -> bytes:
    """The workbook; text is never a formula."""
    book = Workbook()
    for sheet in list(book.worksheets):
        book.remove(sheet)
    book.properties.creator = report.made_by
    book.properties.title = spelled(report.title)
    book.properties.created = book.properties.modified = datetime(*_EPOCH)
    for number, chapter in enumerate(report.chapters, 1):
        before = f"{number} " if len(report.chapters) > 1 else ""
        for table in map(flat, chapter.tables()):
            name = _FORBIDDEN.sub(" ", f"{before}{table.id}")[:_NAME_LENGTH]
            _fill(book.create_sheet(name), table, chapter.title)
    content = io.BytesIO()
    book.save(content)
    return _undated(content.getvalue())


def _fill(sheet: Worksheet, table: FlatTable, chapter: str) -> None:
    for at, heading in enumerate(table.headings):
        widest = max([len(heading), *(len(_shown(row[at])) for row in table.rows)])
        sheet.column_dimensions[get_column_letter(at + 1)].width = min(max(widest + 2, _NARROWEST), _WIDEST)
    sheet.freeze_panes = f"B{_HEAD_ROWS + 1}"
    _write(sheet, 1, [f"{chapter}: {table.title}"], bold=True)
    _write(sheet, 2, [table.note or None])
    _write(sheet, _HEAD_ROWS, table.headings, bold=True)
    for number, row in enumerate(table.rows, _HEAD_ROWS + 1):
        _write(sheet, number, row)


def _shown(value: Value) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else f"{value}"


def _write(sheet: Worksheet, row: int, values: Sequence[Value], bold: bool = False) -> None:
    for column, value in enumerate(values, 1):
        if value is None:
            continue
        cell = sheet.cell(row, column)
        cell.value = spelled(value) if isinstance(value, str) else value
        if isinstance(value, str):
            cell.data_type = "s"  # also where it begins like a formula
        if bold:
            cell.font = Font(bold=True)
            cell.alignment = Alignment(wrap_text=row == _HEAD_ROWS, vertical="top")


def _undated(content: bytes) -> bytes:
    """The same archive with the same times in it, whenever it is written."""
    result = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            data = old.read(name)
            if name == "docProps/core.xml":
                data = re.sub(rb"(<dcterms:modified[^>]*>)[^<]*", rb"\g<1>1980-01-01T00:00:00Z", data)
            new.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
    return result.getvalue()
