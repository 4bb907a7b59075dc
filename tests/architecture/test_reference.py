"""The generated pages are up to date."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.app import claims as claims_case
from planner.app import reference as reference_case

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("page", "make", "document"),
    [
        ("reference.md", reference_case.reference, "reference"),
        ("manual-claims.md", claims_case.claims_page, "claims"),
    ],
)
def test_the_page_is_not_stale(page, make, document):
    written = (DOCS / page).read_text(encoding="utf-8")
    assert written == make(), f"run `planner schema {document} > docs/{page}`"
