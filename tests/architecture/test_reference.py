"""The generated pages are up to date."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner import app

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("page", "make", "document"),
    [("reference.md", app.reference, "reference"), ("manual-claims.md", app.claims_page, "claims")],
)
def test_the_page_is_not_stale(page, make, document):
    written = (DOCS / page).read_text(encoding="utf-8")
    assert written == make(), f"run `planner schema {document} > docs/{page}`"
