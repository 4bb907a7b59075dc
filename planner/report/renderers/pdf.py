"""A report as PDF: the HTML page, printed by a Chromium without a window."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from planner.errors import input_error
from planner.report.renderers import html
from planner.schema.report import Report

BROWSERS = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge",
)  # fmt: skip
_LONGEST_S = 120
_DATE = re.compile(rb"\(D:[0-9]{14}([^)]*)\)")
"""When a PDF was made: as long as the one that takes its place, so that nothing moves."""


def browser() -> str:
    """The path of the first browser that there is.

    Raises:
        InputError: none is installed.
    """
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    raise input_error(
        "planner report",
        "--out",
        "a PDF, and no Chromium or Chrome to print it",
        "one of the commands " + ", ".join(BROWSERS),
        '--out report.html, which every browser prints; or "apt-get install chromium"',
    )


def render(report: Report) -> bytes:
    """The printed page.

    Raises:
        InputError: there is no browser, or it prints nothing.
    """
    program = browser()
    with TemporaryDirectory(prefix="planner-report-") as folder:
        page, made = Path(folder, "report.html"), Path(folder, "report.pdf")
        page.write_bytes(html.render(report))
        command = [
            program, "--headless", "--disable-gpu", "--no-first-run", f"--user-data-dir={folder}/profile",
            "--no-pdf-header-footer", f"--print-to-pdf={made}", page.as_uri(),
        ]  # fmt: skip
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.insert(1, "--no-sandbox")  # Chromium refuses its sandbox to root; the page has no script
        try:
            ended = subprocess.run(command, capture_output=True, timeout=_LONGEST_S, check=False)
            why = ended.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        except subprocess.TimeoutExpired:
            why = f"nothing within {_LONGEST_S} s"
        if not made.is_file():
            raise input_error(
                "planner report", "--out", f"no PDF from {program} ({why})", "a page it can print"
            )
        return _DATE.sub(rb"(D:19800101000000\1)", made.read_bytes())
