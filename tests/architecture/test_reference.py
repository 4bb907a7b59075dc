"""The generated reference page is up to date."""

from __future__ import annotations

from pathlib import Path

from planner import app

PAGE = Path(__file__).parents[2] / "docs" / "reference.md"


def test_the_reference_is_not_stale():
    assert PAGE.read_text() == app.reference(), "run `planner schema reference > docs/reference.md`"
