"""Kinds of report files by the ending of their name, and what each needs beside the core."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from planner.schema.report import Report


@dataclass(frozen=True)
class Renderer:
    """One kind of file; its module is imported when it is asked for."""

    module: str
    needs: tuple[str, ...] = ()
    """Packages of the extra ``report``."""

    def render(self, report: Report) -> bytes:
        """The file."""
        made: Callable[[Report], bytes] = import_module(f"planner.report.renderers.{self.module}").render
        return made(report)


_PAGE = ("altair", "vl_convert", "jinja2")
RENDERERS = {
    ".html": Renderer("html", _PAGE),
    ".pdf": Renderer("pdf", _PAGE),
    ".md": Renderer("markdown"),
    ".xlsx": Renderer("xlsx", ("openpyxl",)),
    ".csv": Renderer("csv_tables"),
}
PICTURE_NEEDS = ("altair", "vl_convert")
"""What SVG pictures need."""
