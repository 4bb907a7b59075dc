"""Every page of the documentation is found from its index, and no link of it leads nowhere."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
INDEXES = (DOCS / "README.md", DOCS / "decisions" / "README.md")


def links(page):
    return [
        target.split("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("index", INDEXES, ids=lambda page: page.parent.name)
def test_the_index_names_every_page(index):
    pages = {page.name for page in index.parent.glob("*.md")} - {index.name}
    assert pages <= set(links(index))


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    missing = [
        target
        for target in links(page)
        if target and "://" not in target and not (page.parent / target).exists()
    ]
    assert missing == []
